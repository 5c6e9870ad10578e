"""The resource `memory://{namespace}`: a namespace as clients attach it to a conversation."""

from __future__ import annotations

import json
from urllib.parse import unquote

from hivelore.core.errors import NotFound
from hivelore.doors.kit.operation import ResourceTemplate
from hivelore.doors.memory.memories import listing
from hivelore.work import Call

URI_TEMPLATE = "memory://{namespace}"


def read(call: Call, uri: str) -> str:
    """The same page as `list_memories` for the namespace in `uri`, as JSON text."""
    return json.dumps(listing(call, namespace_in(uri), None, call.hub.settings.list_limit))


def namespace_in(uri: str) -> str:
    """The namespace a URI names: one path segment, percent-decoded. Raises `NotFound` for any other URI."""
    scheme, separator, rest = uri.partition("://")
    if scheme != "memory" or not separator or not rest or "/" in rest:
        raise NotFound(
            f"There is no resource {uri[:200]!r}. Resources are {URI_TEMPLATE}, '/' in a name written as %2F."
        )
    return unquote(rest, errors="replace")


TEMPLATES = (
    ResourceTemplate(URI_TEMPLATE, "namespace", "The newest memories of a namespace, as JSON.", "text/plain", read),
)
