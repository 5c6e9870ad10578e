"""BEAM: long chats with an assistant, one folder each (`chat.json`, `probing_questions.json`); every message a memory.

The class `abstention` asks for what is not there and has no evidence, so it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.sets.reading import as_kind, check_set, counted, date_ms, need, read_json

CHAT, QUESTIONS = "chat.json", "probing_questions.json"


def chats(folder: Path) -> list[Path]:
    """The folders of chats in or under this one, in order of their numbers."""
    if (folder / CHAT).is_file() and (folder / QUESTIONS).is_file():
        return [folder]
    found = [each.parent for each in folder.glob(f"*/{CHAT}") if (each.parent / QUESTIONS).is_file()]
    return sorted(found, key=lambda each: (len(each.name), each.name))


def load(folder: Path, name: str) -> list[EvalSet]:
    """One set of all chats of a folder."""
    documents: list[Document] = []
    questions: list[Question] = []
    left_out: list[str] = []
    for chat in chats(folder):
        messages = list(_messages(chat))
        documents += messages
        known = {message.id for message in messages}
        for kind, asked in as_kind(read_json(chat / QUESTIONS), dict, str(chat / QUESTIONS)).items():
            for index, each in enumerate(as_kind(asked, list, f"{kind!r} in {chat / QUESTIONS}")):
                where = f"{chat / QUESTIONS}, {kind} {index}"
                evidence = frozenset(_ids(as_kind(each, dict, where).get("source_chat_ids"))) & known
                if kind == "abstention" or not evidence:
                    left_out.append("abstention" if kind == "abstention" else "evidence is not among the messages")
                    continue
                text = need(each, "question", str, where)
                id = f"{chat.name}/{kind}/{index}"
                questions.append(Question(id, chat.name, text, kind, {"message": evidence}))
    check_set(folder, documents, questions)
    return [EvalSet(name, Corpus(name, tuple(documents)), tuple(questions), ("message",), counted(left_out))]


def _messages(chat: Path) -> Iterator[Document]:
    """Messages in order. A date is named once, at the message that it begins with, and holds until the next."""
    path = chat / CHAT
    happened_ms: int | None = None
    for number, batch in enumerate(as_kind(read_json(path), list, str(path))):
        where = f"{path}, batch {number}"
        for turn in need(as_kind(batch, dict, where), "turns", list, where):
            for message in as_kind(turn, list, f"a turn in {where}"):
                id = str(need(as_kind(message, dict, where), "id", int, where))
                anchor = message.get("time_anchor")
                if isinstance(anchor, str):
                    happened_ms = date_ms(anchor, "%B-%d-%Y") or happened_ms
                text = need(message, "content", str, where)
                yield Document(id, chat.name, text, {"message": id}, event_ms=happened_ms)


def _ids(value: Any) -> Iterator[str]:
    """Evidence is a list of message ids, or such lists under names."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _ids(each)
    elif isinstance(value, int):
        yield str(value)
