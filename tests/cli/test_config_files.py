"""Reading `.env` and the YAML config file."""

from __future__ import annotations

import os

import pytest

from hivelore.cli.config_files import load_settings, parse_dotenv
from hivelore.core.errors import Invalid

SECRET = "hunter2-do-not-show"


@pytest.fixture
def loaded(own_world):
    """Load settings as a command in the work folder does."""

    def load(dotenv="all", flags=None, **env):
        return load_settings({"HOME": str(own_world / "home"), **env}, own_world / "work", flags or {}, dotenv)

    return load


@pytest.fixture
def dotenv_file(own_world):
    path = own_world / "work" / ".env"
    path.touch(mode=0o600)
    return path


# -- the text of .env


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("A = b ", "b"),
        ("  export A=b", "b"),
        ("A=", ""),
        ("A=b c", "b c"),
        ("A=b # comment", "b"),
        ("A=b#c", "b#c"),
        ("A=#c", ""),
        ("A='b # c'", "b # c"),
        ('A="b # c" # comment', "b # c"),
        ('A="b\\nc\\t\\"d\\" \\\\ \\$ \\x"', 'b\nc\t"d" \\ $ \\x'),
        (r"A='b\nc'", r"b\nc"),
        ("A=b=c==", "b=c=="),
        ("A='first\nsecond'", "first\nsecond"),
        ('A="first\nsecond" # x', "first\nsecond"),
        ("A=1\nA=2", "2"),
        ("A=b\r\n", "b"),
        ("A=値", "値"),
        ("# A=no\n\nA=b", "b"),
    ],
)
def test_a_line_of_dotenv_gives_its_value(line, value):
    assert parse_dotenv(line) == ({"A": value}, [])


def test_lines_after_a_value_over_several_lines_are_read():
    variables, skipped = parse_dotenv("A='1\n2\n3'\nB=4\nnonsense\n")
    assert variables == {"A": "1\n2\n3", "B": "4"}
    assert skipped == [".env line 5 is not KEY=VALUE and is skipped."]


@pytest.mark.parametrize("line", ['A="open', "A='open", 'A="b" c', "1A=x", "just words"])
def test_a_line_that_makes_no_sense_is_skipped_with_its_number_and_the_rest_is_read(line):
    variables, (warning,) = parse_dotenv(f"X=1\n{line}\nY=2")
    assert variables == {"X": "1", "Y": "2"}
    assert warning.startswith(".env line 2")
    assert warning.endswith("skipped.")


@pytest.mark.parametrize("line", [f'HIVELORE_API_KEYS="{SECRET}', f"HIVELORE_API_KEYS='{SECRET}' x"])
def test_a_broken_line_of_ours_is_an_error_that_does_not_show_the_value(line):
    with pytest.raises(Invalid, match="line 1: HIVELORE_API_KEYS") as caught:
        parse_dotenv(line)
    assert SECRET not in caught.value.message


# -- .env in the working folder


@pytest.mark.promise("P-033")
def test_dotenv_of_the_working_folder_is_read(loaded, dotenv_file):
    dotenv_file.write_text("\ufeffHIVELORE_PORT=9001\nPOLYMNEMO_RECALL_LIMIT=3\nPORT=1\n", encoding="utf-8")
    result = loaded()
    assert (result.settings.port, result.settings.recall_limit) == (9001, 3)
    assert result.origins["recall_limit"] == ".env: POLYMNEMO_RECALL_LIMIT"


def test_a_command_started_inside_any_project_reads_only_our_lines_or_none(loaded, dotenv_file):
    dotenv_file.write_text("PORT=3000\nDATABASE_URL=mysql://x\nHIVELORE_RECALL_LIMIT=3\nnonsense\n")
    own = loaded("own")
    assert (own.settings.port, own.settings.database_url, own.settings.recall_limit) == (8420, "", 3)
    assert own.warnings == ()
    assert loaded("none").settings.recall_limit == 8


def test_skipped_lines_are_warned_of(loaded, dotenv_file):
    dotenv_file.write_text("nonsense\n")
    assert loaded().warnings == (".env line 1 is not KEY=VALUE and is skipped.",)


def test_bytes_that_are_no_text_matter_only_in_our_variables(loaded, dotenv_file):
    dotenv_file.write_bytes(b"NAME=M\xfcller\nHIVELORE_PORT=9001\n")
    assert loaded().settings.port == 9001
    dotenv_file.write_bytes(b"HIVELORE_DEFAULT_NAMESPACE=M\xfcller\n")
    with pytest.raises(Invalid, match=r"HIVELORE_DEFAULT_NAMESPACE in \.env is not UTF-8"):
        loaded()


@pytest.mark.parametrize("line", ["HIVELORE_API_KEYS=a-long-key:ana", "DATABASE_URL=postgresql://u:p@h/d"])
def test_a_dotenv_with_secrets_that_others_may_read_is_warned_of(loaded, dotenv_file, line):
    dotenv_file.write_text(line + "\n")
    dotenv_file.chmod(0o640)
    (warning,) = loaded().warnings
    assert "chmod 600 .env" in warning
    dotenv_file.chmod(0o600)
    assert loaded().warnings == ()


def test_a_dotenv_without_secrets_may_be_open(loaded, dotenv_file):
    dotenv_file.write_text("HIVELORE_PORT=9001\n")
    dotenv_file.chmod(0o644)
    assert loaded().warnings == ()


# -- the config file


def test_the_config_file_of_the_home_folder_is_read(loaded, config_file):
    config_file.write_text("port: 9001\nshared_namespaces: [a, b]\nrequire_database: no\n# comment\n")
    result = loaded()
    assert (result.settings.port, result.settings.shared_namespaces) == (9001, ("a", "b"))
    assert result.origins["port"] == "~/.hivelore/config.yaml"


def test_hivelore_config_names_another_file_which_must_be_there(loaded, own_world):
    path = own_world / "other.yaml"
    path.write_text("port: 9002\n")
    result = loaded(HIVELORE_CONFIG=str(path))
    assert (result.settings.port, result.origins["port"]) == (9002, str(path))
    path.unlink()
    with pytest.raises(Invalid, match=r"HIVELORE_CONFIG names .* no such file"):
        loaded(HIVELORE_CONFIG=str(path))


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_config_file_is_fine(loaded, config_file, text):
    config_file.write_text(text)
    assert loaded().settings.port == 8420


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"port: 1\nembed_api_key: *{SECRET}\n", 2),
        (f"embed_api_key: !{SECRET} x\n", 1),
        (f"port: 1\nhost: a\n\tapi_keys: {SECRET}\n", 3),
        (f'port: 1\napi_keys: "{SECRET}\n', 3),
        (f"api_keys: {SECRET}: x\n", 1),
    ],
)
def test_a_broken_config_file_names_the_line_and_shows_nothing_of_it(loaded, config_file, text, line):
    config_file.write_text(text)
    with pytest.raises(Invalid) as caught:
        loaded()
    assert f"~/.hivelore/config.yaml line {line}, column" in caught.value.message
    assert SECRET not in caught.value.message


@pytest.mark.parametrize("raw", [b"a: 2024-13-01", b"a: \xff", b"a: \x00", b"[" * 5000, b"- a\n- b\n", b"text"])
def test_a_config_file_that_holds_no_mapping_is_refused(loaded, config_file, raw):
    config_file.write_bytes(raw)
    with pytest.raises(Invalid, match=r"config\.yaml"):
        loaded()


def test_the_file_of_another_product_is_not_taken_for_ours(loaded, config_file):
    config_file.write_text("memmyMemory:\n  storage: {token: x}\n")
    with pytest.raises(Invalid, match="no setting memmyMemory"):
        loaded()


def test_a_config_file_with_secrets_that_others_may_read_is_warned_of(loaded, config_file):
    config_file.write_text("embed_api_key: k\n")
    config_file.chmod(0o644)
    assert "chmod 600 ~/.hivelore/config.yaml" in loaded().warnings[0]
    config_file.chmod(0o600)
    assert loaded().warnings == ()


def test_files_and_flags_come_together_in_order(loaded, config_file, dotenv_file):
    config_file.write_text("port: 1\nrecall_limit: 1\nlist_limit: 1\nmax_tags: 1\n")
    dotenv_file.write_text("HIVELORE_RECALL_LIMIT=2\nHIVELORE_LIST_LIMIT=2\nHIVELORE_MAX_TAGS=2\n")
    settings = loaded(flags={"max_tags": "4"}, HIVELORE_LIST_LIMIT="3", HIVELORE_MAX_TAGS="3").settings
    assert (settings.port, settings.recall_limit, settings.list_limit, settings.max_tags) == (1, 2, 3, 4)


def test_tests_see_nothing_of_the_developers_own_settings():
    assert not [name for name in os.environ if name.startswith(("HIVELORE_", "POLYMNEMO_", "MEMMY_"))]
