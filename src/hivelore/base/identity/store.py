"""The space table and the visibility clause: the only place that says what a caller may see, in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, Index, String, Table, and_, bindparam, or_, select

from hivelore.core.actor import Scope, Space
from hivelore.sql.tables import metadata
from hivelore.sql.write import insert_if_absent
from hivelore.work import View, Work

spaces = Table(
    "space",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("name", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)
Index("ix_space_owner_name", spaces.c.kind, spaces.c.owner, spaces.c.name)


def ensure(w: Work, space: Space) -> str:
    """Make sure the space has its row; return its id."""
    found = w.connection.execute(select(spaces.c.id).where(spaces.c.id == space.id)).scalar_one_or_none()
    if found is None:
        row = {
            "id": space.id,
            "kind": space.kind,
            "owner": space.owner,
            "name": space.name,
            "created_ms": w.now_ms,
        }
        insert_if_absent(w.connection, spaces, row)
    return space.id


def readable(v: View) -> dict[str, Space]:
    """All spaces that have ever been written to and that the caller may read, by id."""
    statement = select(spaces.c.id, spaces.c.kind, spaces.c.owner, spaces.c.name).where(_READABLE)
    rows = v.connection.execute(statement, _readable_values(v))
    return {row.id: Space(row.kind, row.owner, row.name) for row in rows}


def visible(v: View, column: ColumnElement[str], scope: Scope) -> ColumnElement[bool]:
    """The condition that `column` (a space id) lies in `scope` and may be read by the caller.

    Spaces named in a scope were resolved for this caller (`resolve_scope`), but the clause does not trust that: a
    private space of another owner or a shared space that is no longer listed matches nothing.
    """
    if scope.spaces is None:
        return column.in_(select(spaces.c.id).where(_readable(**_readable_values(v))))
    return column.in_(named(v, scope.spaces))


def within(column: ColumnElement[str], everything: bool) -> ColumnElement[bool]:
    """`visible` without its values, for statements that are built once: building one costs more than running it.
    `within_values` gives the values to run it with."""
    return column.in_(select(spaces.c.id).where(_READABLE) if everything else bindparam("in_spaces", expanding=True))


def within_values(v: View, scope: Scope) -> dict[str, Any]:
    """The values of a statement with `within`."""
    return _readable_values(v) if scope.spaces is None else {"in_spaces": named(v, scope.spaces)}


def named(v: View, spaces: Iterable[Space]) -> list[str]:
    """Ids of those of these spaces that the caller may read."""
    return [space.id for space in spaces if may_read(v, space)]


def may_read(v: View, space: Space) -> bool:
    """The rule behind `visible` for one space that is at hand."""
    principal = v.caller.principal
    if space.kind == "private":
        return space.owner == principal.id
    if space.kind == "shared":
        return space.name in v.settings.shared_namespaces
    return space.id in principal.grants


def _readable(reader: Any, shared_names: Any, granted: Any) -> ColumnElement[bool]:
    return or_(
        and_(spaces.c.kind == "private", spaces.c.owner == reader),
        and_(spaces.c.kind == "shared", spaces.c.name.in_(shared_names)),
        and_(spaces.c.kind == "project", spaces.c.id.in_(granted)),
    )


_READABLE = _readable(
    bindparam("reader"), bindparam("shared_names", expanding=True), bindparam("granted", expanding=True)
)


def _readable_values(v: View) -> dict[str, Any]:
    principal = v.caller.principal
    return {
        "reader": principal.id,
        "shared_names": list(v.settings.shared_namespaces),
        "granted": list(principal.grants),
    }


_NAMES = select(spaces.c.id, spaces.c.name).where(spaces.c.id.in_(bindparam("ids", expanding=True)))


def names(v: View, ids: Iterable[str]) -> dict[str, str]:
    """Names of spaces by id, for answers."""
    wanted = list(set(ids))
    if not wanted:
        return {}
    return {row.id: row.name for row in v.connection.execute(_NAMES, {"ids": wanted})}
