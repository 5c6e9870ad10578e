"""Answers that fit a context window: out of ranked hits, the most useful whole sentences within a budget of tokens.

Every shown memory begins with the sentence that covers most of the query's terms and grows around it; better hits may
grow further. A sentence is shown once, whichever memories hold it, and a memory that says nothing new is folded into
the better one. What is shown is always the beginning of the ranking, so that a next page continues it without a gap.
Pure functions: what a passage costs, the door says, because only it knows what surrounds the text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hivelore.base.memories.model import Item
from hivelore.base.search.alike import Signature, repeats, signature
from hivelore.base.search.tokens import tokens
from hivelore.core.fence import blank_recalled
from hivelore.core.sentences import same_key, sentences
from hivelore.core.text import UNSPACED, excerpt
from hivelore.rooms.memory.service import VERBATIM_KINDS, RecalledItem

FIRST_SHARE, NEXT_SHARE = 0.35, 0.6  # of the budget for the first passage; of the one before for each next
SMALLEST_SHARE = 120  # tokens that every passage may have before better ones grow
IN_CHUNK = 0.15  # what lying in the chunk that matched is worth, beside the share of the query's terms
NEAR_BEST = 0.3  # what standing next to the best sentence is worth
REPEATED_CHARS = 12  # a shorter sentence ("Yes.") may stand in several memories
NEIGHBOUR_CHARS = 300
GAP = " … "
UNSPACED_FROM = UNSPACED[0]  # characters from here on say about three times as much
CUT_CHARS = (400, 200, 100)  # tried in turn when not one whole sentence fits
LEAST_TOKENS = 3  # with less left, nothing more fits


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What stands before or behind a hit: a turn of the conversation, a part of the long text."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Around:
    """The neighbours of one hit, in order of time."""

    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of one memory. `whole` tells that nothing of it is missing; `similar` are ids folded into it."""

    found: RecalledItem
    text: str
    whole: bool
    similar: tuple[str, ...] = ()
    around: Around = Around()


@dataclass(frozen=True, slots=True)
class Filled:
    """An answer within its budget. `taken` hits from the beginning of the ranking are shown or folded; `omitted` more
    were found and found no room."""

    passages: tuple[Passage, ...]
    taken: int
    omitted: int


def neighbour(item: Item) -> Neighbour:
    """An item as it stands beside a hit: its beginning, without what was recalled into it."""
    return Neighbour(item.id, excerpt(blank_recalled(item.text), NEIGHBOUR_CHARS))


@dataclass(slots=True)
class _Growing:
    """A passage in the making: its sentences, the order in which they are worth showing, and those that are shown."""

    found: RecalledItem
    text: str
    ranges: list[tuple[int, int]]
    order: list[int]
    similar: list[str] = field(default_factory=list)
    shown: set[int] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    around: Around = Around()
    cost: int = 0

    def passage(self, more: int | None = None) -> Passage:
        chosen = sorted(self.shown if more is None else {*self.shown, more})
        joined, last = "", -1
        for number in chosen:
            start, end = self.ranges[number]
            if joined and number != last + 1:
                joined = joined.rstrip() + GAP
            joined, last = joined + self.text[start:end], number
        missing = len(chosen) + len(self.repeated) < len(self.ranges)
        cut = self.found.item.kind == "turn" or len(self.text.strip()) < len(self.found.item.text.strip())
        return Passage(self.found, joined.strip(), not (missing or cut), tuple(self.similar), self.around)


def fill(
    found: Sequence[RecalledItem],
    terms: Sequence[str],
    budget: int,
    cost_of: Callable[[Passage], int],
    around: Callable[[RecalledItem], Around] | None = None,
) -> Filled:
    """Fill `budget` tokens from hits that are given best first. `cost_of` counts a passage with all that surrounds it;
    `around`, when given, reads the neighbours of a hit, which come before any passage grows."""
    kept, folded = _fold(found)
    growing = _ordered(kept, terms)
    seen: set[str] = set()
    shown: list[_Growing] = []
    left = budget
    share = budget * FIRST_SHARE
    empty: set[str] = set()
    for each in growing:
        each.similar = [*each.found.hit.copies, *_names(folded[id(each.found)])]
        begun = _begin(each, seen, left, cost_of)
        if begun is None:  # all of it is shown already
            if each.repeated:
                left -= _fold_into(_holder(shown, each), each, cost_of)
            else:  # nothing but recalled blocks: what they hold is found where it was stored
                empty.add(each.found.item.id)
            continue
        if not begun and not (not shown and _begin_cut(each, seen, left, cost_of)):
            break
        left -= each.cost
        shown.append(each)
        left = _grow(each, seen, left, max(share, SMALLEST_SHARE), cost_of)
        share *= NEXT_SHARE
    left = _with_neighbours(shown, around, left, cost_of)
    for each in shown:
        left = _grow(each, seen, left, math.inf, cost_of)
    told = {each.found.item.id for each in shown} | {other for each in shown for other in each.similar} | empty
    taken = next((n for n, each in enumerate(found) if each.item.id not in told), len(found))
    omitted = sum(each.item.id not in told for each in found)
    return Filled(tuple(each.passage() for each in shown), taken, omitted)


def shorter(filled: Filled) -> Filled:
    """The answer without its last passage, for a door whose own words turned out longer than it had reckoned."""
    gone = filled.passages[-1]
    dropped = 1 + len(gone.similar)
    return Filled(filled.passages[:-1], max(0, min(filled.taken, len(filled.passages) - 1)), filled.omitted + dropped)


def _fold(found: Sequence[RecalledItem]) -> tuple[list[RecalledItem], dict[int, list[RecalledItem]]]:
    """Hits that say something of their own, and by the identity of each the worse ones that only repeat it. Kinds are
    not compared with each other."""
    kept: list[RecalledItem] = []
    marks: list[Signature] = []
    folded: dict[int, list[RecalledItem]] = {}
    for each in found:
        mark = signature(_source_text(each))
        better = next(
            (k for k, m in zip(kept, marks, strict=True) if k.item.kind == each.item.kind and repeats(m, mark)), None
        )
        if better is not None:
            folded[id(better)].append(each)
            continue
        kept.append(each)
        marks.append(mark)
        folded[id(each)] = []
    return kept, folded


def _source_text(found: RecalledItem) -> str:
    """What of a hit may be shown: its text without recalled blocks. Of turns and sessions that is the chunk that
    matched: a turn is long, and a block may begin in one passage of a session and end in another."""
    return found.excerpt if found.item.kind in VERBATIM_KINDS else blank_recalled(found.item.text)


def _ordered(kept: Sequence[RecalledItem], terms: Sequence[str]) -> list[_Growing]:
    """Each hit with its sentences in the order of their use for the query."""
    made = []
    for found in kept:
        text = _source_text(found)
        ranges = [(a, b) for a, b in sentences(text) if text[a:b].strip()]
        words = [frozenset(tokens(text[a:b])) for a, b in ranges]
        made.append((found, text, ranges, words))
    every = [words for *_, of_hit in made for words in of_hit]
    weights = _weights(terms, every)
    total = sum(weights.values()) or 1.0
    growing = []
    for found, text, ranges, of_hit in made:
        start = 0 if found.item.kind in VERBATIM_KINDS else found.hit.start
        end = start + len(found.hit.text)
        value = [
            sum(weight for term, weight in weights.items() if _holds(words, term)) / total
            + (IN_CHUNK if a < end and b > start else 0.0)
            for (a, b), words in zip(ranges, of_hit, strict=True)
        ]
        best = max(range(len(ranges)), key=lambda n, v=value: (v[n], -n), default=0)  # type: ignore[misc]
        order = sorted(
            range(len(ranges)),
            key=lambda n, v=value, at=best: (n != at, -v[n] - NEAR_BEST / max(abs(n - at), 1), n),  # type: ignore[misc]
        )
        growing.append(_Growing(found, text, ranges, order))
    return growing


def _weights(terms: Sequence[str], every: Sequence[frozenset[str]]) -> dict[str, float]:
    """What each term of the query tells: the rarer among the sentences at hand, the more."""
    counted = Counter(term for words in every for term in terms if _holds(words, term))
    return {term: math.log(1 + len(every) / counted[term]) for term in dict.fromkeys(terms) if counted[term]}


def _holds(words: frozenset[str], term: str) -> bool:
    if term.endswith("*"):
        return any(word.startswith(term[:-1]) for word in words)
    return term in words


def _key(each: _Growing, number: int) -> str:
    """What a sentence is recognised by; empty for one so short that it may stand in several memories."""
    start, end = each.ranges[number]
    key = same_key(each.text[start:end])
    weight = sum(3 if char >= UNSPACED_FROM else 1 for char in key)
    return key if weight >= REPEATED_CHARS else ""


def _begin(each: _Growing, seen: set[str], left: float, cost_of: Callable[[Passage], int]) -> bool | None:
    """Show the best sentence that is not shown elsewhere. False: there is no room; None: there is none."""
    for number in each.order:
        key = _key(each, number)
        if key and key in seen:
            each.repeated.add(number)
            continue
        cost = cost_of(each.passage(number))
        if cost > left:
            return False
        _show(each, number, key, seen)
        each.cost = cost
        return True
    return None


def _begin_cut(each: _Growing, seen: set[str], left: float, cost_of: Callable[[Passage], int]) -> bool:
    """Show the beginning of the best sentence where not one whole sentence has room: better than an empty answer."""
    start, end = each.ranges[each.order[0]]
    sentence = each.text[start:end]
    each.ranges, each.order = [(0, 0)], [0]
    for chars in CUT_CHARS:
        each.text = excerpt(sentence, chars)
        each.ranges[0] = (0, len(each.text))
        if _begin(each, seen, left, cost_of):
            return True
    return False


def _grow(each: _Growing, seen: set[str], left: float, most: float, cost_of: Callable[[Passage], int]) -> int:
    """Show more sentences of a passage, up to `most` tokens for it; what is left of the budget."""
    for number in each.order:
        if left < LEAST_TOKENS:
            break
        if number in each.shown or number in each.repeated:
            continue
        key = _key(each, number)
        if key and key in seen:
            each.repeated.add(number)
            continue
        cost = cost_of(each.passage(number))
        if cost > most or cost - each.cost > left:
            if most is math.inf:
                continue  # a shorter one may still fit
            break
        _show(each, number, key, seen)
        left -= cost - each.cost
        each.cost = cost
    return int(left)


def _show(each: _Growing, number: int, key: str, seen: set[str]) -> None:
    each.shown.add(number)
    if key:
        seen.add(key)


def _holder(shown: Sequence[_Growing], repeated: _Growing) -> _Growing:
    """The shown memory that holds what another one repeats."""
    keys = {_key(repeated, number) for number in repeated.repeated}
    return next((each for each in shown if keys & {_key(each, n) for n in each.shown}), shown[0])


def _names(repeating: Sequence[RecalledItem]) -> list[str]:
    """Ids of hits, and of the copies that were folded into them before."""
    return [id for each in repeating for id in (each.item.id, *each.hit.copies)]


def _fold_into(holder: _Growing, repeated: _Growing, cost_of: Callable[[Passage], int]) -> int:
    """Name a memory that adds nothing beside the one that says it; how many tokens more that takes."""
    holder.similar += [repeated.found.item.id, *repeated.similar]
    before, holder.cost = holder.cost, cost_of(holder.passage())
    return holder.cost - before


def _with_neighbours(
    shown: Sequence[_Growing],
    around: Callable[[RecalledItem], Around] | None,
    left: float,
    cost_of: Callable[[Passage], int],
) -> int:
    """Put the neighbours beside the passages, best first, as far as they fit."""
    for each in shown if around else ():
        assert around is not None
        each.around = around(each.found)
        if each.around != Around():
            cost = cost_of(each.passage())
            if cost - each.cost > left:
                each.around = Around()
                continue
            left -= cost - each.cost
            each.cost = cost
    return int(left)
