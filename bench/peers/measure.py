"""One server on one slice: store, wait until everything can be found, ask, and weigh the process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent

from bench.peers.servers import Answer, Failure, Memory, Refusal, Server, ToolCall
from bench.peers.slices import Slice
from hivelore.bench.metrics import CUTS, first_places, percentile, ranks_of

SETTLE_LIMIT_S = 900.0
PAUSE_S = 0.2
WARM_UP = 3
# No server may look outside: what respects proxies finds none, and the model hub's client does not try.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one server on one slice. Recalls are shares of 1 at `CUTS`; `same_text` memories were not stored
    beside their equals, and count as found where those are; `strange` results name no memory of the slice."""

    recall: tuple[float, ...]
    p50_ms: float
    p95_ms: float
    acknowledged_per_s: float
    findable_per_s: float
    resident_mb: float
    same_text: int
    strange: int


def measure(server: Server, programs: Path, home: Path, given: Slice) -> Measured:
    """Start a server with an empty home folder and measure it. Raises `Failure` with what it said."""
    command = list(server.command(programs, home))
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), **OFFLINE, **server.environment}

    async def run() -> Measured:
        before = set(psutil.Process().children())
        with (home / "server.log").open("w") as log:
            parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=home)
            async with Client(stdio_client(parameters, errlog=log)) as client:
                started = [each for each in psutil.Process().children() if each not in before]
                return await _session(server, client, given, started)

    try:
        return anyio.run(run)
    except BaseExceptionGroup as group:
        raise _cause(group) from group
    except (OSError, TimeoutError) as exc:
        raise Failure(f"{type(exc).__name__}: {exc}") from exc


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first, out of the groups that task groups make."""
    first = group.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _cause(first)
    return first if isinstance(first, Failure) else Failure(f"{type(first).__name__}: {first}")


async def _session(server: Server, client: Client, given: Slice, started: Sequence[psutil.Process]) -> Measured:
    warm_up = [question.text for question in given.questions[:WARM_UP]]
    for text in warm_up:  # loads what is loaded on first use; on an empty store, so that nothing is learned from it
        await _call(client, server.search(text))
    await _settle(server, client, warm_up[0])
    begun_s = time.perf_counter()
    memories_of, same_text = await _store(server, client, given.memories)
    acknowledged_s = time.perf_counter() - begun_s
    await _settle(server, client, warm_up[0])
    findable_s = time.perf_counter() - begun_s
    for text in warm_up:
        await _call(client, server.search(text))
    taken_ms, recalls, strange = [], [], 0
    for question in given.questions:
        call = server.search(question.text)
        asked_s = time.perf_counter()
        answer = await _call(client, call)
        taken_ms.append((time.perf_counter() - asked_s) * 1000)
        keys = server.found(answer)
        strange += sum(key not in memories_of for key in keys)
        ranking = first_places(id for key in keys for id in memories_of.get(key, ()))
        ranks = ranks_of(ranking, question.relevant)
        recalls.append(tuple(sum(rank <= cut for rank in ranks) / len(question.relevant) for cut in CUTS))
    count = len(recalls)
    return Measured(
        recall=tuple(sum(column) / count for column in zip(*recalls, strict=True)),
        p50_ms=percentile(taken_ms, 0.50),
        p95_ms=percentile(taken_ms, 0.95),
        acknowledged_per_s=len(given.memories) / acknowledged_s,
        findable_per_s=len(given.memories) / findable_s,
        resident_mb=_resident_mb(started),
        same_text=same_text,
        strange=strange,
    )


async def _store(server: Server, client: Client, memories: Sequence[Memory]) -> tuple[Mapping[str, Sequence[str]], int]:
    """Memories by the key that the server names them by, and how many it did not store beside an equal one."""
    keys: dict[str, str] = {}  # by text
    memories_of: dict[str, list[str]] = {}
    same_text = 0
    for memory in memories:
        answer = await _call(client, server.add(memory))
        try:
            key = server.added(answer, memory)
        except Refusal:
            same_text += 1
            if memory.text not in keys:
                raise Failure("a memory was refused as known that is not") from None
            key = keys[memory.text]
        keys[memory.text] = key
        memories_of.setdefault(key, []).append(memory.id)
    return memories_of, same_text


async def _settle(server: Server, client: Client, query: str) -> None:
    """Wait until a search searches everything in every way."""
    limit_s = time.monotonic() + SETTLE_LIMIT_S
    while not server.settled(await _call(client, server.search(query))):
        if time.monotonic() > limit_s:
            raise Failure(f"not everything can be found after {SETTLE_LIMIT_S:.0f} s")
        await anyio.sleep(PAUSE_S)


async def _call(client: Client, call: ToolCall) -> Answer:
    result = await client.call_tool(*call)
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    return Answer(text, result.structured_content, bool(result.is_error))


def _resident_mb(started: Sequence[psutil.Process]) -> float:
    """Resident memory of the server's processes."""
    everything = [each for process in started for each in (process, *process.children(recursive=True))]
    return sum(each.memory_info().rss for each in everything) / 2**20
