"""Reading the time in a question: intervals, their words, and what is no time at all."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.base.search.when import LIKELY, MAYBE, SURE, When, understood

NOW_MS = int(datetime(2024, 7, 17, 12, tzinfo=UTC).timestamp()) * 1000  # a Wednesday


def day(ms: int | None) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def read(text: str) -> list[tuple[str | None, str | None]]:
    """The stretches of a question as first day and first day after; events are left out."""
    return [(day(when.since_ms), day(when.until_ms)) for when in understood(text, NOW_MS) if not when.event]


STRETCHES = {
    ("2024-07-08", "2024-07-15"): (
        "what did we decide last week?",
        "was haben wir letzte Woche beschlossen?",
        "qu'avons-nous décidé la semaine dernière ?",
        "¿qué decidimos la semana pasada?",
        "что мы решили на прошлой неделе?",
        "先週決めたことは?",
        "上周我们决定了什么",
        "上个星期的会议",
        "지난주에 무엇을 결정했나요",
    ),
    ("2024-07-16", "2024-07-17"): (
        "yesterday's deploy",
        "der Fehler von gestern",
        "le déploiement d'hier",
        "el despliegue de ayer",
        "вчерашний сбой был вчера",
        "昨日のデプロイ",
        "昨天的部署",
        "어제 배포",
        "last Tuesday",
        "в прошлый вторник",
        "지난 화요일",
        "mardi dernier",
    ),
    ("2024-07-15", "2024-07-16"): (
        "two days ago",
        "the day before yesterday",
        "vor zwei Tagen",
        "il y a deux jours",
        "hace dos días",
        "два дня назад",
        "2日前に",
        "两天前",
        "이틀 전",
        "vorgestern",
        "avant-hier",
        "anteayer",
        "позавчера",
        "おととい",
        "前天",
        "그저께",
    ),
    ("2023-05-01", "2023-06-01"): (
        "in May 2023",
        "im Mai 2023",
        "en mai 2023",
        "en mayo de 2023",
        "в мае 2023",
        "2023年5月に",
        "2023年5月的计划",
        "2023년 5월",
        "notes of 2023-05",
    ),
    ("2024-05-08", "2024-05-09"): (
        "on 8 May",
        "on May 8th",
        "am 8. Mai",
        "le 8 mai",
        "el 8 de mayo",
        "8 мая",
        "5月8日に",
        "5月8号",
        "5월 8일",
        "2024-05-08",
        "am 8.5.2024",
        "2024/5/8",
    ),
    ("2024-03-01", "2024-07-01"): (
        "between March and June 2024",
        "from March to June",
        "zwischen März und Juni 2024",
        "von März bis Juni 2024",
        "entre mars et juin 2024",
        "entre marzo y junio de 2024",
        "между мартом и июнем 2024",
        "с марта по июнь 2024",
        "2024年3月から6月までの変更",
        "2024年3月到6月",
        "2024년 3월부터 6월까지",
    ),
    ("2024-07-16", None): (
        "since Tuesday",
        "seit Dienstag",
        "depuis mardi",
        "desde el martes",
        "со вторника",
        "火曜日から",
        "周二以来",
        "화요일부터",
    ),
    ("2024-07-14", "2024-07-18"): (
        "the past 3 days",
        "in den letzten 3 Tagen",
        "ces 3 derniers jours",
        "los últimos 3 días",
        "за последние 3 дня",
        "過去3日間",
        "最近三天",
        "최근 3일",
    ),
    ("2023-01-01", "2024-01-01"): (
        "last year",
        "in 2023",
        "letztes Jahr",
        "l'an dernier",
        "el año pasado",
        "в прошлом году",
        "去年の計画",
        "去年的计划",
        "작년",
    ),
    ("2024-06-01", "2024-07-01"): ("last month", "letzten Monat", "le mois dernier", "先月", "上个月", "지난달"),
    (None, "2024-03-01"): (
        "before March 2024",
        "until March 2024",
        "vor März 2024",
        "2024年3月以前",
        "2024년 3월 이전",
    ),
    ("2024-06-01", None): ("after May", "nach Mai 2024", "5月以后"),
    ("2024-04-01", "2024-07-01"): ("what did Q2 2024 cost",),
    ("2023-12-01", "2024-01-01"): ("in December",),
}


@pytest.mark.parametrize(("text", "expected"), [(text, dates) for dates, texts in STRETCHES.items() for text in texts])
def test_a_time_expression_becomes_the_days_that_it_means(text, expected):
    assert read(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "which port does staging use?",
        "May I march to the office?",
        "have we seen this before?",
        "after all",
        "Wie heißt der Server, der vor allem nach Berlin liefert?",
        "名前は何",
        "午前と午後の違い",
        "用户名字",
        "前端和后端",
        "이름이 뭐예요",
        "C++ 17 or 20",
        "port 8080 of 10.0.0.5",
        "",
        "2023-99-99",
    ],
)
def test_what_is_no_time_is_not_taken_for_one(text):
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "relation", "event"),
    [
        ("which DB did we use before the migration to Postgres?", "before", "migration to Postgres"),
        ("after our offsite what did we change", "after", "offsite"),
        ("welche Datenbank hatten wir vor der Umstellung auf Postgres?", "before", "Umstellung auf Postgres"),
        ("avant la migration", "before", "migration"),
        ("después de la migración", "after", "migración"),
        ("после миграции", "after", "миграции"),
        ("移行の前に使っていたデータベース", "before", "移行"),
        ("在迁移之前我们用什么数据库", "before", "迁移"),
        ("마이그레이션 전에 무엇을 사용했나요", "before", "마이그레이션"),
    ],
)
def test_an_event_is_named_as_the_bound_and_open_until_it_is_found(text, relation, event):
    (when,) = understood(text, NOW_MS)
    assert (when.relation, when.event, when.bounded) == (relation, event, False)
    found = when.at(1_000, "m1")
    assert found.memory == "m1"
    assert found.holds(999) == (relation == "before")
    assert found.holds(1_000) == (relation != "before")


def test_confidence_falls_with_what_had_to_be_guessed():
    confidences = {text: understood(text, NOW_MS)[0].confidence for text in ("8 May 2023", "on 8 May", "on Tuesday")}
    assert confidences == {"8 May 2023": SURE, "on 8 May": LIKELY, "on Tuesday": MAYBE}


def test_the_words_that_were_read_are_told_with_their_place():
    text = "what changed between March and June 2024, and why"
    (when,) = understood(text, NOW_MS)
    assert when.text == "between March and June 2024"
    assert text[when.start :].startswith(when.text)


def test_days_begin_at_midnight_of_the_time_zone():
    tokyo = ZoneInfo("Asia/Tokyo")
    early = int(datetime(2024, 7, 17, 8, tzinfo=tokyo).timestamp()) * 1000  # still the 16th in UTC
    (when,) = understood("yesterday", early, tokyo)
    assert when.since_ms == int(datetime(2024, 7, 16, tzinfo=tokyo).timestamp()) * 1000
    assert when.until_ms == int(datetime(2024, 7, 17, tzinfo=tokyo).timestamp()) * 1000


@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(
            "last week before the since May 31 2023 between and 年 月 日 前 5月 上周 昨天 3000年前 999 years ago 31 "
            "February vor 400 Jahren depuis martes назад 지난 0일 전 Q9 2024-13-45 9999年 12月".split(" ")
        ),
        max_size=8,
    ).map(" ".join)
)
def test_no_text_is_too_strange_to_read(text):
    for when in understood(text, NOW_MS):
        assert isinstance(when, When)
        assert when.text in text
        if when.since_ms is not None and when.until_ms is not None:
            assert when.since_ms < when.until_ms
