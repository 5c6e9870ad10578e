"""Running an import: read files, store their turns in small transactions, keep the account.

Rows come first and vectors follow in the background, so an import never waits for the model and never holds the
store for long. How far a file was read is stored with its turns: an import that is interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hivelore.base.identity.service import EVERYTHING, clean_namespace, resolve_scope
from hivelore.base.search import store as search
from hivelore.core.actor import Space, space_of
from hivelore.core.errors import Invalid, NotFound
from hivelore.core.text import clean
from hivelore.importers import claude_code
from hivelore.importers.claude_code import TranscriptReading
from hivelore.importers.jsonl import ResumePoint
from hivelore.importers.model import Account, ImportedTurn
from hivelore.rooms.transcripts import service as transcripts
from hivelore.rooms.transcripts.service import TurnDraft
from hivelore.work import Call, Work

BATCH_TURNS = 25
BATCH_CHARS = 400_000

Progress = Callable[[int, str], None]


@dataclass
class Report:
    """What an import did. `read` says what was read and left out, the rest what became of it."""

    source: str
    namespace: str
    stored: bool
    read: Account = field(default_factory=Account)
    turns_new: int = 0
    turns_grown: int = 0
    turns_known: int = 0
    turns_removed_before: int = 0
    still_to_embed: int = 0

    def count(self, recorded: list[transcripts.Recorded]) -> None:
        self.turns_new += recorded.count("new")
        self.turns_grown += recorded.count("grown")
        self.turns_known += recorded.count("known")
        self.turns_removed_before += recorded.count("removed")

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "read": self.read.as_dict()}


def import_claude_code(
    call: Call, root: Path, *, namespace: str | None = None, dry_run: bool = False, progress: Progress | None = None
) -> Report:
    """Import every transcript below `root`. Raises `NotFound` when there is none at that path or below it.

    `progress` is called with the bytes dealt with so far and the file at hand.
    """
    settings = call.hub.settings
    named = clean(namespace).text if namespace else None
    name = clean_namespace(named, settings.transcript_namespace, settings.max_name_chars)
    if name == EVERYTHING:
        raise Invalid("namespace '*' means everything readable; to import, name one namespace.", field="namespace")
    space = space_of(name, call.caller.id, frozenset(settings.shared_namespaces))
    report = Report(claude_code.SOURCE, name, not dry_run)
    files = _some_files(root, report.read)
    done_bytes = 0
    for path in files:
        if progress:
            progress(done_bytes, path.name)
        _import_file(call, space, path, report, dry_run)
        done_bytes += _size(path)
    if progress:
        progress(done_bytes, "")
    with call.read() as v:
        report.still_to_embed = search.pending_count(v, resolve_scope(call.caller.principal, settings, (name,)))
    return report


def total_bytes(root: Path) -> int:
    """How much an import of `root` would read. Raises `NotFound` like the import."""
    return sum(_size(path) for path in _some_files(root, Account()))


def _some_files(root: Path, account: Account) -> list[Path]:
    """The transcripts below `root`; that there is none is an error and not an import of nothing."""
    files = claude_code.find_files(root, account)
    if not files:
        passed_over = sum(account.files_skipped.values())
        raise NotFound(
            f"path: there is no transcript (*.jsonl) below it; {passed_over} other entries were passed over."
        )
    return files


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _import_file(call: Call, space: Space, path: Path, report: Report, dry_run: bool) -> None:
    place = str(path.resolve()).encode(errors="backslashreplace").decode()  # a name need not be text
    with call.read() as v:
        known = transcripts.read_position(v, claude_code.SOURCE, place)
    with claude_code.read_file(path, _resume_point(known)) as reading:
        for batch in _batches(reading):
            if not dry_run:
                with call.write() as w:
                    report.count(_store(w, space, batch))
                    known = asdict(reading.resume_point)
                    transcripts.note_read_position(w, claude_code.SOURCE, place, known)
        if not dry_run and known != asdict(reading.resume_point):  # lines behind the last turn were read, too
            with call.write() as w:
                transcripts.note_read_position(w, claude_code.SOURCE, place, asdict(reading.resume_point))
        report.read.add(reading.account)


def _resume_point(known: dict[str, Any] | None) -> ResumePoint | None:
    """A stored position; one that an older version wrote in another form means reading from the start."""
    try:
        return ResumePoint(**known) if known else None
    except TypeError:
        return None


def _batches(reading: TranscriptReading) -> Iterator[list[ImportedTurn]]:
    """Turns in batches that one short transaction can store."""
    batch: list[ImportedTurn] = []
    chars = 0
    for turn in reading:
        batch.append(turn)
        chars += len(turn.text)
        if len(batch) >= BATCH_TURNS or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _store(w: Work, space: Space, batch: list[ImportedTurn]) -> list[transcripts.Recorded]:
    """Record the complete turns; one that lacks its answer is read again when the file has grown."""
    return transcripts.record_turns(w, space, [draft_of(turn) for turn in batch if turn.complete])


def draft_of(turn: ImportedTurn) -> TurnDraft:
    """An imported turn as the transcripts room stores it."""
    return TurnDraft(
        source=turn.source,
        turn_id=turn.turn_id,
        conversation=turn.conversation_id,
        first_message=turn.first_message_id,
        title=turn.title,
        text=turn.text,
        complete=turn.complete,
        started_ms=turn.started_ms,
        ended_ms=turn.ended_ms,
        workspace=turn.workspace or "",
        tags=("agent-source", turn.source, *(("sidechain",) if turn.sidechain else ())),
        details={
            "file": turn.file,
            "bytes": [turn.byte_start, turn.byte_end],
            "lines": [turn.line_start, turn.line_end],
            "request_id": turn.request_id,
            "git_branch": turn.git_branch,
            "agent_version": turn.agent_version,
            "agent_id": turn.agent_id,
            "interrupted": turn.interrupted,
            "tools": sorted({each.name for each in turn.tool_calls}),
            "redactions": turn.redactions,
        },
    )
