"""Profiles: the named sets of MCP tools that an endpoint can offer."""

from __future__ import annotations

from hivelore.core.errors import Invalid
from hivelore.doors import memory
from hivelore.doors.kit.operation import Dialect

PROFILES: dict[str, Dialect] = {"memory": memory.DIALECT}


def profile(name: str) -> Dialect:
    """The profile of this name; raises `Invalid` that lists the names."""
    if name not in PROFILES:
        raise Invalid(
            f"HIVELORE_MCP_PROFILE is {name!r}; it must be one of: {', '.join(PROFILES)}.", field="mcp_profile"
        )
    return PROFILES[name]
