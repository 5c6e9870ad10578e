"""Which sets lie under a path, in which format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from hivelore.bench.model import EvalSet
from hivelore.bench.sets import beam, cosqa, jsonl, locomo, longmemeval, squad
from hivelore.bench.sets.reading import read_json
from hivelore.core.errors import Invalid, NotFound

Loader = Callable[[Path, str], list[EvalSet]]

# Formats of one JSON file each, and those of a folder.
FILES = {"locomo": locomo, "longmemeval": longmemeval, "squad": squad, "cosqa": cosqa}
FOLDERS: dict[str, Loader] = {"beam": beam.load, "jsonl": jsonl.load}
FORMATS = (*FILES, *FOLDERS)


def load_all(paths: Sequence[Path], format: str | None = None) -> list[EvalSet]:
    """The sets under these paths, each a file of a known format or a folder of such files and folders.

    Raises `Invalid` for a path under which there is no set: a benchmark that quietly measures less means nothing.
    """
    if format is not None and format not in FORMATS:
        raise Invalid(f"--format must be one of {', '.join(FORMATS)}, not {format!r}.", field="format")
    found: list[EvalSet] = []
    translations: list[EvalSet] = []
    for path in paths:
        if not path.exists():
            raise NotFound(f"There is no file or folder {path}.")
        here = [(kind, sets) for each in _candidates(path, format) for kind, sets in [_load(each, format)] if sets]
        if not here:
            raise Invalid(
                f"There is no evaluation set under {path}. Known formats: {', '.join(FORMATS)}.", field="path"
            )
        found += (each for _, sets in here for each in sets)
        translations += (each for kind, sets in here if kind == "squad" for each in sets)
    found += squad.across(translations)
    _refuse_doubles(found)
    return found


def _candidates(path: Path, format: str | None) -> list[Path]:
    """What could be a set: the path itself if it is a file or the folder of one, else what lies in it, in order."""
    if path.is_file() or format in FOLDERS or _folder_format(path):
        return [path]
    within = sorted(each for each in path.iterdir() if not each.name.startswith("."))
    folders = [deeper for each in within if each.is_dir() for deeper in _candidates(each, format)]
    return [each for each in within if each.is_file() and each.suffix == ".json"] + folders


def _folder_format(folder: Path) -> str | None:
    if (folder / jsonl.CORPUS).is_file() and (folder / jsonl.CASES).is_file():
        return "jsonl"
    return "beam" if beam.chats(folder) else None


def _load(path: Path, format: str | None) -> tuple[str, list[EvalSet]]:
    """The format and the sets of one file or folder. A JSON file that is none of ours gives none."""
    name = path.stem if path.is_file() else path.resolve().name
    if path.is_dir():
        kind = format or _folder_format(path) or ""
        return (kind, FOLDERS[kind](path, name)) if kind in FOLDERS else ("", [])
    if format is not None:
        if format not in FILES:
            raise Invalid(f"A set of the format {format} is a folder, and {path} is a file.", field="format")
        return format, FILES[format].load(read_json(path), path, name)
    value = read_json(path)
    for kind, module in FILES.items():
        if module.matches(value):
            return kind, module.load(value, path, name)
    return "", []


def _refuse_doubles(sets: Sequence[EvalSet]) -> None:
    name, times = Counter(each.name for each in sets).most_common(1)[0]
    if times > 1:
        raise Invalid(f"{times} sets are called {name!r}; rename a file or folder, so that their figures stay apart.")
