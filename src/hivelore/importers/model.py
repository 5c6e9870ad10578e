"""What a transcript reader yields: turns, tool calls, and an account of what was read and what was left out.

Ids, titles and the rendering follow the import contract, so that a turn imported here and the same turn
imported by another implementation of the contract get the same id. Our one addition, the `## tool` sections,
is left out of the text that the request id is made from.

`TurnBuilder` collects one turn while its records arrive. It holds a bounded amount of text: an agent may work
for days on one request, and the middle of such a turn is given up before its beginning and its end.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from hivelore.core.clock import iso_z, parse_iso_ms
from hivelore.core.errors import Invalid
from hivelore.core.redact import redact
from hivelore.core.text import clean

TOOL_PAYLOAD_CHARS = 20_000  # import contract; input and output each
TEXT_CHARS = 500_000  # one message; more than any model reads at once
TURN_CHARS = 2_000_000  # all sections of a turn; half of it for its beginning, half for its end
TURN_SECTIONS = 4_000
TITLE_CHARS = 120  # import contract
LABEL_CHARS = 200  # names, ids, branches: nothing longer is one
PATH_CHARS = 4_096

# Seen beyond a cut when secrets are looked for, so that one that lies across the cut is recognised.
_LOOKAHEAD_CHARS = 4_096
_TEXT_WINDOW = TEXT_CHARS + _LOOKAHEAD_CHARS

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool: `input` as JSON (or the text it was), `output` as text; "" where nothing was
    recorded."""

    id: str
    name: str
    input: str
    output: str
    is_error: bool
    started_ms: int | None


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """One request of a user and everything that was done about it.

    `turn_id`, `request_id` and `title` are made by the functions of this module. `first_message_id` is the id
    that the source gave to the first message: a session that was resumed into another file carries earlier
    turns along under the same message ids, possibly in another conversation. `text` is the whole turn in
    sections, `user_text` and `assistant_text` the words of both sides. `complete` says that both sides said
    something. `messages` counts the messages of the contract: what the user wrote and every reply with text.

    `byte_start` to `byte_end` and `line_start` to `line_end` are where the turn's own records lie in `file`;
    other records may lie between them. `sidechain` marks the work of a sub-agent, `agent_id` which one.
    `redactions` is the number of secrets that were replaced in the turn.
    """

    source: str
    turn_id: str
    conversation_id: str
    first_message_id: str
    request_id: str
    title: str
    user_text: str
    assistant_text: str
    text: str
    tool_calls: tuple[ToolCall, ...]
    complete: bool
    started_ms: int
    ended_ms: int
    workspace: str | None
    git_branch: str | None
    agent_version: str | None
    sidechain: bool
    file: str
    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    redactions: int
    messages: int
    interrupted: bool = False
    agent_id: str | None = None


# --- ids, titles, times -------------------------------------------------------------------------------------


def turn_identity(source: str, conversation_id: str, first_message_id: str) -> str:
    """What makes a turn the same turn, whatever its text has become since."""
    return f"{source}::{conversation_id}::{first_message_id}"


def make_turn_id(source: str, conversation_id: str, first_message_id: str) -> str:
    """`<source>:` and the first 24 hex digits of the SHA-256 of the identity (import contract)."""
    digest = hashlib.sha256(turn_identity(source, conversation_id, first_message_id).encode()).hexdigest()
    return f"{source}:{digest[:24]}"


def make_request_id(identity: str, created_ms: int, rendered: str) -> str:
    """SHA-256 in hex of identity, creation time and rendered text, parted by NUL (import contract).

    `rendered` is the contract's own rendering: user and assistant sections, no tool sections for this source.
    It changes when a turn grows, while the turn id stays.
    """
    return hashlib.sha256("\0".join((identity, iso_z(created_ms), rendered)).encode()).hexdigest()


def make_title(user_text: str) -> str:
    """The first line that is not blank; above 120 characters, 117 of them and `...` (import contract)."""
    line = next((line.strip() for line in user_text.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 3] + "..."


def read_time_ms(value: object) -> int | None:
    """A record's time in epoch milliseconds, or None. Takes ISO 8601, milliseconds (above 1e10) and
    seconds."""
    if isinstance(value, str):
        try:
            ms = parse_iso_ms(value, "timestamp")
        except Invalid:
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        ms = int(value if value > 1e10 else value * 1000)
    else:
        return None
    return ms if 0 <= ms < 253_402_300_800_000 else None  # year 10000: nothing after it can be written as ISO 8601


# --- text ---------------------------------------------------------------------------------------------------


def cut(text: str, limit_chars: int, already_cut: int = 0) -> str:
    """At most `limit_chars` code points of `text`, and `[truncated:N chars]` when N more were there."""
    more = len(text) - limit_chars
    if more <= 0 and not already_cut:
        return text
    return f"{text[:limit_chars]}[truncated:{max(more, 0) + already_cut} chars]"


_SECTION_HEADING = re.compile(r"^(?=## (?:user|assistant|tool|system)\s*$)", re.MULTILINE)


def render_tool(call: ToolCall) -> str:
    """A tool section's paragraphs, in the labels of the import contract.

    A heading inside a payload is moved one space in: what a tool printed must not read as words of the user.
    """
    paragraphs = [f"Tool: {call.name}"]
    if call.id:
        paragraphs.append(f"Call ID: {call.id}")
    if call.is_error:
        paragraphs.append("Status: error")
    for label, payload in (("Input", call.input), ("Output", call.output)):
        if payload:
            paragraphs.append(f"{label}:\n{_SECTION_HEADING.sub(' ', payload)}")
    return "\n\n".join(paragraphs)


def render(sections: Iterable[tuple[Role, str]]) -> str:
    """`## <role>`, a blank line, the text; sections parted by blank lines (import contract)."""
    return "\n\n".join(f"## {role}\n\n{text}" for role, text in sections)


# --- account ------------------------------------------------------------------------------------------------


def _add(into: dict[str, int], counts: dict[str, int]) -> None:
    for reason, number in counts.items():
        into[reason] = into.get(reason, 0) + number


@dataclass(slots=True)
class Account:
    """Counts of what was read and, with a reason, of what was not. Nothing is left out without a count here.

    Every line is counted once: `lines == lines_kept + bad_lines + sum(lines_skipped.values())`.
    `turns_incomplete` are turns that lack one side; `turns_skipped` those of them that were not yielded,
    because another turn followed. `messages` counts those of yielded turns. `parts_dropped` counts pieces of
    kept records, `repairs` damaged text that was mended, `redactions` secrets by kind.
    """

    files: int = 0
    files_unchanged: int = 0
    files_restarted: int = 0
    files_skipped: dict[str, int] = field(default_factory=dict)
    bytes_read: int = 0
    lines: int = 0
    lines_kept: int = 0
    bad_lines: int = 0
    lines_skipped: dict[str, int] = field(default_factory=dict)
    turns_complete: int = 0
    turns_incomplete: int = 0
    turns_skipped: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    parts_dropped: dict[str, int] = field(default_factory=dict)
    repairs: dict[str, int] = field(default_factory=dict)
    redactions: dict[str, int] = field(default_factory=dict)

    def skip_file(self, reason: str) -> None:
        _add(self.files_skipped, {reason: 1})

    def skip_line(self, reason: str) -> None:
        _add(self.lines_skipped, {reason: 1})

    def skip_turn(self, reason: str) -> None:
        _add(self.turns_skipped, {reason: 1})

    def drop(self, part: str, number: int = 1) -> None:
        if number:
            _add(self.parts_dropped, {part: number})

    def repair(self, what: str, number: int = 1) -> None:
        if number:
            _add(self.repairs, {what: number})

    def add(self, other: Account) -> None:
        """Add the counts of another account, for instance those of the next file."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                _add(mine, theirs)
            else:
                setattr(self, name, mine + theirs)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and dictionaries, for JSON."""
        return asdict(self)


# --- one turn in the making ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Section:
    """A message or a tool call. The words of a message stay in the parts they came in until the turn is
    closed."""

    role: Role
    order: int
    parts: list[str] = field(default_factory=list)
    call: ToolCall | None = None
    found: dict[str, dict[str, int]] = field(default_factory=dict)  # secrets in a call, by payload and kind
    in_contract: bool = True
    chars: int = 0
    chars_beyond: int = 0


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What is known when a turn begins: the record that begins it, and where it lies."""

    source: str
    file: str
    conversation_id: str
    first_message_id: str
    byte_start: int
    line_start: int
    created_ms: int | None
    sidechain: bool = False
    agent_id: str | None = None


class TurnBuilder:
    """Collects the records of one turn, in the order in which they come, and closes into an `ImportedTurn`.

    Texts come cleaned (`core.text.clean`). Secrets are replaced here, because only here the limits are known:
    a payload is searched before it is cut, so that no half of a key stays behind at the cut.
    """

    def __init__(self, start: TurnStart, account: Account) -> None:
        self.start = start
        self.workspace: str | None = None
        self.git_branch: str | None = None
        self.agent_version: str | None = None
        self.interrupted = False
        self._account = account
        self._byte_end = start.byte_start
        self._line_end = start.line_start
        self._first_ms: int | None = None
        self.last_ms: int | None = None
        self._redactions: dict[str, int] = {}
        self._replies: dict[str, list[_Section]] = {}
        self._calls: dict[str, _Section] = {}
        self._head: list[_Section] = []
        self._head_chars = 0
        self._tail: deque[_Section] = deque()
        self._tail_chars = 0
        self._gap_chars = 0
        self._sections = 0

    def saw(self, byte_end: int, line: int, at_ms: int | None) -> None:
        """A record that belongs to the turn ended here."""
        self._byte_end, self._line_end = byte_end, line
        if at_ms is not None:
            self._first_ms = at_ms if self._first_ms is None else self._first_ms
            self.last_ms = at_ms if self.last_ms is None else max(self.last_ms, at_ms)

    @property
    def has_user_text(self) -> bool:
        return any(s.role == "user" and s.chars for s in (*self._head, *self._tail))

    @property
    def has_reply(self) -> bool:
        return any(s.role == "assistant" and s.chars for s in (*self._head, *self._tail))

    def add_user(self, text: str, *, in_contract: bool = True) -> None:
        """Words of the user. `in_contract=False`: words that the contract does not know, typed during the
        turn."""
        section = self._append("user")
        section.in_contract = in_contract
        self._put(section, text)

    def add_reply(self, message_id: str, text: str) -> bool:
        """Words of the assistant. Pieces of one message are joined; False when the piece brought nothing new.

        A message may be recorded in pieces, one per record, or again and again as it grows.
        """
        text, beyond = text[:_TEXT_WINDOW], max(0, len(text) - _TEXT_WINDOW)
        sections = self._replies.setdefault(message_id, [])
        for section in sections:
            for number, part in enumerate(section.parts):
                if part.startswith(text):
                    return False
                if text.startswith(part):
                    section.parts[number] = text
                    section.chars_beyond = beyond
                    self._grow(section, len(text) - len(part))
                    return True
        latest = self._tail[-1] if self._tail else self._head[-1] if self._head else None
        section = sections[-1] if sections and sections[-1] is latest else self._append("assistant")
        if not sections or sections[-1] is not section:
            sections.append(section)
        self._put(section, text, beyond)
        return True

    def add_call(self, call_id: str, name: str, payload: str, at_ms: int | None) -> bool:
        """A tool was used. A call that is recorded again keeps the longer input; False when it brought
        nothing."""
        section = self._calls.get(call_id) if call_id else None
        known = section.call if section is not None else None
        if known is not None and len(payload) <= len(known.input):
            return False
        kept, secrets = self._payload(payload)
        if section is None or known is None:
            section = self._append("tool")
            section.call = ToolCall(call_id, self.label(name) or "unknown", kept, "", False, at_ms)
            if call_id:
                self._calls[call_id] = section
        else:
            section.call = replace(known, input=kept)
        section.found["input"] = secrets
        self._grow(section, len(kept) - (len(known.input) if known else 0))
        return True

    def call_name(self, call_id: str) -> str | None:
        """The name of the tool that this call used; None when the turn has no such call."""
        section = self._calls.get(call_id)
        return section.call.name if section is not None and section.call is not None else None

    def add_result(self, call_id: str, output: str, *, is_error: bool = False) -> bool:
        """A tool answered. False when the call is unknown or has its answer."""
        section = self._calls.get(call_id)
        if section is None or section.call is None or section.call.output:
            return False
        kept, section.found["output"] = self._payload(output)
        section.call = replace(section.call, output=kept, is_error=is_error)
        self._grow(section, len(kept))
        return True

    def label(self, value: object, limit_chars: int = LABEL_CHARS) -> str | None:
        """A short text out of a record (a name, a branch, a path), cleaned and redacted; None when there is
        none."""
        if not isinstance(value, str) or not value:
            return None
        result = redact(clean(value[:limit_chars]).text)
        _add(self._redactions, result.counts)
        return result.text or None

    def close(self, fallback_ms: int) -> ImportedTurn:
        """The turn as it stands; `fallback_ms` is its time when none of its records had one."""
        start = self.start
        sections = [(s, text) for s in (*self._head, *self._tail) if (text := self._text_of(s))]
        rendered: list[tuple[Role, str]] = [(s.role, text) for s, text in sections]
        contract = [(s.role, text) for s, text in sections if s.in_contract and s.role != "tool"]
        if self._gap_chars:
            gap_at = sum(1 for s, _ in sections if s.order < self._tail[0].order)
            rendered.insert(gap_at, ("assistant", f"[truncated:{self._gap_chars} chars]"))
        user_text = "\n\n".join(text for role, text in rendered if role == "user")
        identity = turn_identity(start.source, start.conversation_id, start.first_message_id)
        started_ms = fallback_ms if self._first_ms is None else self._first_ms
        _add(self._account.redactions, self._redactions)
        return ImportedTurn(
            source=start.source,
            turn_id=make_turn_id(start.source, start.conversation_id, start.first_message_id),
            conversation_id=start.conversation_id,
            first_message_id=start.first_message_id,
            request_id=make_request_id(identity, start.created_ms or 0, render(contract)),
            title=make_title(user_text),
            user_text=user_text,
            assistant_text="\n\n".join(text for role, text in rendered if role == "assistant"),
            text=render(rendered),
            tool_calls=tuple(s.call for s, _ in sections if s.call is not None),
            complete=self.has_user_text and self.has_reply,
            started_ms=started_ms,
            ended_ms=started_ms if self.last_ms is None else self.last_ms,
            workspace=self.workspace,
            git_branch=self.git_branch,
            agent_version=self.agent_version,
            sidechain=start.sidechain,
            file=start.file,
            byte_start=start.byte_start,
            byte_end=self._byte_end,
            line_start=start.line_start,
            line_end=self._line_end,
            redactions=sum(self._redactions.values()),
            messages=sum(1 for s, _ in sections if s.role != "tool"),
            interrupted=self.interrupted,
            agent_id=start.agent_id,
        )

    # --- bounded storage: the first half of the budget is kept for good, the second half holds what came last

    def _append(self, role: Role) -> _Section:
        self._sections += 1
        section = _Section(role, self._sections)
        room = self._head_chars < TURN_CHARS // 2 and len(self._head) < TURN_SECTIONS // 2
        (self._head if room and not self._tail else self._tail).append(section)
        return section

    def _put(self, section: _Section, text: str, beyond: int = 0) -> None:
        room = max(0, _TEXT_WINDOW - section.chars)
        section.chars_beyond += beyond + max(0, len(text) - room)
        if room:
            section.parts.append(text[:room])
            self._grow(section, len(text[:room]))

    def _grow(self, section: _Section, chars: int) -> None:
        section.chars += chars
        if not self._tail or section.order < self._tail[0].order:
            self._head_chars += chars
            return
        self._tail_chars += chars
        while len(self._tail) > 1 and (self._tail_chars > TURN_CHARS // 2 or len(self._tail) > TURN_SECTIONS // 2):
            self._give_up(self._tail.popleft())

    def _give_up(self, section: _Section) -> None:
        self._tail_chars -= section.chars
        self._gap_chars += section.chars
        section.parts.clear()
        if section.call is None:
            self._account.drop("message beyond the limit of a turn")
            return
        self._account.drop("tool call beyond the limit of a turn")
        self._calls.pop(section.call.id, None)

    # --- text as it may be stored

    def _text_of(self, section: _Section) -> str:
        if section.call is not None:
            for secrets in section.found.values():
                _add(self._redactions, secrets)
            return render_tool(section.call)
        result = redact("\n".join(section.parts))
        _add(self._redactions, result.counts)
        kept = cut(result.text, TEXT_CHARS, section.chars_beyond)
        if kept != result.text:
            self._account.drop("end of a message beyond the limit")
        return kept.strip()

    def _payload(self, payload: str) -> tuple[str, dict[str, int]]:
        window = TOOL_PAYLOAD_CHARS + _LOOKAHEAD_CHARS
        result = redact(payload[:window])
        kept = cut(result.text, TOOL_PAYLOAD_CHARS, max(0, len(payload) - window))
        if kept != result.text:
            self._account.drop("end of a tool payload beyond the limit")
        return kept, result.counts
