"""`hivelore bench speed`: a real store grows, and its figures are shown and written."""

from __future__ import annotations

import json

import pytest

from hivelore.bench import speed


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few questions and a small sample: the command is tested here and not the machine."""
    for name, value in (("QUESTIONS", 12), ("COMPARED", 6), ("WARM_UP", 1), ("SAMPLE", 32)):
        monkeypatch.setattr(speed, name, value)


def test_a_store_grows_and_its_figures_are_shown_and_written(run, own_world):
    path, data = own_world / "speed.json", own_world / "kept"
    sizes = ("--memories", "200", "600")
    ran = run("bench", "speed", *sizes, "--embedder", "hash", "--data", str(data), "--json", str(path))
    assert ran.code == 0, ran.err
    assert "nearest found" in ran.out
    written = json.loads(path.read_text())
    assert [size["memories"] for size in written["sizes"]] == [200, 600]
    for size in written["sizes"]:
        assert size["adds_per_s"] > 0
        assert size["resident_mb"] > 10
        assert {scope["scope"] for scope in size["scopes"]} >= {"everything", "half"}
        for scope in size["scopes"]:
            assert 0 < scope["p50_ms"] <= scope["p95_ms"]
            assert scope["found"] >= 0.95
    again = run("bench", "speed", "--memories", "100", "600", "--embedder", "hash", "--data", str(data))
    assert again.code == 0, again.err
    assert "leaving out 100" in again.err
    assert "600" in again.out


@pytest.mark.parametrize("size", ["0", "-5", "many", "99999999"])
def test_a_size_that_makes_no_sense_is_refused(run, size):
    ran = run("bench", "speed", f"--memories={size}", "--embedder", "hash")
    assert ran.code == 64
    assert "--memories takes numbers" in ran.err


def test_without_a_model_there_is_nothing_to_make_vectors_from(run):
    ran = run("bench", "speed", "--memories", "10", "--embedder", "off")
    assert ran.code == 69
    assert "embedder is off" in ran.err
