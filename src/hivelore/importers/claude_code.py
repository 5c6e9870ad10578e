"""Reading Claude Code transcripts: which files there are, and the turns in one of them.

Claude Code appends one JSON object per line to `projects/<folder>/<session>.jsonl`, and for each sub-agent to
an `agent-<id>.jsonl` beside it or below it. The file is a log of an interface, not of a conversation: what
the user typed stands among tool results, notices that the program wrote in the user's name, snapshots and
summaries. This module finds the conversation in it. What counts as what is described for readers in
docs/importing.md.

Nothing here is stored and nothing is written; reading a file needs memory for one line and one turn.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from hivelore.core.fence import strip_recalled
from hivelore.core.text import clean
from hivelore.importers.jsonl import (
    BUFFER_BYTES,
    MAX_LINE_BYTES,
    Line,
    ResumePoint,
    anchor_before,
    find_jsonl,
    id_hash,
    parse,
    read_lines,
    record_ids_before,
)
from hivelore.importers.model import (
    LABEL_CHARS,
    PATH_CHARS,
    Account,
    ImportedTurn,
    TurnBuilder,
    TurnStart,
    read_time_ms,
)

SOURCE = "claude_code"

RECALL_TOOLS = ("recall", "load_session", "list_memories", "get_memory")
RECALL_PLACEHOLDER = "[recalled from hivelore, not stored again]"

Record = dict[str, Any]


# --- files --------------------------------------------------------------------------------------------------

# Copies of the main conversation that Claude Code makes to summarise it or to guess the next prompt.
_HELPER_COPIES = ("agent-acompact", "agent-aprompt_suggestion")


def find_files(root: Path, account: Account | None = None) -> list[Path]:
    """Every transcript below `root`, at all levels, sorted; `account` counts what is passed over.

    `root` is the Claude Code folder (then only its `projects` are looked at), any other folder, or one file,
    which is taken as it is. Raises `NotFound` when there is nothing at that path.
    """
    projects = root / "projects"
    return find_jsonl(projects if projects.is_dir() else root, account or Account(), _HELPER_COPIES)


def is_agent_file(path: Path) -> bool:
    """Whether a transcript is that of a sub-agent: named `agent-…`, or kept in a folder `subagents`."""
    return path.name.startswith("agent-") or "subagents" in path.parts[:-1]


# --- reading one file ---------------------------------------------------------------------------------------


def read_file(
    path: Path, start_at: ResumePoint | None = None, *, max_line_bytes: int = MAX_LINE_BYTES
) -> TranscriptReading:
    """Read the turns of one transcript, from its beginning or from where an earlier reading ended."""
    return TranscriptReading(path, start_at or ResumePoint(), max_line_bytes)


class TranscriptReading:
    """The turns of one file, one after another.

    After each turn `resume_point` says where the next reading has to begin once everything up to and
    including this turn is stored; `account` counts what was read so far. The last turn of a file may still
    grow: it is yielded, complete or not, and `resume_point` stays at its beginning, so that the next reading
    yields it again as it is then, under the same turn id. A turn in the middle that has no reply or no words
    of a user is counted and not yielded.

    A file that cannot be opened or breaks off while it is read is counted in `account.files_skipped`; what
    was yielded before is good. A file that has not changed since `start_at` yields nothing.
    """

    def __init__(self, path: Path, start_at: ResumePoint, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.path = path
        self.account = Account(files=1)
        self.resume_point = start_at
        self._max_line_bytes = max_line_bytes
        self._agent_file = is_agent_file(path)
        self._agent_id = path.stem.removeprefix("agent-") if path.name.startswith("agent-") else None
        self._name = clean(str(path)).text
        self._folder_workspace = _workspace_of_folder(path)
        self._seen: set[int] = set()
        self._open: TurnBuilder | None = None
        self._closed: list[ImportedTurn] = []
        self._command: tuple[Line, Record] | None = None
        self._last_ms = start_at.last_ms
        self._mtime_ms = 0
        self._turns = self._read()

    def __iter__(self) -> Iterator[ImportedTurn]:
        return self

    def __next__(self) -> ImportedTurn:
        return next(self._turns)

    def __enter__(self) -> TranscriptReading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading and close the file; `resume_point` stays where it was after the last turn."""
        self._turns.close()

    def _read(self) -> Generator[ImportedTurn]:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):  # opening a pipe would wait for its writer
                self.account.skip_file("not a regular file")
                return
            with self.path.open("rb", buffering=BUFFER_BYTES) as stream:
                yield from self._read_stream(stream)
        except FileNotFoundError:
            self.account.skip_file("file is gone")
        except OSError:
            self.account.skip_file("file cannot be read")

    def _read_stream(self, stream: BinaryIO) -> Iterator[ImportedTurn]:
        status = os.fstat(stream.fileno())
        self._mtime_ms = status.st_mtime_ns // 1_000_000
        begin = self.resume_point
        if (begin.size, begin.mtime_ns) == (status.st_size, status.st_mtime_ns):
            self.account.files_unchanged += 1
            return
        if begin.offset > status.st_size or anchor_before(stream, begin.offset) != begin.anchor:
            self.account.files_restarted += 1
            begin = ResumePoint()
            self._last_ms = None
        self.resume_point = replace(begin, size=-1, mtime_ns=-1)
        self._seen = record_ids_before(stream, begin.offset)
        size = begin.offset
        for line in read_lines(stream, begin.offset, begin.line, self._max_line_bytes):
            size = line.end
            self.account.bytes_read += line.end - line.start
            running = self._open
            self._take(line)
            # A line that is still being written may become something else: what it began is not final.
            if self._open is not None and self._open is not running and line.state == "whole":
                self._move_on(stream, self._open.start)
            yield from self._hand_over()
        self.resume_point = replace(self.resume_point, size=size, mtime_ns=status.st_mtime_ns)
        if self._open is not None:
            self._closed.append(self._counted(self._open))
            self._open = None
        yield from self._hand_over()

    def _move_on(self, stream: BinaryIO, start: TurnStart) -> None:
        anchor = anchor_before(stream, start.byte_start)
        self.resume_point = ResumePoint(start.byte_start, start.line_start - 1, self._last_ms, anchor)

    def _hand_over(self) -> Iterator[ImportedTurn]:
        while self._closed:
            yield self._closed.pop(0)

    # --- one line

    def _take(self, line: Line) -> None:
        self.account.lines += 1
        if line.state == "too_long":
            self.account.skip_line("longer than the limit for a line")
            return
        if not line.data.strip(b" \t\r\n\0"):
            self.account.skip_line("blank")
            return
        parsed = parse(line.data)
        if parsed.record is None:
            if line.state == "unfinished":
                self.account.skip_line("unfinished last line")
            else:
                self.account.bad_lines += 1
            return
        for repair in parsed.repairs:
            self.account.repair(repair)
        reason = self._take_record(line, parsed.record)
        if reason is None:
            self.account.lines_kept += 1
        else:
            self.account.skip_line(reason)

    def _take_record(self, line: Line, record: Record) -> str | None:
        """Put a record where it belongs; the reason when it belongs nowhere."""
        kind = record.get("type")
        if kind not in ("user", "assistant", "attachment"):
            return _OTHER_RECORDS.get(kind, "unknown type") if isinstance(kind, str) else "unknown type"
        if self._seen_before(record):
            return "repeated record"
        if record.get("isSidechain") is True and not self._agent_file:
            return "sidechain"
        if kind == "attachment":
            return self._take_attachment(line, record)
        message = record.get("message")
        if not isinstance(message, dict):
            return "empty"
        if kind == "assistant":
            return self._take_assistant(line, record, message)
        return self._take_user(line, record, _blocks(message.get("content")))

    def _seen_before(self, record: Record) -> bool:
        record_id = record.get("uuid")
        if not isinstance(record_id, str) or not record_id:
            return False
        hashed = id_hash(record_id)
        if hashed in self._seen:
            return True
        self._seen.add(hashed)
        return False

    # --- what the user, or the program in the user's name, said

    def _take_user(self, line: Line, record: Record, blocks: list[Record]) -> str | None:
        if record.get("isMeta") is True:
            return self._take_meta(line, record, blocks)
        if record.get("isCompactSummary") is True or record.get("isVisibleInTranscriptOnly") is True:
            return "compact summary"
        if _origin(record) in _NOT_THE_USER and not self._agent_file:
            return "notice"
        results = [block for block in blocks if _is_result(block)]
        others = [block for block in blocks if not _is_result(block)]
        reason = self._take_results(line, record, results) if results else None
        words, interrupted = self._user_words(others)
        if words:
            return self._take_words(line, record, words)
        if interrupted:
            return self._take_interruption(line, record)
        if results:
            return reason
        return self._take_empty(line, record, others)

    def _take_words(self, line: Line, record: Record, words: str) -> str | None:
        if words.startswith(_COMPACT_SUMMARY):
            return "compact summary"
        if self._agent_file and words == "Warmup":
            return "warm-up of a sub-agent"
        self._begin(line, record).add_user(words)
        self._belongs(line, record)
        return None

    def _take_interruption(self, line: Line, record: Record) -> str | None:
        if self._open is None:
            return "interruption"
        self._open.interrupted = True
        self._belongs(line, record)
        return None

    def _take_empty(self, line: Line, record: Record, blocks: list[Record]) -> str:
        raw = "\n".join(_text(block) for block in blocks)
        if not raw.strip():
            return "empty"
        self._command = (line, record) if "<command-name>" in raw else None
        return "envelope"

    def _take_meta(self, line: Line, record: Record, blocks: list[Record]) -> str:
        """A record that the program wrote. After a slash command it is the prompt behind the command.

        What follows is then the answer to the command and must not be taken for an answer to the request
        before it: it becomes a turn without words of the user.
        """
        if self._command is not None and self._user_words(blocks, count=False)[0]:
            command_line, command_record = self._command
            self._begin(command_line, command_record)
            self._belongs(command_line, command_record)
        elif any("<command-name>" in _text(block) for block in blocks):
            self._command = (line, record)
        return "meta"

    def _take_attachment(self, line: Line, record: Record) -> str | None:
        """Of what the program attaches, one kind is the user's: words typed while the agent was at work."""
        attachment = record.get("attachment")
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return "attachment"
        if (
            attachment.get("isMeta") is True
            or attachment.get("commandMode", "prompt") != "prompt"
            or _origin(attachment) in _NOT_THE_USER
        ):
            return "notice"
        words, _ = self._user_words(_blocks(attachment.get("prompt")))
        if not words:
            return "envelope"
        source_id = attachment.get("source_uuid")
        if isinstance(source_id, str):
            self._seen.add(id_hash(source_id))  # the record that it would have become had it waited
        if self._open is None:
            self._begin(line, record).add_user(words)
        else:
            self._open.add_user(words, in_contract=False)
        self._belongs(line, record)
        return None

    def _user_words(self, blocks: list[Record], *, count: bool = True) -> tuple[str, bool]:
        """What is left of a user record as the user's own words, and whether it reports an interruption."""
        kept: list[str] = []
        interrupted = False
        for block in blocks:
            text = self._clean(_text(block), count=count)
            if text.strip() in _INTERRUPTIONS:
                interrupted = True
                continue
            text, recalled = strip_recalled(text, cut_open=True)
            text, reminders = _strip_notices(text)
            if count:
                self.account.drop("recalled memory", recalled)
                self.account.drop("notice inside a message", reminders)
            if text:
                kept.append(text)
        return "\n".join(kept).strip(), interrupted

    # --- what the assistant said and did

    def _take_assistant(self, line: Line, record: Record, message: Record) -> str | None:
        if record.get("isApiErrorMessage") is True:
            return "api error"
        if message.get("model") == "<synthetic>":
            return "synthetic reply"
        reply_id = message.get("id")
        if not isinstance(reply_id, str) or not reply_id:
            reply_id = f"line {line.number}"
        reason: str | None = "empty"
        for block in _blocks(message.get("content")):
            kind = str(block.get("type"))
            if "thinking" in kind:
                self.account.drop("thinking")
                reason = "thinking only" if reason == "empty" else reason
                continue
            if _is_result(block):  # of a tool that ran on the side of the model
                new = self._take_result(block, None)
            elif kind.endswith("tool_use"):
                new = self._turn_for(line, record).add_call(
                    self._clean(_string(block.get("id"))[:LABEL_CHARS]),
                    _string(block.get("name")),
                    self._clean(self._json(block.get("input"))),
                    read_time_ms(record.get("timestamp")),
                )
            else:
                text, recalled = strip_recalled(self._clean(_text(block)).strip())
                self.account.drop("recalled memory", recalled)
                if not text:
                    continue
                new = self._turn_for(line, record).add_reply(reply_id, text)
            reason = None if new or reason is None else "duplicate response id"
        if reason is None:
            self._belongs(line, record)
        return reason

    def _turn_for(self, line: Line, record: Record) -> TurnBuilder:
        """The running turn; a reply that comes before any request makes one without words of a user."""
        return self._open if self._open is not None else self._begin(line, record)

    def _take_results(self, line: Line, record: Record, results: list[Record]) -> str | None:
        extra = record.get("toolUseResult") if len(results) == 1 else None
        taken = [self._take_result(block, extra) for block in results]
        if not any(taken):
            return "tool result without its call"
        self.account.drop("tool result without its call", taken.count(False))
        self._belongs(line, record)
        return None

    def _take_result(self, block: Record, extra: object) -> bool:
        call_id = self._clean(_string(block.get("tool_use_id"))[:LABEL_CHARS])
        name = self._open.call_name(call_id) if self._open is not None else None
        if self._open is None or name is None:
            return False
        output = _result_text(block.get("content")) or _extra_text(extra)
        if _is_own_recall(name):
            self.account.drop("recalled memory")
            output = RECALL_PLACEHOLDER
        else:
            output, recalled = strip_recalled(self._clean(output))
            self.account.drop("recalled memory", recalled)
        return self._open.add_result(call_id, output.lstrip("\n").rstrip(), is_error=block.get("is_error") is True)

    # --- turns

    def _begin(self, line: Line, record: Record) -> TurnBuilder:
        """Close the running turn and begin the next at this record."""
        if self._open is not None:
            self._finish(self._open)
        self._command = None
        session = self._label(record.get("sessionId")) or self._label(self.path.stem) or "unknown"
        agent_id = self._agent_id or self._label(record.get("agentId")) if self._agent_file else None
        self._open = TurnBuilder(
            TurnStart(
                source=SOURCE,
                file=self._name,
                conversation_id=session,
                first_message_id=self._label(record.get("uuid")) or f"{session}:{line.number}",
                byte_start=line.start,
                line_start=line.number,
                created_ms=read_time_ms(record.get("timestamp")),
                sidechain=self._agent_file,
                agent_id=agent_id,
            ),
            self.account,
        )
        return self._open

    def _belongs(self, line: Line, record: Record) -> None:
        """Note that a record is part of the running turn, with what it tells about the surroundings."""
        turn = self._open
        if turn is None:
            return
        self._command = None
        turn.saw(line.end, line.number, read_time_ms(record.get("timestamp")))
        turn.workspace = turn.workspace or turn.label(record.get("cwd"), PATH_CHARS)
        turn.git_branch = turn.git_branch or turn.label(record.get("gitBranch"))
        turn.agent_version = turn.agent_version or turn.label(record.get("version"))

    def _finish(self, turn: TurnBuilder) -> None:
        """A turn that another one follows: it will not change any more."""
        if turn.has_user_text and turn.has_reply:
            self._closed.append(self._counted(turn))
            return
        self.account.turns_incomplete += 1
        self.account.skip_turn("no reply" if turn.has_user_text else "no words of a user")
        self._last_ms = turn.last_ms if turn.last_ms is not None else self._last_ms

    def _counted(self, turn: TurnBuilder) -> ImportedTurn:
        turn.workspace = turn.workspace or self._folder_workspace
        closed = turn.close(self._last_ms if self._last_ms is not None else self._mtime_ms)
        self._last_ms = turn.last_ms if turn.last_ms is not None else self._last_ms
        self.account.messages += closed.messages
        if closed.complete:
            self.account.turns_complete += 1
        else:
            self.account.turns_incomplete += 1
        return closed

    # --- text

    def _clean(self, text: str, *, count: bool = True) -> str:
        cleaned = clean(text)
        if count:
            self.account.repair("NUL characters removed", cleaned.nul_removed)
            self.account.repair("lone surrogates replaced", cleaned.surrogates_replaced)
        return cleaned.text

    def _json(self, value: object) -> str:
        """A tool's input as compact JSON; text stays text."""
        if value is None or isinstance(value, str):
            return value or ""
        try:
            written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if "\\u0000" in written:
                self.account.repair("NUL characters removed")
                written = json.dumps(_without_nul(value), ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            self.account.drop("tool input nested too deeply")
            return ""
        return _without_media_data(written)

    def _label(self, value: object) -> str:
        return clean(value[:LABEL_CHARS]).text if isinstance(value, str) else ""


# --- what a record holds ------------------------------------------------------------------------------------

_OTHER_RECORDS = {
    "summary": "summary",
    "system": "system",
    "file-history-snapshot": "snapshot",
    "file-history-delta": "snapshot",
    "progress": "progress",
    "queue-operation": "queue operation",
    "custom-title": "title",
    "ai-title": "title",
    "agent-name": "title",
    "last-prompt": "last prompt",
    "permission-mode": "mode",
    "mode": "mode",
}
_NOT_THE_USER = frozenset({"task-notification", "auto-continuation", "peer", "coordinator"})
_COMPACT_SUMMARY = "This session is being continued from a previous conversation"
_INTERRUPTIONS = frozenset({"[Request interrupted by user]", "[Request interrupted by user for tool use]"})


def _origin(record: Record) -> str | None:
    """Who wrote a record in the user's name, where newer versions say so; None also for the user."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind if isinstance(kind, str) else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _blocks(content: object) -> list[Record]:
    """The content of a message as blocks, whether it was text, a list of blocks or a list with texts in
    it."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [
        block if isinstance(block, dict) else {"type": "text", "text": block}
        for block in content
        if isinstance(block, dict | str)
    ]


def _is_result(block: Record) -> bool:
    return str(block.get("type")).endswith("tool_result")


def _text(block: Record) -> str:
    """The words of a block, or a short mark for what has none."""
    kind = block.get("type")
    if kind == "text":
        return _without_media_data(_string(block.get("text")))
    if kind in ("image", "document"):
        return f"[{kind}]"
    if kind == "web_search_result":
        return f"{_string(block.get('title'))} {_string(block.get('url'))}".strip()
    if kind == "tool_reference":
        return _string(block.get("tool_name"))
    return ""


_MEDIA_DATA = re.compile(r"(data:(?:image|audio|video|font)/[\w.+\-]{1,60};base64,)[A-Za-z0-9+/=\-_]{64,}")


def _without_media_data(text: str) -> str:
    """Pictures written into text as data URLs, each as its beginning and a mark."""
    return _MEDIA_DATA.sub(r"\1[image]", text) if ";base64," in text else text


def _result_text(content: object) -> str:
    return "\n".join(text for block in _blocks(content) if (text := _text(block)))


def _extra_text(extra: object) -> str:
    """The output that Claude Code keeps beside a result, for results that have no content of their own."""
    if isinstance(extra, str):
        return extra
    if isinstance(extra, dict):
        texts = (extra.get(key) for key in ("stdout", "stderr", "content", "result", "error"))
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    return ""


def _without_nul(value: Any) -> Any:
    """JSON text would keep a NUL as an escape, on which a JSON column fails later."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    return value


def _is_own_recall(tool: str) -> bool:
    """Whether a tool reads from hivelore: `mcp__<server>__<tool>`, the server's name containing ours."""
    server, found, name = tool.rpartition("__")
    return bool(found) and server.startswith("mcp__") and "hivelore" in server.lower() and name.endswith(RECALL_TOOLS)


# What the program writes into a message of the user. These open a line; a reminder may stand anywhere.
_ENVELOPES = (
    "command-name|command-message|command-contents|local-command-stdout|local-command-stderr|local-command-caveat"
    "|bash-input|bash-stdout|bash-stderr|user-prompt-submit-hook|session-start-hook|task-notification"
    "|ide_opened_file|ide_selection|ide_diagnostics|new-diagnostics"
)
_NOTICE_TAG = re.compile(rf"<(/?)(system-reminder|{_ENVELOPES})(?:\s[^<>]{{0,500}})?>")
_WRAPPER_TAG = re.compile(r"</?(?:command-args|user-memory-input|pasted_content)(?:\s[^<>]{0,200})?>")
_CAVEAT = re.compile(r"\s*Caveat: The messages below were generated by the user while running local commands\.[^\n]*")


def _strip_notices(text: str) -> tuple[str, int]:
    """The text without what the program added to it, and how many pieces that were.

    Tags around words of the user go and the words stay: arguments of a command, a pasted text, a note to
    remember.
    """
    caveat = _CAVEAT.match(text)
    text = text[caveat.end() :] if caveat else text
    kept: list[str] = []
    cursor = number = 0
    tags = list(_NOTICE_TAG.finditer(text))
    last_close = {tag[2]: at for at, tag in enumerate(tags) if tag[1]}
    while number < len(tags):
        tag, number = tags[number], number + 1
        closes_later = last_close.get(tag[2], -1) >= number
        if tag[1] or not closes_later or not _may_be_notice(text, tag, cursor if kept else 0):
            continue
        while not (tags[number][1] and tags[number][2] == tag[2]):
            number += 1
        kept.append(text[cursor : tag.start()])
        cursor = tags[number].end()
        number += 1
    text = "".join((*kept, text[cursor:]))
    return _WRAPPER_TAG.sub("", text).strip(), len(kept) + bool(caveat)


def _may_be_notice(text: str, tag: re.Match[str], after: int) -> bool:
    """A reminder may stand anywhere; other notices open a line or follow another one, which ended at
    `after`."""
    if tag[2] == "system-reminder":
        return True
    line = text[max(after, tag.start() - 200) : tag.start()]
    return not line.rpartition("\n")[2].strip() and ("\n" in line or tag.start() - len(line) == after)


def _workspace_of_folder(path: Path) -> str | None:
    """The working folder that the name of a project folder stands for: `-srv-shop` is `/srv/shop`.

    The name cannot tell a hyphen from a slash; it is used only where no record names the folder.
    """
    parents = path.parts[:-1]
    at = max((number for number, part in enumerate(parents) if part == "projects"), default=-1)
    folder = parents[at + 1] if 0 <= at < len(parents) - 1 else path.parent.name
    return folder.replace("-", "/") if folder.startswith("-") and len(folder) > 1 else None
