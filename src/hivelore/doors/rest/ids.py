"""Ids as the REST contract shows them: a prefix that tells the layer, and 20 hex characters of the memory's id."""

from __future__ import annotations

import re

PREFIX_OF_LAYER = {"": "trace", "trace": "trace", "policy": "policy", "world_model": "world", "skill": "skill"}
KIND_OF_LAYER = {"": "trace", "trace": "trace", "policy": "policy", "world_model": "world_model", "skill": "skill"}
WIRE_OF_LAYER = {"": "L1", "trace": "L1", "policy": "L2", "world_model": "L3", "skill": "Skill"}
LAYER_OF_WIRE = {"L1": "trace", "L2": "policy", "L3": "world_model", "Skill": "skill"}

_WIRE_ID = re.compile(r"(trace|policy|world|skill)_([0-9a-f]{20})")


def wire_id(layer: str, memory_id: str) -> str:
    """`trace_` + 20 hex characters (80 bits: enough to be unique among any memories one store will ever hold)."""
    return f"{PREFIX_OF_LAYER[layer]}_{memory_id[:20]}"


def id_prefix(wire: str) -> str | None:
    """The hex characters of a wire id; None for anything else."""
    match = _WIRE_ID.fullmatch(wire)
    return match.group(2) if match else None
