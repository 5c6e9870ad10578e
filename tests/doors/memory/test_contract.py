"""What an MCP client sees of the memory tools: names, schemas, hints, and the shapes of answers and errors."""

from __future__ import annotations

import json

import pytest
from doors_kit import Person, mcp, mcp_call
from mcp.client import Client

from hivelore.core.errors import HiveloreError
from hivelore.doors.kit.dispatch import Credentials, dispatch
from hivelore.doors.memory import DIALECT

OPTIONAL_STRING = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
OPTIONAL_STRINGS = {"anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}], "default": None}
STRING = {"type": "string"}

# name: (required, properties without descriptions); the contract's parameters first, our additions behind them
ARGUMENTS = {
    "ping": ([], {}),
    "remember": (
        ["content"],
        {
            "content": STRING,
            "namespace": OPTIONAL_STRING,
            "tags": OPTIONAL_STRINGS,
            "source": OPTIONAL_STRING,
            "supersedes": OPTIONAL_STRING,
        },
    ),
    "recall": (
        ["query"],
        {
            "query": STRING,
            "namespace": OPTIONAL_STRING,
            "limit": {"type": "integer", "default": 8},
            "cursor": OPTIONAL_STRING,
            "namespaces": OPTIONAL_STRINGS,
            "tags": OPTIONAL_STRINGS,
            "source": OPTIONAL_STRING,
            "kind": OPTIONAL_STRING,
            "since": OPTIONAL_STRING,
            "until": OPTIONAL_STRING,
            "max_tokens": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "detail": {"type": "string", "default": "full"},
            "context": {"type": "integer", "default": 0},
            "format": {"type": "string", "default": "items"},
            "explain": {"type": "boolean", "default": False},
        },
    ),
    "timeline": (
        ["id"],
        {
            "id": STRING,
            "before": {"type": "integer", "default": 3},
            "after": {"type": "integer", "default": 3},
        },
    ),
    "list_memories": (
        [],
        {"namespace": OPTIONAL_STRING, "limit": {"type": "integer", "default": 20}, "cursor": OPTIONAL_STRING},
    ),
    "get_memory": ([], {"id": {"type": "string", "default": ""}, "ids": OPTIONAL_STRINGS}),
    "update": (["id", "content"], {"id": STRING, "content": STRING}),
    "forget": (["id"], {"id": STRING}),
    "save_session": (
        ["session_id", "content"],
        {"session_id": STRING, "content": STRING, "namespace": OPTIONAL_STRING},
    ),
    "load_session": (
        ["session_id"],
        {
            "session_id": STRING,
            "page": {"type": "integer", "default": 0},
            "page_size": {"type": "integer", "default": 8000},
        },
    ),
    "list_sessions": ([], {"limit": {"type": "integer", "default": 20}, "cursor": OPTIONAL_STRING}),
    "forget_session": (["session_id"], {"session_id": STRING}),
}

# name: (readOnly, destructive, idempotent); None means that the hint is not sent
HINTS = {
    "ping": (True, None, None),
    "remember": (False, False, None),
    "recall": (True, None, None),
    "timeline": (True, None, None),
    "list_memories": (True, None, None),
    "get_memory": (True, None, None),
    "update": (False, False, True),
    "forget": (False, True, True),
    "save_session": (False, False, None),
    "load_session": (True, None, None),
    "list_sessions": (True, None, None),
    "forget_session": (False, True, True),
}


async def _tools(client: Client):
    return {tool.name: tool for tool in (await client.list_tools()).tools}


def test_the_tools_are_the_contracts_and_the_two_for_sessions(alice: Person):
    tools = mcp(alice, _tools)
    assert list(tools) == list(ARGUMENTS)


def test_no_tool_handles_api_tokens(alice: Person):
    assert not [name for name in mcp(alice, _tools) if "token" in name or "key" in name]


def test_the_schema_of_every_tool_is_the_contracts(alice: Person):
    for name, tool in mcp(alice, _tools).items():
        schema = tool.input_schema
        required, properties = ARGUMENTS[name]
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert schema.get("required", []) == required, name
        described = {key: value.pop("description", "") for key, value in schema["properties"].items()}
        assert schema["properties"] == properties, name
        assert all(described.values()), "every argument says what it is for"


def test_the_hints_of_every_tool_are_the_contracts(alice: Person):
    for name, tool in mcp(alice, _tools).items():
        hints = tool.annotations
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == HINTS[name], name
        assert hints.open_world_hint is False
        assert tool.title
        assert tool.description


def test_every_tool_promises_an_open_object(alice: Person):
    for tool in mcp(alice, _tools).values():
        assert tool.output_schema == {"type": "object", "additionalProperties": True}


def test_all_tools_together_cost_a_model_less_than_three_thousand_tokens(alice: Person):
    """Four characters a token; what a client puts before a model is names, descriptions and schemas."""
    told = [[tool.name, tool.description, tool.input_schema] for tool in mcp(alice, _tools).values()]
    assert len(json.dumps(told)) / 4 < 3_000


def test_the_server_introduces_itself_and_names_remember_and_recall(alice: Person):
    async def talk(client: Client):
        return client.server_info, client.instructions, client.server_capabilities

    info, instructions, capabilities = mcp(alice, talk)
    assert info.name == "hivelore"
    assert info.version == alice.hub.version
    assert "remember" in instructions.lower()
    assert "recall" in instructions.lower()
    assert capabilities.tools is not None
    assert capabilities.resources is not None


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_answer_is_structured_and_the_same_object_as_compact_text(alice: Person, mode: str):
    async def talk(client: Client):
        return await client.call_tool("remember", {"content": "発注は月曜日", "tags": ["納期"]})

    result = mcp(alice, talk, mode=mode)
    assert result.is_error is False
    assert len(result.content) == 1
    assert result.content[0].type == "text"
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.content[0].text == json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))


def test_text_of_an_answer_keeps_other_scripts_readable(alice: Person):
    stored = mcp_call(alice, "remember", {"content": "発注は月曜日"}).structured_content
    assert "発注は月曜日" in mcp_call(alice, "get_memory", {"id": stored["ids"][0]}).content[0].text


def test_an_error_is_the_bare_message_without_structure(alice: Person):
    result = mcp_call(alice, "recall", {"query": "  "})
    assert result.is_error is True
    assert result.structured_content is None
    assert len(result.content) == 1
    assert "query is empty" in result.content[0].text


def test_an_unknown_tool_is_a_tool_error_that_names_the_known_ones(alice: Person):
    result = mcp_call(alice, "create_token", {})
    assert result.is_error is True
    assert "Unknown tool" in result.content[0].text
    assert "remember" in result.content[0].text


def test_unknown_and_missing_arguments_are_tool_errors_that_name_them(alice: Person):
    async def talk(client: Client):
        for name, (required, _) in ARGUMENTS.items():
            result = await client.call_tool(name, dict.fromkeys(required, "x") | {"colour": "red"})
            assert result.is_error is True
            assert "unknown argument 'colour'" in result.content[0].text
            if required:
                result = await client.call_tool(name, {})
                assert result.is_error is True
                assert all(f"{field} is required" in result.content[0].text for field in required)

    mcp(alice, talk)


def test_numbers_and_lists_may_come_as_strings_and_null_means_absent(alice: Person):
    mcp_call(alice, "remember", {"content": "one", "tags": '["a", "b"]', "namespace": None, "source": None})
    mcp_call(alice, "remember", {"content": "two", "tags": None})
    listed = mcp_call(alice, "list_memories", {"limit": "1", "cursor": None}).structured_content
    assert len(listed["items"]) == 1
    assert sorted(t for i in alice("list_memories")["items"] for t in i["tags"]) == ["a", "b"]


# -- who may call ------------------------------------------------------------------------------------------------------


def test_every_tool_but_ping_asks_for_a_key_before_anything_else(alice: Person):
    nobody = Person(alice.hub, "nobody", None)
    for name in ARGUMENTS:
        if name != "ping":
            assert "Authentication failed: missing Authorization header" in nobody.refused(name, nonsense=1)


def test_a_wrong_key_and_a_wrong_form_are_told_apart(alice: Person):
    recall = DIALECT.by_name["recall"]
    for authorization, words in (
        ("Bearer wrong", "invalid API key"),
        ("Basic YWxpY2U6eA==", "must be: Bearer"),
        ("Bearer ", "must be: Bearer"),
    ):
        with pytest.raises(HiveloreError, match=words) as caught:
            dispatch(alice.hub, recall, Credentials("test", authorization), {"query": "x"})
        assert caught.value.message.startswith("Authentication failed")
        assert "alice" not in caught.value.message


@pytest.mark.promise("P-028", "P-072")
def test_ping_needs_no_key_and_names_the_layers(alice: Person):
    nobody = Person(alice.hub, "nobody", None)
    answer = nobody("ping")
    assert answer["ok"] is True
    assert answer["server"] == "hivelore"
    assert answer["version"] == alice.hub.version
    assert answer["layers"] == {
        "auth": "BearerKeyAuth",
        "store": {"sqlite": "SqliteStore", "postgresql": "PostgresStore"}[alice.hub.db.dialect],
        "embedder": "HashEmbedder",
        "retriever": "HybridRetriever",
        "rate_limiter": "disabled",
        "blob_store": "disabled",
    }
