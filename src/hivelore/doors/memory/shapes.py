"""How memories look to MCP clients: the contract's fields, and additions behind them."""

from __future__ import annotations

from typing import Any

from hivelore.base.memories.model import ACTIVE, Item
from hivelore.base.search.model import Findings, Hit
from hivelore.base.search.when import When
from hivelore.core.clock import iso_utc
from hivelore.rooms.memory.service import NOTE, VERBATIM_KINDS, RecalledItem

LONG_CHARS = 4_000  # a listed turn longer than this is cut; get_memory gives the whole


def item(found: Item, *, whole: bool = False) -> dict[str, Any]:
    """A memory, or one part of it, as the contract shows it."""
    text = found.text if found.kind == "session" else found.text.strip()
    shown: dict[str, Any] = {
        "id": found.id,
        "namespace": found.namespace,
        "content": text,
        "tags": list(found.tags),
        "source": found.source or None,
        "created_at": iso_utc(found.created_ms),
        "updated_at": iso_utc(found.updated_ms),
    }
    if found.kind != NOTE:
        shown["kind"] = found.kind
    if found.kind in VERBATIM_KINDS:
        shown["session_id"] = found.origin.get("session_id", "")
    if found.kind == "session":
        shown["seq"] = found.seq
    elif found.parts > 1 and found.id != found.memory:
        shown |= {"group_id": found.memory, "part": found.seq + 1, "parts": found.parts}
    if found.kind == "turn":
        shown["happened_at"] = iso_utc(found.event_ms)
        if len(text) > LONG_CHARS and not whole:
            shown["content"] = text[:LONG_CHARS]
            shown["truncated"] = {"chars": len(text), "whole": f"get_memory(id={found.id!r})"}
    if found.layer and found.kind != "turn":
        shown["layer"] = found.layer
    if found.status != ACTIVE:
        shown["status"] = found.status
    if found.superseded_by:
        shown["superseded_by"] = found.superseded_by
    if found.supersedes:
        shown["supersedes"] = list(found.supersedes)
    return shown


def hit(recalled: RecalledItem) -> dict[str, Any]:
    """A recalled item with its score. A turn shows the passage that matched; `get_memory` gives the whole."""
    shown = item(recalled.item)
    if recalled.item.kind == "turn":
        shown["content"] = recalled.excerpt.strip()
        shown["truncated"] = {"chars": recalled.item.chars, "whole": f"get_memory(id={recalled.item.id!r})"}
    shown["score"] = round(recalled.hit.score, 6)
    if recalled.hit.older_version_of:
        shown["older_version_of"] = recalled.hit.older_version_of
    if recalled.hit.copies:
        shown["same_text"] = list(recalled.hit.copies)
    if recalled.hit.parts is not None:
        shown["explain"] = explained(recalled.hit)
    return shown


def explained(found: Hit) -> dict[str, Any]:
    """What each engine said of a hit (null: it did not return it), and what its score is made of."""

    def said(rank: int | None, name: str, value: float | None) -> dict[str, Any] | None:
        return None if rank is None and value is None else {"rank": rank, name: value and round(value, 6)}

    return {
        "text": said(found.text_rank, "bm25", found.text_score),
        "vectors": said(found.vector_rank, "cosine", found.cosine),
        "parts": {name: round(part, 6) for name, part in (found.parts or {}).items()},
    }


def searched(findings: Findings, namespaces: tuple[str, ...]) -> dict[str, Any]:
    """What a recall searched and what it could not, and how it read the time that the question names."""
    shown: dict[str, Any] = {
        "namespaces": list(namespaces),
        "engines": list(findings.engines),
        "unavailable": dict(findings.unavailable),
        "pending": findings.pending,
    }
    change = findings.handover
    if change is not None:  # both models answer until the new one has a vector of every chunk
        shown["models"] = {"current": change.model, "former": change.former, "answered": list(change.answered)}
        if change.former_unavailable:
            shown["models"]["former_unavailable"] = change.former_unavailable
    if findings.whens:
        shown["time"] = [_time(when) for when in findings.whens]
    return shown


def _time(when: When) -> dict[str, Any]:
    """Memories from within rank a little higher; none is left out."""
    shown: dict[str, Any] = {"text": when.text}
    if when.since_ms is not None:
        shown["since"] = iso_utc(when.since_ms)
    if when.until_ms is not None:
        shown["until"] = iso_utc(when.until_ms)
    if when.memory:
        shown["event"] = when.memory
    return shown
