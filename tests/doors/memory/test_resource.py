"""The resource `memory://{namespace}`."""

from __future__ import annotations

import json

import pytest
from doors_kit import Person, mcp
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from support.hubs import with_settings


def _read(who: Person, uri: str):
    async def talk(client: Client):
        return await client.read_resource(uri)

    return mcp(who, talk)


def _refused(who: Person, uri: str):
    async def talk(client: Client):
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        return caught.value.error

    return mcp(who, talk)


def test_the_template_is_listed_and_no_resource(alice: Person):
    async def talk(client: Client):
        return await client.list_resource_templates(), await client.list_resources()

    templates, resources = mcp(alice, talk)
    assert [(t.uri_template, t.mime_type) for t in templates.resource_templates] == [
        ("memory://{namespace}", "text/plain")
    ]
    assert resources.resources == []


@pytest.mark.promise("P-073")
def test_a_namespace_reads_as_the_page_that_lists_it(alice: Person):
    for n in range(3):
        alice("remember", content=f"пример {n}", tags=["a"])
    result = _read(alice, "memory://shared")
    assert [(c.uri, c.mime_type) for c in result.contents] == [("memory://shared", "text/plain")]
    assert json.loads(result.contents[0].text) == alice("list_memories")
    assert result.contents[0].text.isascii()


def test_its_length_is_the_settings(alice: Person):
    for n in range(3):
        alice("remember", content=f"note {n}")
    page = json.loads(_read(alice.at(with_settings(alice.hub, list_limit=2)), "memory://shared").contents[0].text)
    assert (len(page["items"]), page["total"], page["has_more"]) == (2, 3, True)


def test_a_name_with_slashes_or_other_scripts_is_percent_encoded(alice: Person):
    alice("remember", content="x", namespace="a/b")
    alice("remember", content="y", namespace="日本 語")
    assert json.loads(_read(alice, "memory://a%2Fb").contents[0].text)["total"] == 1
    assert json.loads(_read(alice, "memory://%E6%97%A5%E6%9C%AC%20%E8%AA%9E").contents[0].text)["total"] == 1


def test_the_same_rules_of_visibility_hold(alice: Person, bob: Person):
    alice("remember", content="mine", namespace="mine")
    assert json.loads(_read(alice, "memory://mine").contents[0].text)["total"] == 1
    assert json.loads(_read(bob, "memory://mine").contents[0].text)["total"] == 0


@pytest.mark.parametrize("uri", ["memory://a/b", "memory://", "other://shared", "memory:shared"])
def test_any_other_uri_is_a_protocol_error(alice: Person, uri: str):
    error = _refused(alice, uri)
    assert error.code == -32602
    assert f"no resource {uri!r}" in error.message


def test_without_a_key_it_is_a_protocol_error(alice: Person):
    error = _refused(Person(alice.hub, "nobody", None), "memory://shared")
    assert error.code == -32603
    assert "Authentication failed" in error.message


def test_a_name_that_is_too_long_names_the_limit(alice: Person):
    error = _refused(alice, f"memory://{'n' * 300}")
    assert error.code == -32603
    assert "256" in error.message


def test_a_broken_store_is_masked(alice: Person, caplog: pytest.LogCaptureFixture):
    from sqlalchemy import text

    with alice.hub.db.write() as connection:
        connection.execute(text("ALTER TABLE memory_part RENAME TO memory_part_gone"))
    try:
        error = _refused(alice, "memory://shared")
    finally:
        with alice.hub.db.write() as connection:
            connection.execute(text("ALTER TABLE memory_part_gone RENAME TO memory_part"))
    assert error.code == -32603
    assert error.message.startswith("Internal error ")
    assert "memory_part" not in error.message
    assert error.message.split()[2].rstrip(".") in caplog.text
