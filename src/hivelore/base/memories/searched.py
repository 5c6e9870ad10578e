"""What of a memory is searched. A function of the stored row alone, so that an index can always be made anew from it.

A note or a session is searched whole, but for memories that were recalled into a session: those are found where they
were stored. Of an imported turn both sides' words are searched, and of each tool call its
name and the beginning of its input. Output of tools is kept with the turn but not searched: it is mostly noise, and
many times longer than the rest.
"""

from __future__ import annotations

import re
from itertools import chain

from hivelore.core.fence import blank_recalled

INDEXED_CHARS = 60_000  # of a turn's words; the whole turn is kept
INDEXED_CALLS = 40
INDEXED_INPUT_CHARS = 160

# Importers write a turn as sections: `## <role>`, a blank line, the text, a blank line.
_SECTION = re.compile(r"^## (user|assistant|tool)\n\n", re.MULTILINE)
_TOOL = re.compile(
    r"Tool: (?P<name>[^\n]*)(?:\n\nCall ID: [^\n]*)?(?:\n\nStatus: error)?"
    rf"(?:\n\nInput:\n(?P<input>.{{0,{INDEXED_INPUT_CHARS}}}))?",
    re.DOTALL,
)


def searched_text(kind: str, text: str) -> str:
    """The text under which a memory is found. A turn that is not written in sections is searched whole. That of a
    session is as long as the session, so that its parts can be cut out of it."""
    if kind == "session":
        return blank_recalled(text)
    if kind != "turn" or not _SECTION.match(text):
        return text
    sides: dict[str, list[str]] = {"user": [], "assistant": []}
    calls: list[str] = []
    speaker = "user"
    for role, section in _sections(text):
        call = _TOOL.match(section) if role == "tool" else None
        if call is not None:
            calls.append(f"{call['name']}: {(call['input'] or '').partition(_OUTPUT)[0]}")
            continue
        speaker = role if role != "tool" else speaker  # somebody wrote the heading of a tool in his own words
        sides[speaker].append(section)
    words = (
        _ends("\n\n".join(sides["user"]), INDEXED_CHARS // 2),
        _ends("\n\n".join(sides["assistant"]), INDEXED_CHARS),
    )
    return "\n\n".join(chain((each for each in words if each), ("\n".join(calls[:INDEXED_CALLS]),))).strip()


_OUTPUT = "\n\nOutput:\n"


def _sections(text: str) -> list[tuple[str, str]]:
    found = list(_SECTION.finditer(text))
    ends = [*(each.start() for each in found[1:]), len(text)]
    return [(each[1], text[each.end() : end].removesuffix("\n\n")) for each, end in zip(found, ends, strict=True)]


def _ends(text: str, limit_chars: int) -> str:
    """A text that fits, or its beginning and its end: the request, and what came of it."""
    if len(text) <= limit_chars:
        return text
    return f"{text[: limit_chars // 2]}\n\n{text[-limit_chars // 2 :]}"
