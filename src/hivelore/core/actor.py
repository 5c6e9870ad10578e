"""Who acts and where things live: principals, roles, spaces, and what each may do.

The rules of visibility are written here once; `hivelore.base.identity` turns them into one SQL clause.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from hivelore.core.ids import content_id

SpaceKind = Literal["private", "project", "shared"]

LOCAL_USER = "local"


class Role(IntEnum):
    """What a principal may do; a higher role includes the lower ones."""

    READER = 10
    AGENT = 20
    ADMIN = 30
    OWNER = 40


@dataclass(frozen=True, slots=True)
class Principal:
    """A person or machine that a credential resolves to. `grants` are ids of project spaces it may see."""

    id: str
    role: Role = Role.AGENT
    grants: frozenset[str] = frozenset()

    def may(self, needs: Role) -> bool:
        return self.role >= needs


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal in one call: which agent it says it is and through which door it came."""

    principal: Principal
    agent: str = ""
    door: str = ""

    @property
    def id(self) -> str:
        return self.principal.id


@dataclass(frozen=True, slots=True)
class Space:
    """A place where memories live. `owner` is a principal id for private spaces and empty otherwise.

    The id is a hash of kind, owner and name, so naming a space needs no look-up, and two replicas that meet
    the same name at the same time mean the same space.
    """

    kind: SpaceKind
    owner: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.kind[:2]}_{content_id(self.kind, self.owner, self.name, length=20)}"


@dataclass(frozen=True, slots=True)
class Scope:
    """What one read covers: named spaces, or everything the caller may see when `spaces` is None."""

    spaces: tuple[Space, ...] | None = field(default=None)

    @property
    def everything(self) -> bool:
        return self.spaces is None


def space_of(name: str, principal_id: str, shared_names: frozenset[str]) -> Space:
    """Resolve a namespace as a caller writes it: listed names are shared spaces, all others the caller's own."""
    if name in shared_names:
        return Space("shared", "", name)
    return Space("private", principal_id, name)
