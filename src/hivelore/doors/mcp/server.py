"""A dialect as an MCP server, on the SDK's low-level `Server`.

Schemas, texts, flags and errors are ours; the SDK speaks the protocol. Each call makes one hop to a worker thread and
runs start to finish there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from hivelore.core.actor import Role
from hivelore.core.errors import HiveloreError, NotFound
from hivelore.doors.kit.dispatch import Credentials, dispatch, gate
from hivelore.doors.kit.operation import Dialect, Operation
from hivelore.work import Call, Hub

SERVER_NAME = "hivelore"
OPEN_OBJECT = {"type": "object", "additionalProperties": True}

CredentialsOf = Callable[[Any], Credentials]


def tool_of(operation: Operation) -> types.Tool:
    """How an operation appears in `tools/list`."""
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=operation.description,
        input_schema=operation.input_schema(),
        output_schema=OPEN_OBJECT,
        annotations=types.ToolAnnotations(
            read_only_hint=operation.read_only,
            destructive_hint=None if operation.read_only else operation.destructive,
            idempotent_hint=operation.idempotent or None,
            open_world_hint=False,
        ),
    )


def build_server(hub: Hub, dialect: Dialect, credentials_of: CredentialsOf) -> Server[Any]:
    """An SDK server for one dialect. `credentials_of` reads the sender out of the SDK's request context."""
    tools = [tool_of(operation) for operation in dialect.operations]
    schemas = {tool.name: tool.input_schema for tool in tools}
    templates = [
        types.ResourceTemplate(
            uri_template=each.uri_template, name=each.name, description=each.description, mime_type=each.mime_type
        )
        for each in dialect.resources
    ]
    limiter = anyio.CapacityLimiter(hub.settings.worker_threads)

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        operation = dialect.by_name.get(params.name)
        if operation is None:
            known = ", ".join(dialect.by_name)
            return _refusal(f"Unknown tool: {params.name[:100]!r}. Tools of this server: {known}.")
        try:
            answer = await anyio.to_thread.run_sync(
                dispatch, hub, operation, credentials_of(ctx), params.arguments or {}, limiter=limiter
            )
        except HiveloreError as exc:
            return _refusal(exc.message)
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=answer)

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        contents = await anyio.to_thread.run_sync(
            _read_resource, hub, dialect, credentials_of(ctx), uri, limiter=limiter
        )
        return types.ReadResourceResult(contents=[contents])

    return Server(
        SERVER_NAME,
        version=hub.version,
        instructions=dialect.instructions,
        # Without this the SDK runs the whole tools/list for every call, to look up one schema.
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _refusal(message: str) -> types.CallToolResult:
    """A tool error: the bare message, for the model to read, and nothing structured (contract)."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


def _read_resource(
    hub: Hub, dialect: Dialect, credentials: Credentials, uri: str
) -> types.TextResourceContents | types.BlobResourceContents:
    """Read a resource; failures become JSON-RPC errors (contract), unexpected ones masked."""
    scheme = uri.partition("://")[0]
    template = next((each for each in dialect.resources if each.uri_template.startswith(f"{scheme}://")), None)

    def run(call: Call) -> dict[str, Any]:
        if template is None:
            raise NotFound(f"There is no resource {uri[:200]!r}.")
        return {"text": template.read(call, uri)}

    try:
        text = gate(hub, "resources/read", credentials, run, needs=Role.READER)["text"]
    except NotFound as exc:
        raise MCPError(code=types.INVALID_PARAMS, message=exc.message, data={"uri": uri}) from exc
    except HiveloreError as exc:
        raise MCPError(code=types.INTERNAL_ERROR, message=exc.message) from exc
    return types.TextResourceContents(uri=uri, mime_type=template.mime_type if template else None, text=text)
