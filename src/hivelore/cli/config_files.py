"""Reads what settings come from: `.env` of the working directory and the YAML config file.

`.env` often belongs to the project one happens to stand in. So commands that an agent starts inside any
project read less of it (see `DotenvUse`), and lines that mean nothing to hivelore never stop it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hivelore.core.errors import Invalid
from hivelore.core.settings import setting_names
from hivelore.core.settings_load import PREFIX, Loaded, load, metadata_of, variable_of

# all: every variable. own: HIVELORE_* only, so that PORT or DATABASE_URL of the project at hand mean nothing.
# none: the file is not read.
DotenvUse = Literal["all", "own", "none"]

DOTENV = ".env"
CONFIG = "~/.hivelore/config.yaml"

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=[ \t]*")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_AFTER_QUOTE = re.compile(r"[ \t]*(#.*)?$")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def load_settings(
    env: Mapping[str, str], folder: Path, flags: Mapping[str, object], dotenv: DotenvUse = "all"
) -> Loaded:
    """Load the settings of a command that runs in `folder`.

    Raises `Invalid` on a broken file or a wrong value.
    """
    warnings: list[str] = []
    env_files: list[tuple[str, Mapping[str, str]]] = []
    if dotenv != "none" and (path := folder / DOTENV).is_file():
        variables, skipped = _read_dotenv(path)
        if dotenv == "own":
            variables = {name: value for name, value in variables.items() if name.startswith(PREFIX)}
        else:
            warnings += skipped
        env_files.append((DOTENV, variables))
        if any(variables.get(variable) for name in _secrets() for variable in _variables_of(name)):
            warnings += _readable_by_others(path, DOTENV)
    files: list[tuple[str, Mapping[Any, object]]] = []
    label = env.get("HIVELORE_CONFIG", "").strip()
    path = _home(label or CONFIG, env)
    if path.is_file():
        label = label or CONFIG
        content = read_yaml(path, label)
        files.append((label, content))
        if any(content.get(name) for name in _secrets()):
            warnings += _readable_by_others(path, label)
    elif label:
        raise Invalid(f"HIVELORE_CONFIG names {label}, and there is no such file.")
    loaded = load(env, files, flags, env_files=env_files)
    return replace(loaded, warnings=(*warnings, *loaded.warnings))


def _secrets() -> list[str]:
    return [name for name in setting_names() if metadata_of(name)["secret"]]


def _variables_of(name: str) -> tuple[str, ...]:
    return (variable_of(name), *metadata_of(name)["aliases"])


def _home(path: str, env: Mapping[str, str]) -> Path:
    if path.startswith("~/") and env.get("HOME"):
        return Path(env["HOME"], path[2:])
    return Path(path).expanduser()


def _readable_by_others(path: Path, label: str) -> list[str]:
    if os.name != "posix" or not stat.S_IMODE(path.stat().st_mode) & 0o077:
        return []
    return [f"{label} holds secrets and other users of this machine may read it; run: chmod 600 {label}"]


# -- .env


def _read_dotenv(path: Path) -> tuple[dict[str, str], list[str]]:
    try:
        # Bytes that are no UTF-8 matter only in a variable that is ours.
        text = path.read_bytes().decode("utf-8-sig", errors="surrogateescape")
    except OSError as error:
        return {}, [f"{DOTENV} cannot be read and is skipped: {error.strerror}."]
    variables, skipped = parse_dotenv(text)
    ours = {variable for name in setting_names() for variable in _variables_of(name)}
    for name in ours & variables.keys():
        if re.search("[\udc80-\udcff]", variables[name]):
            raise Invalid(f"{name} in {DOTENV} is not UTF-8 text.")
    return variables, skipped


def parse_dotenv(text: str) -> tuple[dict[str, str], list[str]]:
    """Read `.env` text: KEY=VALUE, `export `, comments, 'literal' and "escaped" values over several lines.

    Returns the variables (the last of a name wins) and one warning for each line that is none of these. Such
    a line raises `Invalid` when it begins with a variable of ours, because then it was meant. `${NAME}` is
    left to the loader.
    """
    variables: dict[str, str] = {}
    skipped: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        number = position + 1
        position += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head = _LINE.match(line)
        if head is None:
            skipped.append(f"{DOTENV} line {number} is not KEY=VALUE and is skipped.")
            continue
        name, rest = head[1], line[head.end() :]
        if rest[:1] not in ("'", '"'):
            variables[name] = re.split(r"(?:^|\s)#", rest, maxsplit=1)[0].strip()
            continue
        quoted = (_SINGLE if rest[0] == "'" else _DOUBLE).match("\n".join([rest, *lines[position:]]))
        closing_line = "" if quoted is None else "\n".join([rest, *lines[position:]])[quoted.end() :].split("\n", 1)[0]
        if quoted is None or not _AFTER_QUOTE.match(closing_line):
            problem = "has a quote that is not closed" if quoted is None else "has text after the closing quote"
            if name.startswith(PREFIX):
                raise Invalid(f"{DOTENV} line {number}: {name} {problem}.")
            skipped.append(f"{DOTENV} line {number} {problem} and is skipped.")
            continue
        position += quoted[0].count("\n")
        variables[name] = quoted[1] if rest[0] == "'" else _unescaped(quoted[1])
    return variables, skipped


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text, flags=re.DOTALL)


# -- YAML


def read_yaml(path: Path, label: str) -> Mapping[Any, object]:
    """Read a YAML file of settings. Raises `Invalid` with the line of a mistake and nothing of its text."""
    import yaml  # 30 ms that a command without a config file does not pay

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Invalid(f"{label} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)  # a ValueError (a date such as 2024-13-01) has none
        # The problem may quote the file ("undefined alias 'hunter2'"), which may be a secret.
        problem = str(getattr(error, "problem", None) or "not readable")
        problem = re.sub(r"'[^']{2,}'|\"[^\"]{2,}\"", "…", problem)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise Invalid(f"{label}{where}: not valid YAML ({problem}).") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise Invalid(f"{label} must hold `setting: value` lines.")
    return content
