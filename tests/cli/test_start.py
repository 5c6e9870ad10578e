"""What the commands that open a store share: the private folder, the running application, the note, whose memories."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from hivelore.cli import start
from hivelore.cli.start import NOTE, noted, prepare_folder, running, whose
from hivelore.core.clock import ManualClock
from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings
from hivelore.rooms.memory import service as memory
from hivelore.sql.database import StoreReadOnly
from support.hubs import call_as
from support.permissions import ordinary_user, public_folder

URL = "http://127.0.0.1:8420"


@pytest.fixture(autouse=True)
def same_umask():
    """`running` makes whatever is written private; the test process goes on as it was."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def settings(tmp_path):
    """Settings with a data folder that does not exist yet."""
    return Settings(data_dir=str(tmp_path / "data"), embedder="hash")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# -- the folder --------------------------------------------------------------------------------------------------------


def test_the_folder_is_made_private_with_all_that_is_missing_above_it(tmp_path):
    folder = prepare_folder(Settings(data_dir=str(tmp_path / "a" / "b" / "data")))
    assert folder == tmp_path / "a" / "b" / "data"
    assert mode(folder) == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_no_umask_makes_the_folder_more_open_or_unusable(settings, tmp_path, umask):
    (tmp_path / "data").mkdir()
    os.umask(umask)
    assert mode(prepare_folder(settings)) == 0o700
    (tmp_path / "data").rmdir()
    assert mode(prepare_folder(settings)) == 0o700


def test_a_folder_that_was_open_is_closed_and_what_is_in_it_stays(settings, tmp_path):
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data" / "kept").write_text("kept")
    prepare_folder(settings)
    prepare_folder(settings)
    assert mode(tmp_path / "data") == 0o700
    assert (tmp_path / "data" / "kept").read_text() == "kept"


def test_a_tilde_means_the_home_folder(own_world):
    assert prepare_folder(Settings(data_dir="~/memories")) == own_world / "home" / "memories"


@pytest.mark.parametrize("place", ["file", "file/below", "file/below/deeper"])
def test_a_file_in_the_way_is_told_with_what_to_do(tmp_path, place):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreReadOnly) as caught:
        prepare_folder(Settings(data_dir=str(tmp_path / place)))
    assert f"Cannot use the data folder {tmp_path / place}: " in caught.value.message
    assert "--data or HIVELORE_DATA_DIR" in caught.value.message
    assert "Errno" not in caught.value.message
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_folder_that_may_not_be_made_is_told_with_what_to_do():
    with public_folder() as place, ordinary_user(), pytest.raises(StoreReadOnly, match=r"Permission denied.*--data"):
        prepare_folder(Settings(data_dir=str(place / "data")))


def test_a_folder_of_somebody_else_keeps_its_mode():
    with public_folder() as place:
        (place / "data").mkdir(mode=0o755)
        (place / "data").chmod(0o777)
        os.chown(place / "data", os.getuid() + 4_711, -1) if os.geteuid() == 0 else None
        expected = 0o777 if os.geteuid() == 0 else 0o700
        prepare_folder(Settings(data_dir=str(place / "data")))
        assert mode(place / "data") == expected


# -- the application ---------------------------------------------------------------------------------------------------


def test_a_running_application_does_its_background_work_and_is_closed_at_the_end(settings):
    with running(settings, clock=ManualClock()) as application:
        hub = application.hub
        seen = hub.progress.count()
        memory.remember(call_as(hub, "alice"), "embedded in the background", namespace="notes")
        hub.progress.wait(seen, 20)
        recalled = memory.recall(call_as(hub, "alice"), "background", namespaces=["notes"], limit=1)
        assert recalled.findings.pending == 0
    assert hub.stopping.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "hivelore-jobs"]
    files = [path for path in (start.data_dir(settings)).rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["hivelore.db"]  # the log was folded into the file
    assert {mode(path) for path in files} == {0o600}


def test_an_application_is_stopped_whatever_happens_in_it(settings):
    with pytest.raises(KeyboardInterrupt), running(settings) as application:
        raise KeyboardInterrupt
    assert application.hub.stopping.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "hivelore-jobs"]


def test_what_is_written_while_it_runs_is_private(settings, tmp_path):
    with running(settings):
        (tmp_path / "written").write_text("x")
        assert mode(tmp_path / "written") == 0o600
        assert {mode(path) & 0o077 for path in (tmp_path / "data").iterdir()} == {0}


# -- the note ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def note(settings):
    return prepare_folder(settings) / NOTE


def test_the_note_is_there_while_the_server_runs(settings, note):
    with noted(settings, URL):
        assert json.loads(note.read_text()) == {"pid": os.getpid(), "url": URL, "mcp_path": "/mcp"}
        assert [path.name for path in note.parent.iterdir()] == [NOTE]
    assert not note.exists()


def test_the_note_goes_when_the_server_fails(settings, note):
    with pytest.raises(RuntimeError), noted(settings, URL):
        raise RuntimeError
    assert not note.exists()


def test_the_note_of_a_later_server_wins_and_stays(settings, note):
    with noted(settings, URL):
        later = json.dumps({"pid": 1, "url": "http://127.0.0.1:9000", "mcp_path": "/mcp"})
        note.write_text(later)
    assert note.read_text() == later


def test_of_two_servers_each_removes_only_its_own_note(settings, note):
    first, second = noted(settings, URL), noted(settings, "http://127.0.0.1:9000")
    first.__enter__()
    second.__enter__()
    assert json.loads(note.read_text())["url"].endswith(":9000")
    first.__exit__(None, None, None)
    assert json.loads(note.read_text())["url"].endswith(":9000")
    second.__exit__(None, None, None)
    assert not note.exists()


def test_an_older_note_of_a_server_that_crashed_is_replaced(settings, note):
    note.write_text("half a no")
    with noted(settings, URL):
        assert json.loads(note.read_text())["url"] == URL
    assert not note.exists()


def test_a_note_that_somebody_removed_is_not_missed(settings, note):
    with noted(settings, URL):
        note.unlink()
    assert not note.exists()


def test_a_server_runs_also_where_no_note_can_be_left(settings, note):
    note.mkdir()
    (note / "in the way").touch()
    ran = False
    with noted(settings, URL):
        ran = True
    assert ran
    assert [path.name for path in note.parent.iterdir()] == [NOTE]
    assert note.is_dir()


# -- whose memories ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "named", "expected"),
    [
        ((), None, "local"),
        ((), "ana", "ana"),
        (("key-1:ana",), None, "ana"),
        (("key-1:ana",), "", "ana"),
        (("key-1:ana", "key-2:ana"), None, "ana"),
        (("key-1:ana", "key-2:bob"), "bob", "bob"),
        (("key-1:ana", "key-2:bob"), "carol", "carol"),
        (("key-1:team:ops",), None, "team:ops"),
    ],
)
def test_memories_are_those_of_the_named_or_the_only_user(keys, named, expected):
    assert whose(Settings(api_keys=keys), named) == expected


def test_of_several_users_one_must_be_named_and_no_key_is_shown():
    with pytest.raises(Invalid) as caught:
        whose(Settings(api_keys=("key-2:bob", "key-1:ana")), None)
    assert "ana, bob" in caught.value.message
    assert "--user" in caught.value.message
    assert "key-" not in caught.value.message
