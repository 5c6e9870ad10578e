"""Stretches of days that `when.py` needs: units back from today, months, weekdays. The second day is exclusive."""

from __future__ import annotations

from datetime import date, timedelta

from hivelore.base.search.when_words import DAY, MONTH, WEEK, YEAR

BEGINNING, END = date(1970, 1, 1), date(9999, 1, 1)  # a stretch that begins or ends there is open


def day_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def month_of(year: int, month: int) -> tuple[date, date] | None:
    """A month by number; numbers outside 1…12 count on from the year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    if not 1 <= year < 9998:
        return None
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def calendar_unit(today: date, unit: str, back: int) -> tuple[date, date]:
    """The calendar day, week (from Monday), month or year that lies `back` of them before today's."""
    if unit == DAY:
        first = today - timedelta(days=back)
        return first, first + timedelta(days=1)
    if unit == WEEK:
        first = today - timedelta(days=today.weekday() + 7 * back)
        return first, first + timedelta(days=7)
    if unit == MONTH:
        return month_of(today.year, today.month - back) or (BEGINNING, END)
    return date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)


def units_ago(today: date, unit: str, count: int) -> tuple[date, date]:
    """So many units before today. People count roughly, so days have a day of slack and weeks half a week."""
    if unit == DAY:
        slack = 0 if count < 3 else 1
        first = today - timedelta(days=count + slack)
        return first, first + timedelta(days=1 + 2 * slack)
    if unit == WEEK:
        first = today - timedelta(days=7 * count + 3)
        return first, first + timedelta(days=7)
    return calendar_unit(today, unit, count)


def past_units(today: date, unit: str, count: int) -> tuple[date, date]:
    """The last so many units, up to and with today."""
    days = {DAY: 1, WEEK: 7, MONTH: 31, YEAR: 366}[unit] * count
    return today - timedelta(days=days), today + timedelta(days=1)


def dated(today: date, year: int | None, month: int, day: int | None) -> tuple[date, date, bool] | None:
    """A month or a day; without a year the latest one that has begun. The last value says whether a year was given."""
    for tried in (year,) if year else (today.year, today.year - 1):
        if day is None:
            stretch = month_of(tried, month)
        else:
            first = day_of(tried, month, day)
            stretch = (first, first + timedelta(days=1)) if first else None
        if stretch and (year or stretch[0] <= today):
            return *stretch, bool(year)
    return None


def weekday(today: date, number: int, last_week: bool = False, before_today: bool = False) -> tuple[date, date]:
    """The latest such weekday (Monday is 0): of the week before, or before today, or today too."""
    if last_week:
        first = today - timedelta(days=today.weekday() + 7 - number)
    else:
        first = today - timedelta(days=(today.weekday() - number) % 7 or (7 if before_today else 0))
    return first, first + timedelta(days=1)
