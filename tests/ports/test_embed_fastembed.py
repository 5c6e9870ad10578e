"""The fastembed adapter when it cannot load: it says why at once, and never goes online unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hivelore.adapters import embed_fastembed
from hivelore.adapters.embed_fastembed import FastembedEmbedder
from hivelore.core.errors import Unavailable


def reason_of(embedder: FastembedEmbedder) -> str:
    embedder.start()
    state = embedder.wait_ready(60)
    assert state.status == "unavailable"
    with pytest.raises(Unavailable) as caught:
        embedder.embed(["text"], "query")
    assert caught.value.message == state.reason
    embedder.close()
    return state.reason


def test_without_the_package_it_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_fastembed, "find_spec", lambda name: None)
    assert "hivelore[fastembed]" in reason_of(FastembedEmbedder("BAAI/bge-small-en-v1.5", tmp_path))


def test_offline_without_a_cached_model_it_fails_at_once_and_says_so(tmp_path: Path) -> None:
    reason = reason_of(FastembedEmbedder("BAAI/bge-small-en-v1.5", tmp_path, offline=True))
    assert "neither in the cache nor to be had" in reason
    assert str(tmp_path) not in reason


def test_a_name_that_fastembed_does_not_list_is_refused(tmp_path: Path) -> None:
    assert "no model of that name" in reason_of(FastembedEmbedder("nobody/nothing", tmp_path, offline=True))


def test_a_name_is_needed(tmp_path: Path) -> None:
    assert "HIVELORE_EMBED_MODEL" in reason_of(FastembedEmbedder("", tmp_path))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    assert "must hold one .onnx file" in reason_of(FastembedEmbedder("local/a", tmp_path, folder=tmp_path))


def test_a_folder_with_a_broken_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}))
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    assert "damaged" in reason_of(FastembedEmbedder("local/broken", tmp_path, folder=tmp_path, offline=True))


def test_before_loading_the_dimensions_are_not_made_up(tmp_path: Path) -> None:
    embedder = FastembedEmbedder("BAAI/bge-small-en-v1.5", tmp_path)
    assert (embedder.dims, embedder.model) == (0, "fastembed/BAAI/bge-small-en-v1.5/0")
