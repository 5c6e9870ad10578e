"""The fence around recalled text: made on the way out, recognised on the way in, so that nothing is stored again."""

from __future__ import annotations

import re

# Our own fence and those of the systems whose clients we serve.
OWN = "hivelore_memory"
TAGS = (OWN, "memmy_memory_context", "memos_context", "memory_context")
_NAMES = "|".join(TAGS)
_FENCE = re.compile(rf"<(/?)(?:{_NAMES})(?:\s[^<>]{{0,2000}})?>", re.IGNORECASE)
_OPENS_A_TAG = re.compile(rf"<(?=[\s/]*(?:{_NAMES}|current_user_request))", re.IGNORECASE)
_NOT_A_LINE_END = re.compile(r"[^\n]")
_REQUEST_FRAME = re.compile(r"</?current_user_request(?:\s[^<>]{0,2000})?>", re.IGNORECASE)


def strip_recalled(text: str, *, cut_open: bool = False) -> tuple[str, int]:
    """Remove blocks of recalled memory, unwrap the user's request; return the text and how many blocks went.

    What was recalled must not be stored as something new. So a memory that contains a closing tag does not
    end its block early: everything up to the last closing tag before the next block goes. With `cut_open` a
    block that begins a line and was never closed (the host cut its context) goes to the end of the text.
    """
    if "<" not in text:
        return text, 0
    spans = _spans(text, cut_open)
    kept, cursor = [], 0
    for start, end in spans:
        kept.append(text[cursor:start])
        cursor = end
    without, frames = _REQUEST_FRAME.subn("", "".join((*kept, text[cursor:])))
    return (without.strip() if spans or frames else text), len(spans)


def blank_recalled(text: str) -> str:
    """The text with blanks in the place of recalled blocks, every other character where it was.

    What is kept to the letter, a saved session, keeps the blocks; what is searched of it must not.
    """
    if "<" not in text:
        return text
    kept, cursor = [], 0
    for start, end in _spans(text, cut_open=False):
        kept += [text[cursor:start], _NOT_A_LINE_END.sub(" ", text[start:end])]
        cursor = end
    return "".join((*kept, text[cursor:]))


def fenced(text: str, note: str) -> str:
    """Recalled text as a block to put into a prompt, with one line that says what it is.

    Nothing inside can end the block: a `<` that would begin a tag of ours, or of a user's request, is written `&lt;`.
    """
    inside = _OPENS_A_TAG.sub("&lt;", text).strip("\n")
    return f"<{OWN}>\n{_OPENS_A_TAG.sub('&lt;', note)}\n{inside}\n</{OWN}>"


def _spans(text: str, cut_open: bool) -> list[list[int]]:
    """Where recalled blocks stand, from their first to behind their last character."""
    spans: list[list[int]] = []
    opened: list[int] = []
    for tag in _FENCE.finditer(text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            # Somebody may write about the tag before the real block: it begins where a tag opens a line.
            spans.append([next((at for at in opened if _opens_line(text, at)), opened[0]), tag.end()])
            opened.clear()
        elif spans:
            spans[-1][1] = tag.end()
    left_open = next((at for at in opened if _opens_line(text, at)), None) if cut_open else None
    if left_open is not None:
        spans.append([left_open, len(text)])
    return spans


def _opens_line(text: str, at: int) -> bool:
    # A window keeps a line of a million tags from being looked at a million times.
    return not text[max(0, at - 200) : at].rpartition("\n")[2].strip()
