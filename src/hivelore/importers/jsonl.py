"""Finding and reading files of JSON lines that are large, still growing, and sometimes damaged.

`find_jsonl` lists the files below a folder. `read_lines` walks a file with memory bounded by its longest
acceptable line and tells for every line where it begins and ends, so that a reader can stop anywhere and go
on later from a `ResumePoint`. `parse` turns a line into an object and repairs what can be repaired: bytes
that are not UTF-8, NUL bytes, a byte order mark.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from hivelore.core.errors import NotFound
from hivelore.importers.model import Account

MAX_LINE_BYTES = 32 * 1024 * 1024
CHUNK_BYTES = 256 * 1024
BUFFER_BYTES = 1024 * 1024
ANCHOR_BYTES = 256


_BACKUP_NAME = re.compile(r"(?:[.\-_ ](?:bak|backup|old|orig|tmp|copy)\d*|~)\.jsonl\Z", re.IGNORECASE)


def find_jsonl(root: Path, account: Account, skip_prefixes: tuple[str, ...] = ()) -> list[Path]:
    """Every `*.jsonl` file below `root`, at all levels, sorted; what is passed over is counted with a reason.

    Symbolic links are not followed: what lies inside is found at its own place, and what lies outside was not
    asked for. `skip_prefixes` begin the names of files that are copies of others. A file as `root` is taken
    as it is. Raises `NotFound` when there is nothing at that path.
    """
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise NotFound("path: no such file or folder; name a transcript file or a folder that holds some")
    real_root = root.resolve()
    found: list[Path] = []
    folders = [root]
    while folders:
        try:
            with os.scandir(folders.pop()) as listing:
                entries = list(listing)
        except OSError:
            account.skip_file("folder cannot be read")
            continue
        for entry in entries:
            reason = _why_not(entry, real_root, skip_prefixes)
            if reason:
                account.skip_file(reason)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            else:
                found.append(Path(entry.path))
    return sorted(found)


def _why_not(entry: os.DirEntry[str], real_root: Path, skip_prefixes: tuple[str, ...]) -> str | None:
    """Why this entry is not read; None for a folder or a transcript that is."""
    name = entry.name.lower()
    if entry.is_symlink():
        target = Path(os.path.realpath(entry.path))
        if not target.exists():
            return "symbolic link to nothing"
        if target.is_relative_to(real_root):
            return "symbolic link to a place that is read anyway"
        return "symbolic link leading outside"
    if name.startswith("."):
        return "hidden file or folder"
    if entry.is_dir(follow_symlinks=False):
        return None
    if ".jsonl" not in name:
        return "not a transcript"
    if not name.endswith(".jsonl") or _BACKUP_NAME.search(name):
        return "backup or temporary copy"
    if not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    if skip_prefixes and name.startswith(skip_prefixes):
        return "copy made for a summary or a suggestion"
    return None if os.access(entry.path, os.R_OK) else "file cannot be read"


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where the next reading of a file begins; plain values, to be stored as they are (`dataclasses.asdict`).

    `offset` and `line` are the bytes and lines before the first turn that may still change. `last_ms` is the
    last time seen before it, for records without one. `anchor` is the SHA-256 of the bytes just before
    `offset`: when the file no longer has them it is another file and is read from its start. `size` and
    `mtime_ns` describe the file as it was read to its end; -1 while that end has not been reached, so that an
    interrupted reading is never taken for a finished one.
    """

    offset: int = 0
    line: int = 0
    last_ms: int | None = None
    anchor: str = ""
    size: int = -1
    mtime_ns: int = -1


@dataclass(frozen=True, slots=True)
class Line:
    """One line: 1-based `number`, byte range without what follows the line break, and its bytes.

    `state` is `whole`; `unfinished` for a last line without a line break, which a writer may still be
    writing; or `too_long`, and then `data` is empty and was never held in memory.
    """

    number: int
    start: int
    end: int
    data: bytes
    state: Literal["whole", "unfinished", "too_long"]


def read_lines(
    stream: BinaryIO, start: int = 0, lines_before: int = 0, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Line]:
    """Yield the lines from byte `start`, which must be the beginning of a line, to the end of the file."""
    number = lines_before
    stream.seek(start)
    while data := stream.readline(CHUNK_BYTES):
        number += 1
        end, closed = start + len(data), data.endswith(b"\n")
        if not closed and len(data) == CHUNK_BYTES:
            # Looked through before it is read: joining chunks as they come would need twice the memory of the
            # line, and that of a line which turns out too long.
            end, closed = _end_of_line(stream, end)
            data = b""
        if end - start > max_line_bytes:
            yield Line(number, start, end, b"", "too_long")
        else:
            if not data:
                stream.seek(start)
                data = stream.read(end - start)
            yield Line(number, start, end, data, "whole" if closed else "unfinished")
        start = end


def _end_of_line(stream: BinaryIO, position: int) -> tuple[int, bool]:
    """The offset after the line break, or that of the end of the file and False; nothing of the line is
    kept."""
    while chunk := stream.readline(CHUNK_BYTES):
        position += len(chunk)
        if chunk.endswith(b"\n"):
            return position, True
    return position, False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line as an object, or None when it is not one; `repairs` names what had to be repaired in it."""

    record: dict[str, Any] | None
    repairs: tuple[str, ...] = ()


def parse(data: bytes) -> Parsed:
    """Read one line as a JSON object. Anything else than an object (or nothing at all) gives
    `record=None`."""
    repairs: list[str] = []
    if b"\0" in data:
        data = data.replace(b"\0", b"")
        repairs.append("NUL bytes removed")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        repairs.append("bytes that are not UTF-8 replaced")
    del data  # lines can be tens of megabytes: not two copies while the third is made
    try:
        record = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return Parsed(None, tuple(repairs))
    return Parsed(record if isinstance(record, dict) else None, tuple(repairs))


def anchor_before(stream: BinaryIO, offset: int) -> str:
    """Fingerprint of the bytes just before `offset`, "" at the start of the file; keeps the stream's
    position."""
    if offset == 0:
        return ""
    position = stream.tell()
    stream.seek(max(0, offset - ANCHOR_BYTES))
    tail = stream.read(min(ANCHOR_BYTES, offset))
    stream.seek(position)
    return hashlib.sha256(tail).hexdigest()


_UUID = re.compile(rb'"(?:source_)?uuid"\s{0,4}:\s{0,4}"([^"\\]{1,128})"')


def record_ids_before(stream: BinaryIO, offset: int) -> set[int]:
    """Hashes of the record ids in the first `offset` bytes, found without parsing the lines.

    A resumed reading needs them to recognise a record that the file holds twice; storing them with the resume
    point would make it grow with the file.
    """
    found: set[int] = set()
    stream.seek(0)
    kept = b""
    while offset > 0 and (chunk := stream.read(min(CHUNK_BYTES, offset))):
        offset -= len(chunk)
        window = kept + chunk
        found.update(id_hash(match[1].decode(errors="replace")) for match in _UUID.finditer(window))
        kept = window[-256:]
    return found


def id_hash(record_id: str) -> int:
    """A 64-bit stand-in for a record id: a file of a million records would need 100 MB for the ids
    themselves."""
    return hash(record_id)
