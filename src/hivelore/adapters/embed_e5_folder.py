"""The folder of a converted multilingual-e5-small: its files and the manifest that vouches for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hivelore.adapters.embed_e5_source import sha256_of
from hivelore.adapters.embed_loading import NotReady

NAME = "multilingual-e5-small"
VARIANT = "mix8"  # four-bit embedding table, eight-bit linear layers
DIMS = 384
FORMAT = 1  # raise it when a conversion would give other vectors or other files
DEFAULT_FOLDER = f"{NAME}-{VARIANT}"

GRAPH = "model_mix8.onnx"
LINEAR = "model_mix8.bin"
EMBEDDINGS = "embeddings.bin"
TOKENIZER = "tokenizer.model"
NORMALISATION = "normalisation.json"
FILES = (GRAPH, LINEAR, EMBEDDINGS, TOKENIZER, NORMALISATION)
MANIFEST = "manifest.json"


def manifest_of(folder: Path, source_sha256: str) -> dict[str, Any]:
    """What the manifest of a freshly converted folder says."""
    return {
        "format": FORMAT,
        "model": NAME,
        "variant": VARIANT,
        "dims": DIMS,
        "licence": "MIT",
        "source_sha256": source_sha256,
        "files": {
            name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)} for name in FILES
        },
    }


def check(folder: Path) -> None:
    """Raise `NotReady` unless the folder holds a whole conversion of the format that this version reads.

    Digests are computed in full: 0.05 s, and a half-written or damaged weight file would otherwise give wrong
    vectors without any error.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise NotReady("The model folder holds no converted model (manifest.json is missing or damaged).") from None
    if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("variant")) != (
        FORMAT,
        VARIANT,
    ):
        raise NotReady(f"The model folder was written for another version; this one reads format {FORMAT}, {VARIANT}.")
    stated = manifest.get("files")
    for name in FILES:
        path = folder / name
        facts = stated.get(name) if isinstance(stated, dict) else None
        if not isinstance(facts, dict) or not path.is_file() or sha256_of(path) != facts.get("sha256"):
            raise NotReady(f"The model folder is damaged: {name} is missing or does not match the manifest.")
