"""Which hits say the same, and which say it anew with another value. Pure functions over the best hits' texts.

Two texts are copies when they have the same words in the same order, case, punctuation and articles aside. They are
versions of one statement when subject and verb are the same and one value behind the verb differs: a number, or, when
the newer one says "now" or the like, a word. Anything else stays apart: "server 1 listens on port 8080" and "server 2
listens on port 9090" have different subjects. A version is newer when it happened later and was stored later; when the
two disagree, nothing is said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hivelore.core.text import UNSPACED

NEIGHBOURHOOD = 24  # the best hits, whose texts are compared; fixed, so that no page changes another
STATEMENT_CHARS = 240  # a longer text says more than one thing
LEAST_WORDS = 3  # fewer are hardly a fact that could be told twice
LENGTH_SLACK = 16  # characters by which copies may differ in blanks, punctuation and articles
VALUE_WORDS = 3  # a longer difference is another statement
VERBATIM = frozenset({"session", "turn"})  # records of what was said: every one stands for itself
CURRENT = "active"


class Seen(NamedTuple):
    """A hit as it is compared: `unit` tells its piece, `whole` whether the piece is a whole memory."""

    unit: tuple[str, str]
    ref: str
    kind: str
    status: str
    event_ms: int
    chunk: int
    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Arranged:
    """Places of the hits in their new order; what was folded into a hit; which hit is an older version of which."""

    order: tuple[int, ...]
    copies: Mapping[int, tuple[int, ...]]
    older: Mapping[int, int]


def arranged(seen: Sequence[Seen], corrections: Mapping[str, str] = {}) -> Arranged:
    """Fold copies into the best of them, and put the newest version where the best of its versions stood.

    `corrections` names, for memories that their authors superseded, the memory that took their place.
    """
    groups = _beginnings(seen)
    copies = _copies(seen, groups)
    gone = {each for folded in copies.values() for each in folded}
    kept = [at for at in range(len(seen)) if at not in gone]
    older = _older_versions(seen, [[at for at in group if at not in gone] for group in groups])
    by_ref = {seen[at].ref: at for at in kept}
    corrected = {by_ref[old]: by_ref[new] for old, new in corrections.items() if old in by_ref and new in by_ref}
    order = _newest_first(_newest_first(kept, older), corrected)
    return Arranged(tuple(order), copies, older)


def _newest_first(order: Sequence[int], newer_of: Mapping[int, int]) -> list[int]:
    """The same places with each newest version before its older ones; nothing else moves."""
    families: dict[int, list[int]] = defaultdict(list)
    for old, new in newer_of.items():
        families[new].append(old)
    moved = list(order)
    for new, olds in families.items():
        spots = sorted(moved.index(each) for each in (new, *olds))
        members = [new, *sorted(olds, key=moved.index)]
        for spot, member in zip(spots, members, strict=True):
            moved[spot] = member
    return moved


# -- copies ------------------------------------------------------------------------------------------------------------

_SIGN = r"[^\w\s.,;:!\"'()\[\]。、，！：；（）「」『』]"  # tells texts apart as a word does: -5 and 5, ✅ and ❌
_WORD = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+(?:[-_.:,/'’+#@][^\W_{UNSPACED}]+)*[%+#]*|{_SIGN}")
_ASCII_WORD = re.compile(rf"[a-z0-9]+(?:[-_.:,/'+#@][a-z0-9]+)*[%+#]*|{_SIGN}")
_ARTICLES = frozenset("a an the der die das ein eine le la les un une el los las una".split())
_EDGES = ".,;:!?\"'()[]"
_BEGINNING_CHARS = 64


def _beginnings(seen: Sequence[Seen]) -> list[list[int]]:
    """Places of hits that may be copies or versions of each other, because they begin alike.

    This is what keeps the comparison cheap: nearly all hits begin like no other and are looked at no further.
    """
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, each in enumerate(seen):
        if each.whole and each.kind not in VERBATIM:
            groups[each.unit[0], each.kind, *_beginning(each.text)].append(at)
    return [group for group in groups.values() if len(group) > 1]


def _beginning(text: str) -> list[str]:
    """The first three words of the subject without numbers; of a word in an unspaced script, the first two
    characters."""
    found: list[str] = []
    for word in text[:_BEGINNING_CHARS].casefold().split():
        bare = word.strip(_EDGES)
        if bare in _SKIPPED or bare[:1].isdigit():
            continue
        if bare in _STOPPING:
            break
        if not bare.isascii():
            found.append(bare[:2])
            if max(bare) >= "\u2e80":
                break
        elif bare:
            found.append(bare)
        if len(found) == 3:
            break
    return found


def _words(text: str) -> list[str]:
    """The words of a text in lower case, without articles."""
    lower = text.casefold()
    return [word for word in (_ASCII_WORD if lower.isascii() else _WORD).findall(lower) if word not in _ARTICLES]


def _copies(seen: Sequence[Seen], groups: Sequence[Sequence[int]]) -> dict[int, tuple[int, ...]]:
    copies: dict[int, tuple[int, ...]] = {}
    for group in groups:
        alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in group:
            if any(abs(len(seen[at].text) - len(seen[other].text)) <= LENGTH_SLACK for other in group if other != at):
                words = tuple(_words(seen[at].text))
                if len(words) >= LEAST_WORDS or sum(map(len, words)) >= 2 * LEAST_WORDS:
                    alike[seen[at].status, *words].append(at)
        copies |= {same[0]: tuple(same[1:]) for same in alike.values() if len(same) > 1}
    return copies


# -- versions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """A short text taken apart: what it is about with its verb, the words behind, and whether it says that something
    is so now, or that it is so too."""

    about: tuple[str, ...]
    rest: tuple[str, ...]
    now: bool
    more: bool


def _older_versions(seen: Sequence[Seen], groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """For each older version, the newest version of its statement."""
    older: dict[int, int] = {}
    for group in groups:
        short = [at for at in group if seen[at].status == CURRENT and len(seen[at].text) <= STATEMENT_CHARS]
        numbered = [at for at in short if _has_digit(seen[at].text)]
        renewed = any(_NOW_SAID.search(seen[at].text) for at in short)
        families: dict[tuple[str, ...], list[tuple[int, Statement]]] = defaultdict(list)
        for at in short if renewed else numbered if len(numbered) > 1 else ():
            said = statement(seen[at].text)
            if said is not None:
                families[said.about].append((at, said))
        for family in families.values():
            newest, latest = max(family, key=lambda member: (seen[member[0]].event_ms, seen[member[0]].chunk))
            for at, said in family:
                later = seen[newest].event_ms > seen[at].event_ms and seen[newest].chunk > seen[at].chunk
                if later and _another_value(said, latest):
                    older[at] = newest
    return older


def _another_value(old: Statement, new: Statement) -> bool:
    """Whether two statements about the same differ in one value and nothing else."""
    left, right = list(old.rest), list(new.rest)
    start = 0
    while left and right and left[0] == right[0]:
        del left[0], right[0]
        start += 1
    while left and right and left[-1] == right[-1]:
        del left[-1], right[-1]
    if not left or not right or max(len(left), len(right)) > VALUE_WORDS:
        return False
    if [_VALUE.sub("#", word) for word in left] == [_VALUE.sub("#", word) for word in right]:
        return start <= VALUE_WORDS and sum(map(_has_digit, left)) == 1
    return new.now and not new.more and start == 0 and not any(map(_has_digit, (*left, *right)))


_VALUE = re.compile(r"\d+(?:[.,:/-]\d+)*")


_DIGIT = re.compile(r"\d")


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


# Verbs that say how something is. Those of one line mean the same; the others stand for themselves.
_IS = frozenset(
    """is are equals = ist sind beträgt est sont es son является составляет равен равна равно —
    raised lowered changed increased reduced moved set updated switched became erhöht gesenkt geändert gesetzt
    verschoben changé changée augmenté réduit fixé cambió aumentó subió bajó изменён изменена увеличен
    увеличена""".split()
)
_STATES = frozenset(
    """use uses run runs listen listens cost costs take takes need needs allow allows support supports require requires
    expire expires start starts stay stays remain remains live lives work works liegt läuft kostet dauert braucht nutzt
    nutzen verwendet verwenden lauscht erlaubt benötigt utilise utilisons coûte tourne usa usamos utiliza cuesta
    использует используем стоит работает""".split()
)
_JOINTS = frozenset("has have been was were to at wurde wurden worden auf bei a été à fue ha sido был была до".split())
_NOW = frozenset(
    "now currently nowadays meanwhile jetzt nun inzwischen aktuell maintenant désormais ahora теперь сейчас".split()
)
_MORE = frozenset("also too additionally auch zusätzlich außerdem aussi également también además также тоже".split())
_FROM_TO = {"from": "to", "von": "auf", "de": "à"}
_COLON = re.compile(r"^([^:\n]{3,60}?)\s*[:：]\s+")

_NOW_SAID = re.compile(
    rf"\b(?:{'|'.join(sorted(_NOW))})\b|现在|目前|現在|如今|已|改|今|いま|이제|현재|지금", re.IGNORECASE
)
_SKIPPED = _ARTICLES | _NOW
_STOPPING = _IS | _STATES | _JOINTS

_JAPANESE = re.compile(
    r"(?P<about>.+?)(?P<verb>は|が)(?P<now>現在は?|今は?|いまは?|今では)?[、,]?\s*(?P<rest>.+?)"
    r"(?:です|である|だ|に(?:変更)?(?:なりました|なった|されました|された|しました|変わりました)|となりました)?"
)
_CHINESE = re.compile(
    r"(?P<lead>现在|目前|現在|如今)?[，,]?\s*(?P<about>.+?)\s*(?P<now>现在|目前|現在|如今|已经?|已經)?\s*"
    r"(?P<verb>(?:变更|變更|调整|調整|修改|提高|降低|增加|减少)?(?:改为|改成|改為|变为|變為|为|為|到|成|至)|是|使用|用|在)\s*"
    r"(?P<now2>现在|目前|現在)?\s*(?P<rest>.+?)了?"
)
_KOREAN = re.compile(
    r"(?P<about>.+?)(?P<verb>은|는|이|가)\s+(?P<now>이제는?|현재는?|지금은?)?\s*(?P<rest>.+?)"
    r"(?:입니다|이다|(?:으로|로) (?:변경되었습니다|바뀌었습니다|변경됨))?"
)
_LATIN_RUN = re.compile(rf"\d+(?:[.,:/-]\d+)*|[^\W\d_{UNSPACED}가-힣]+|\S")
_ENDS = " \t\n.。!！"
_KANA, _HAN, _HANGUL = re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[\uac00-\ud7a3]")


def statement(text: str) -> Statement | None:
    """Take a short text apart; None when it has no verb that says how something is."""
    plain = text.casefold().strip(_ENDS)
    if not plain.isascii():
        for script, pattern in ((_HANGUL, _KOREAN), (_KANA, _JAPANESE), (_HAN, _CHINESE)):
            if script.search(plain):
                return _run_statement(plain, pattern)
    return _spaced_statement(plain)


def _run_statement(plain: str, pattern: re.Pattern[str]) -> Statement | None:
    match = pattern.fullmatch(plain)
    if match is None:
        return None
    groups = match.groupdict()
    verb = groups["verb"]
    if pattern is _CHINESE:
        verb = verb if verb in ("使用", "用", "在") else "是"
    now = any(groups.get(name) for name in ("now", "now2", "lead"))
    words = _LATIN_RUN.findall(groups["rest"])
    return Statement((re.sub(r"\s+", "", groups["about"]), verb), tuple(words), now, "也" in plain or "も" in plain)


def _spaced_statement(plain: str) -> Statement | None:
    words = _words(_COLON.sub(r"\1 = ", plain, count=1))
    now = not _NOW.isdisjoint(words)
    said = [word for word in words if word not in _NOW]
    at = next((n for n, word in enumerate(said) if n and (word in _IS or word in _STATES)), None)
    if at is None:
        return None
    if at == len(said) - 1:  # German puts its participle last: "wurde von 100 auf 250 erhöht"
        at = next((n for n, word in enumerate(said) if n and word in _JOINTS), at)
        said = [*said[: at + 1], said[-1], *said[at + 1 : -1]] if at < len(said) - 1 else said
        at = min(at + 1, len(said) - 1)
    start, end, verb = at, at + 1, said[at]
    while start > 1 and said[start - 1] in _JOINTS:
        start -= 1
    while end < len(said) and (said[end] in _JOINTS or (said[end] in _IS and verb in _IS)):
        end += 1
    about, rest = said[:start], said[end:]
    to = _FROM_TO.get(rest[0]) if rest else None
    if to is not None and to in rest:
        rest = rest[rest.index(to) + 1 :]
    return Statement((*about, "=" if verb in _IS else verb), tuple(rest), now, not _MORE.isdisjoint(said))
