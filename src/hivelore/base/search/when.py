"""What a question says about time, read by rules and without a model: "last week", "seit Dienstag", 「先月」.

`understood` gives intervals in which what is asked for happened, each with the words it was read from and a
confidence. They are a soft sign for ranking and never a filter: a memory outside is only a little less likely.

A question without any time word costs microseconds: the words of a language are looked up in a set first, and its
rules are compiled when they are first needed. The library `dateparser` was measured beside it: 264 ms to import, 80 to
160 ms for a question, points in time where intervals are needed, and "we" read as Wednesday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache

from hivelore.base.search.when_calendar import (
    BEGINNING,
    END,
    calendar_unit,
    dated,
    day_of,
    month_of,
    past_units,
    units_ago,
    weekday,
)
from hivelore.base.search.when_words import (
    DAY,
    DIGITS,
    KOREAN_NUMBERS,
    RUSSIAN_CUE,
    SPACED,
    UNSPACED,
    Spaced,
    Unspaced,
)

SURE, LIKELY, MAYBE = 1.0, 0.7, 0.4  # a full date; a date whose year or week is inferred; "on Tuesday", "recently"
LATELY_DAYS, MOST_EVENT_WORDS = 14, 8
READ_CHARS = 2_000  # a longer question is a document; its beginning says what it is about


@dataclass(frozen=True, slots=True)
class When:
    """A stretch of time that a question names: `since_ms` inclusive, `until_ms` exclusive, None for an open end.

    `text` are the words it was read from, `start` their place in the question. With `event`, the time of a memory about
    it is the bound: `relation` is "before", "after" or "since", and both ends are open until that memory is found.
    """

    text: str
    start: int
    since_ms: int | None
    until_ms: int | None
    confidence: float
    event: str = ""
    relation: str = ""
    memory: str = ""

    @property
    def bounded(self) -> bool:
        """Whether it says anything; an event that was not found does not."""
        return self.since_ms is not None or self.until_ms is not None

    def holds(self, ms: int) -> bool:
        """Whether a moment lies inside."""
        return (self.since_ms is None or self.since_ms <= ms) and (self.until_ms is None or ms < self.until_ms)

    def at(self, event_ms: int, memory: str) -> When:
        """This stretch once its event is found: in which memory, and when it was."""
        if self.relation == "before":
            return replace(self, until_ms=event_ms, memory=memory)
        return replace(self, since_ms=event_ms, memory=memory)


@dataclass(frozen=True, slots=True)
class _Dates:
    """Days from `first` up to but without `after`, read at `start`…`end`. `weak` counts only as part of a range."""

    first: date
    after: date
    start: int
    end: int
    confidence: float
    year_given: bool = True
    weak: bool = False
    bound: bool = False


_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d{4}|\d\.\d")
_KANA, _HAN, _HANGUL = re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[\uac00-\ud7a3]")
_CUE = re.compile(r"[日月年周週昨今天前先去后後来來起期拜近曜以]|おととい|きのう|おととし")
_CYRILLIC = re.compile(r"[а-я]")
_KOREAN_CUE = re.compile(r"[전후년월일주달제늘해]|부터|최근|까지|이래|저께")
_RUSSIAN_CUE = re.compile(RUSSIAN_CUE)
_CUES = {name: frozenset(language.cues.split()) for name, language in SPACED.items()}
_LEADS = {name: frozenset(language.leads.split()) for name, language in SPACED.items()}


def understood(text: str, now_ms: int, zone: tzinfo = UTC) -> tuple[When, ...]:
    """The stretches of time that a question names, in the order of the question; mostly none or one."""
    text = text[:READ_CHARS]
    numbers = _DIGIT.search(text) is not None
    languages = _languages(text, numbers)
    if not languages and not numbers:
        return ()
    today = (datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=now_ms)).astimezone(zone).date()
    found: list[_Dates] = list(_standard(text)) if numbers else []
    events: list[When] = []
    for name in languages:
        rules = _rules(name)
        found = _without_overlaps([*found, *rules.dates(text, today)])
        found = rules.combined(text, found)
        events += rules.events(text)
    dates = [each for each in found if not each.weak]
    whens = [_when(text, each, zone) for each in dates]
    taken = [(each.start, each.end) for each in found]
    for event in events:
        end = event.start + len(event.text)
        if all(end <= start or event.start >= stop for start, stop in taken):
            taken.append((event.start, end))
            whens.append(event)
    return tuple(sorted(whens, key=lambda when: when.start))


def _languages(text: str, numbers: bool) -> list[str]:
    """The languages whose rules may find something."""
    lower = text.lower()
    words = set(_WORD.findall(lower))
    names = [name for name, cues in _CUES.items() if not cues.isdisjoint(words)]
    if numbers:
        names += [name for name, leads in _LEADS.items() if name not in names and not leads.isdisjoint(words)]
    if text.isascii():
        return names
    if _CYRILLIC.search(lower) and _RUSSIAN_CUE.search(lower):
        names.append("ru")
    if _HANGUL.search(text) and _KOREAN_CUE.search(text):
        names.append("ko")
    if _CUE.search(text):
        if _HAN.search(text) and not _KANA.search(text):
            names.append("zh")
        names.append("ja")  # characters alone may be either
    return names


def _when(text: str, dates: _Dates, zone: tzinfo) -> When:
    since = None if dates.first <= BEGINNING else _ms(dates.first, zone)
    until = None if dates.after >= END else _ms(dates.after, zone)
    return When(text[dates.start : dates.end].strip(), dates.start, since, until, dates.confidence)


def _ms(day: date, zone: tzinfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 1000


def _without_overlaps(found: Sequence[_Dates]) -> list[_Dates]:
    """The longest of those that share words, in order of place; of equals the first, and strong before weak."""
    kept: list[_Dates] = []
    for each in sorted(found, key=lambda d: (d.weak, d.start - d.end)):
        if all(each.end <= other.start or each.start >= other.end for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda d: d.start)


# -- languages: dates that all of them write alike ---------------------------------------------------------------------

_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_SLASHED = re.compile(r"(?<!\d)((?:19|20)\d\d)/(\d{1,2})(?:/(\d{1,2}))?(?!\d)")
_DOTTED = re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?((?:19|20)\d\d)(?!\d)")
_QUARTER = re.compile(r"\bQ([1-4])[ /-]?((?:19|20)\d\d)\b", re.IGNORECASE)


def _standard(text: str) -> Iterator[_Dates]:
    """Dates that are written alike in all languages: 2023-05-08, 2023-05, 2023/5/8, 8.5.2023, Q2 2023."""
    for pattern in (_ISO, _SLASHED):
        for match in pattern.finditer(text):
            year, month, day = match.groups()
            if 1 <= int(month) <= 12:
                yield from _spanned(dated(END, int(year), int(month), int(day) if day else None), match, SURE)
    for match in _DOTTED.finditer(text):
        day, month, year = match.groups()
        if 1 <= int(month) <= 12:
            yield from _spanned(dated(END, int(year), int(month), int(day)), match, SURE)
    for match in _QUARTER.finditer(text):
        first, last = month_of(int(match[2]), int(match[1]) * 3 - 2), month_of(int(match[2]), int(match[1]) * 3)
        if first and last:
            yield _Dates(first[0], last[1], match.start(), match.end(), SURE)


def _spanned(dated: tuple[date, date, bool] | None, match: re.Match[str], confidence: float) -> Iterator[_Dates]:
    if dated:
        first, after, year_given = dated
        yield _Dates(first, after, match.start(), match.end(), confidence, year_given)


# -- languages ---------------------------------------------------------------------------------------------------------

Reading = Callable[[re.Match[str], date], _Dates | None]


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one language, compiled: patterns with what they mean, range words and bounds."""

    readings: tuple[tuple[re.Pattern[str], Reading], ...]
    opening: re.Pattern[str] | None  # stands at the end of what comes before a range
    joining: re.Pattern[str]  # is all that stands between two dates of a range
    bounds: tuple[tuple[str, re.Pattern[str]], ...]  # before a date, or behind it where `behind`
    behind: bool
    happenings: tuple[tuple[str, re.Pattern[str]], ...]

    def dates(self, text: str, today: date) -> Iterator[_Dates]:
        for pattern, reading in self.readings:
            for match in pattern.finditer(text):
                dates = reading(match, today)
                if dates is not None:
                    yield dates

    def combined(self, text: str, found: list[_Dates]) -> list[_Dates]:
        """Two dates that make a range become one; a date behind "since" or "before" becomes open at one end."""
        ranged: list[_Dates] = []
        for each in found:
            before = ranged[-1] if ranged else None
            start = None if before is None or before.bound else self._joined(text, before, each)
            if before is not None and start is not None:
                ranged[-1] = replace(_range(before, each), start=start)
            else:
                ranged.append(each)
        return [self._bounded(text, each) for each in ranged]

    def _joined(self, text: str, left: _Dates, right: _Dates) -> int | None:
        """Where the range of two dates begins, with the word that opens it; None when they are no range."""
        if not self.joining.fullmatch(text, left.end, right.start):
            return None
        if self.opening is None:
            return left.start
        match = self.opening.search(text, 0, left.start)
        return None if match is None else match.start()

    def _bounded(self, text: str, dates: _Dates) -> _Dates:
        if dates.bound:
            return dates
        for relation, pattern in self.bounds:
            match = pattern.match(text, dates.end) if self.behind else pattern.search(text, 0, dates.start)
            if match is None:
                continue
            start, end = min(dates.start, match.start()), max(dates.end, match.end())
            first, after = dates.first, dates.after
            if relation == "before":
                first, after = BEGINNING, first
            else:
                first, after = first if relation == "since" else after, END
            confidence = max(dates.confidence, LIKELY)
            return replace(
                dates, first=first, after=after, start=start, end=end, confidence=confidence, bound=True, weak=False
            )
        return dates

    def events(self, text: str) -> Iterator[When]:
        for relation, pattern in self.happenings:
            for match in pattern.finditer(text):
                what = " ".join(match["what"].split()[:MOST_EVENT_WORDS])
                if what:
                    yield When(match.group().strip(), match.start(), None, None, MAYBE, what, relation)


def _range(left: _Dates, right: _Dates) -> _Dates:
    """From the first day of one to the last of the other. A year that only the second has is meant for both."""
    first = left.first
    if right.year_given and not left.year_given:
        for year in (right.first.year, right.first.year - 1):
            moved = day_of(year, first.month, first.day)
            if moved is not None and moved < right.after:
                first = moved
                break
    after = right.after if right.after > first else right.after.replace(year=right.after.year + 1)
    confidence = min(left.confidence, right.confidence)
    return _Dates(first, after, left.start, right.end, max(confidence, LIKELY), True, bound=True)


@cache
def _rules(name: str) -> _Rules:
    return _spaced_rules(SPACED[name]) if name in SPACED else _unspaced_rules(UNSPACED[name])


def _any(parts: Sequence[str] | str) -> str:
    return f"(?:{parts if isinstance(parts, str) else '|'.join(parts)})"


def _which(forms: Sequence[str], text: str) -> int:
    """The place of the form that `text` is."""
    return next(at for at, form in enumerate(forms) if re.fullmatch(form, text, re.IGNORECASE))


def _plain(count_back: Callable[[date], tuple[date, date]], confidence: float) -> Reading:
    def read(match: re.Match[str], today: date) -> _Dates:
        return _Dates(*count_back(today), match.start(), match.end(), confidence)

    return read


def _counted(
    numbers: Callable[[str | None], int], unit_of: Callable[[re.Match[str]], str], past: bool, confidence: float
) -> Reading:
    """So many units ago, or the last so many units."""

    def read(match: re.Match[str], today: date) -> _Dates | None:
        count = numbers(match.groupdict().get("n"))
        if not 0 < count <= 1_000:
            return None
        try:
            stretch = (past_units if past else units_ago)(today, unit_of(match), count)
        except (ValueError, OverflowError):
            return None
        return _Dates(*stretch, match.start(), match.end(), confidence)

    return read


def _fixed(
    days: Sequence[tuple[str, int]], spans: Sequence[tuple[str, tuple[str, int]]], lately: str
) -> Iterator[tuple[str, Reading]]:
    for form, back in days:
        yield form, _plain(lambda today, back=back: calendar_unit(today, DAY, back), SURE)  # type: ignore[misc]
    for form, (unit, back) in spans:
        yield form, _plain(lambda today, u=unit, b=back: calendar_unit(today, u, b), SURE)  # type: ignore[misc]
    yield lately, _plain(lambda today: past_units(today, DAY, LATELY_DAYS), MAYBE)


def _spaced_rules(of: Spaced) -> _Rules:
    readings = [
        (re.compile(rf"\b{_any(form)}\b", re.IGNORECASE), reading)
        for form, reading in (
            *_fixed(tuple(of.days.items()), tuple(of.spans.items()), of.lately),
            *_spaced_counts(of),
            *_spaced_dates(of),
            *_spaced_weekdays(of),
        )
    ]

    def leading(words: str) -> str:
        return rf"\b{_any(words)}(?: (?:the|le|el|dem|der|den))? *\Z"

    return _Rules(
        readings=tuple(readings),
        opening=re.compile(leading(of.opening), re.IGNORECASE),
        joining=re.compile(rf" *(?:[-–—]|{of.joining})(?: (?:the|le|el|dem))? *", re.IGNORECASE),
        bounds=tuple((relation, re.compile(leading(words), re.IGNORECASE)) for relation, words in of.bounds.items()),
        behind=False,
        happenings=tuple(
            (
                relation,
                re.compile(rf"\b{_any(words)} {of.article}(?P<what>\w.{{1,80}}?)(?=(?:{of.clause})|$)", re.IGNORECASE),
            )
            for relation, words in of.bounds.items()
        ),
    )


def _spaced_counts(of: Spaced) -> Iterator[tuple[str, Reading]]:
    number = rf"(?P<n>\d{{1,3}}|{'|'.join(of.numbers).replace('_', ' ')})"
    unit = rf"(?P<unit>{'|'.join(of.units)})"
    forms = tuple(of.units)

    def count(word: str | None) -> int:
        if word is None:
            return 1
        return int(word) if word.isdecimal() else of.numbers[word.lower().replace(" ", "_")]

    def unit_of(match: re.Match[str]) -> str:
        return of.units[forms[_which(forms, match["unit"])]]

    for templates, past in ((of.ago, False), (of.past, True)):
        for template in templates:
            yield template.format(n=number, unit=unit), _counted(count, unit_of, past, SURE)


def _spaced_dates(of: Spaced) -> Iterator[tuple[str, Reading]]:
    month = rf"(?P<m>{'|'.join(of.months)})\.?"
    year = r"(?:(?:,| de| of|,? im Jahre?)? (?P<y>(?:19|20)\d\d)(?: года?| году)?)"

    def read_date(match: re.Match[str], today: date) -> _Dates | None:
        groups = match.groupdict()
        given, day = groups.get("y"), groups.get("d")
        found = dated(
            today, int(given) if given else None, _which(of.months, match["m"]) + 1, int(day) if day else None
        )
        return next(_spanned(found, match, SURE if given else LIKELY), None)

    def bare(match: re.Match[str], today: date) -> _Dates | None:
        dates = read_date(match, today)
        return dates and replace(dates, weak=True)

    def in_year(match: re.Match[str], _today: date) -> _Dates:
        return _Dates(date(int(match["y"]), 1, 1), date(int(match["y"]) + 1, 1, 1), *match.span("y"), SURE)

    for form in of.day_month:
        yield form.format(d=r"(?P<d>\d{1,2})", m=month) + f"{year}?", read_date
    yield rf"{month}{year}", read_date
    # The word before makes it a date and is no part of it, so that "since" and "before" are still seen there.
    lead = "|".join(rf"(?<={re.escape(word)} )" for word in _spelled(of.inside))
    yield rf"(?:{lead})(?P<m>{'|'.join(of.months)})", read_date
    yield rf"(?P<m>{'|'.join(of.months)})", bare
    yield rf"(?:{lead}|(?<=year )|(?<=año )|(?<=jahr )|(?<=jahre ))(?P<y>(?:19|20)\d\d)(?: года?| году)?", in_year


def _spelled(words: str) -> list[str]:
    """The spellings of a list of words: `['’]` becomes each of both."""
    return [
        form.replace("['’]", sign) for form in words.split("|") for sign in (("'", "’") if "['’]" in form else ("",))
    ]


def _spaced_weekdays(of: Spaced) -> Iterator[tuple[str, Reading]]:
    day = rf"(?P<day>{'|'.join(of.weekdays)})"

    def read(before_today: bool, weak: bool, confidence: float) -> Reading:
        def reading(match: re.Match[str], today: date) -> _Dates:
            stretch = weekday(today, _which(of.weekdays, match["day"]), before_today=before_today)
            return _Dates(*stretch, match.start(), match.end(), confidence, weak=weak)

        return reading

    for template in of.last_weekday:
        yield template.format(day=day), read(True, False, SURE)
    yield rf"(?:{'|'.join(rf'(?<={word} )' for word in of.on_weekday.split('|'))}){day}", read(False, False, MAYBE)
    yield day, read(False, True, LIKELY)  # counts behind "since" and the like


def _unspaced_rules(of: Unspaced) -> _Rules:
    readings = [
        *_fixed(tuple(of.days.items()), tuple(of.spans.items()), of.lately),
        *_unspaced_counts(of),
        (of.date, _unspaced_date),
        (of.weekday, _unspaced_weekday(of)),
    ]
    for form, (unit, count) in of.fixed_ago.items():
        readings.append((form, _plain(lambda today, u=unit, c=count: units_ago(today, u, c), SURE)))  # type: ignore[misc]
    return _Rules(
        readings=tuple((re.compile(form), reading) for form, reading in readings),
        opening=None,
        joining=re.compile(rf"\s*(?:{of.joining})\s*"),
        bounds=tuple((relation, re.compile(rf"\s?{_any(words)}")) for relation, words in of.bounds.items()),
        behind=True,
        happenings=tuple((relation, re.compile(form)) for relation, form in of.event.items()),
    )


def _unspaced_counts(of: Unspaced) -> Iterator[tuple[str, Reading]]:
    for forms, past in ((of.ago, False), (of.past, True)):
        for form, unit in forms:
            named = form.replace("(", "(?P<n>", 1) if form.startswith(r"(\d") else form.replace(r"(\d", r"(?P<n>\d", 1)
            yield named, _counted(_cjk_number, lambda _match, u=unit: u, past, SURE)  # type: ignore[misc]


def _cjk_number(word: str | None) -> int:
    """A number in digits, in Chinese characters up to 99, or as a Korean word."""
    if word is None:
        return 0
    if word.isdecimal():
        return int(word)
    if word in KOREAN_NUMBERS:
        return KOREAN_NUMBERS[word]
    tens, ten, ones = word.partition("十")
    if not ten:
        return DIGITS.get(word, 0)
    return DIGITS.get(tens, 1) * 10 + DIGITS.get(ones, 0)


def _unspaced_date(match: re.Match[str], today: date) -> _Dates | None:
    if match["only"]:
        year = int(match["only"])
        if not 1900 <= year < 2100:
            return None
        return _Dates(date(year, 1, 1), date(year + 1, 1, 1), match.start(), match.end(), SURE)
    year_given = match["year"]
    month = int(match["month"])
    if not 1 <= month <= 12:
        return None
    found = dated(today, int(year_given) if year_given else None, month, int(match["day"]) if match["day"] else None)
    return next(_spanned(found, match, SURE if year_given else LIKELY), None)


def _unspaced_weekday(of: Unspaced) -> Reading:
    def reading(match: re.Match[str], today: date) -> _Dates | None:
        lead = match["lead"] or ""
        short = "曜" not in match.group() and match.group() == match["name"]
        if short:  # 「日」 alone is a day of anything
            return None
        name = "日" if match["name"] == "天" else match["name"]
        last_week = re.match(of.last_week, lead) is not None
        stretch = weekday(today, of.weekday_names.index(name), last_week, bool(lead) and not last_week)
        return _Dates(*stretch, match.start(), match.end(), SURE if lead else MAYBE)

    return reading
