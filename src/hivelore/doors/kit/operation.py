"""An operation is a value: a name, an input model, a function, and what a client may know about it.

Doors list operations in tuples that can be read; nothing registers itself by being imported.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from hivelore.core.actor import Role
from hivelore.core.errors import Invalid
from hivelore.work import Call


class Input(BaseModel):
    """Arguments of an operation. Leniency lives here once: `"5"` is 5, a list may arrive as a JSON string, null for an
    argument that has a default means absent. Unknown names are refused, so that a misspelt filter is never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, arguments: Any) -> Any:
        if not isinstance(arguments, Mapping):
            return arguments
        return {name: _read(cls, name, value) for name, value in arguments.items() if not _absent(cls, name, value)}


def _absent(model: type[BaseModel], name: str, value: Any) -> bool:
    known = model.model_fields.get(name)
    return value is None and known is not None and not known.is_required()


def _read(model: type[BaseModel], name: str, value: Any) -> Any:
    known = model.model_fields.get(name)
    wants_list = known is not None and "list[" in str(known.annotation)
    if wants_list and isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing a client can ask for. `run` gets a `Call` and the validated input and returns a JSON object."""

    name: str
    title: str
    input: type[Input]
    run: Callable[[Call, Any], dict[str, Any]]
    needs: Role = Role.AGENT
    authenticated: bool = True
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def description(self) -> str:
        """The text that models read: the docstring of `run`."""
        return inspect.cleandoc(self.run.__doc__ or "")

    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the input without the titles that pydantic derives, which only cost tokens."""
        schema = self.input.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        for described in schema.get("properties", {}).values():
            described.pop("title", None)
        return schema

    def read(self, arguments: Mapping[str, Any]) -> Input:
        """Validate arguments; raises `Invalid` that names each field, what is wrong and what is allowed."""
        try:
            return self.input.model_validate(arguments)
        except ValidationError as exc:
            raise Invalid(_explain(self, exc)) from exc


def _explain(operation: Operation, exc: ValidationError) -> str:
    said = []
    for error in exc.errors(include_url=False, include_context=False)[:5]:
        field_name = ".".join(str(place) for place in error["loc"]) or "arguments"
        if error["type"] == "extra_forbidden":
            known = ", ".join(operation.input.model_fields)
            said.append(f"unknown argument {field_name!r} (known: {known or 'none'})")
        elif error["type"] == "missing":
            said.append(f"{field_name} is required")
        elif error["type"] == "string_unicode":
            said.append(f"{field_name} holds half of a character (a lone surrogate); send valid Unicode")
        else:
            said.append(f"{field_name}: {error['msg']}, got {_shown(error['input'])}")
    return f"{operation.name}: " + "; ".join(said)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """Resources that clients can attach, by a URI with one variable part. `read` gets the URI and returns its text, or
    raises `NotFound` for a URI that is none of these."""

    uri_template: str
    name: str
    description: str
    mime_type: str
    read: Callable[[Call, str], str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A voice: the operations and resources of one contract, and what models are told about them."""

    name: str
    operations: tuple[Operation, ...]
    resources: tuple[ResourceTemplate, ...] = ()
    instructions: str = ""
    by_name: Mapping[str, Operation] = field(init=False)

    def __post_init__(self) -> None:
        named = {operation.name: operation for operation in self.operations}
        if len(named) != len(self.operations):
            raise ValueError(f"dialect {self.name} has two operations of one name")
        object.__setattr__(self, "by_name", named)
