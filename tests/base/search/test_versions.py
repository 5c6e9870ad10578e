"""Copies fold, a newer version of a statement goes first, and statements about different things stay apart."""

from __future__ import annotations

import pytest

from hivelore.base.search.versions import Seen, arranged


def seen(text: str, number: int = 1, **changes) -> Seen:
    one = Seen(("s", str(number)), str(number), "note", "active", number, number, text, True)
    return one._replace(**changes)


def relation(older: str, newer: str) -> str:
    found = arranged([seen(older, 1), seen(newer, 2)])
    return "copy" if found.copies else "version" if found.older == {0: 1} else "other"


VERSIONS = [
    ("API limit is 100", "API limit is now 250"),
    ("The API limit is 100 requests per minute.", "The API limit is now 250 requests per minute."),
    ("API limit is 100", "The API limit has been raised to 250"),
    ("API limit is 100", "The API limit was raised from 100 to 250"),
    ("Staging listens on port 5433", "Staging now listens on port 5434"),
    ("Port: 8080", "Port: 9090"),
    ("We use Jenkins for CI", "We now use GitHub Actions for CI"),
    ("The lead is Bob", "The lead is now Carol"),
    ("APIの上限は100です", "APIの上限は現在250です"),
    ("APIの上限は100です。", "APIの上限は250になりました。"),
    ("API 上限は 100 です", "API 上限は 250 です"),
    ("CIはJenkinsを使う", "CIは今GitHub Actionsを使う"),
    ("API 限制是 100", "API 限制现在是 250"),
    ("接口限制是100次", "接口限制改为250次"),
    ("接口限制为100", "接口限制已提高到250了"),
    ("Das API-Limit ist 100", "Das API-Limit ist jetzt 250"),
    ("Das API-Limit liegt bei 100", "Das API-Limit liegt jetzt bei 250"),
    ("Das Limit ist 100", "Das Limit wurde von 100 auf 250 erhöht"),
    ("API 한도는 100입니다", "API 한도는 이제 250입니다"),
    ("Лимит API составляет 100", "Лимит API теперь составляет 250"),
    ("La limite est 100", "La limite est désormais 250"),
    ("El límite es 100", "El límite ahora es 250"),
]
OTHERS = [
    ("Server 1 listens on port 8080", "Server 2 listens on port 8080"),
    ("Server 1 listens on port 8080", "Server 2 listens on port 9090"),
    ("The port of staging is 5433", "The port of production is 5434"),
    ("deploy number 3", "deploy number 4"),
    ("Deploy failed at 10:00", "Deploy failed at 11:00"),
    ("Standup was on 8 May", "Standup was on 9 May"),
    ("Ticket 12 is open", "Ticket 13 is open"),
    ("Alice uses vim", "Bob now uses vim"),
    ("We use Redis for caching", "We now use Redis for queues"),
    ("We use Redis for caching", "We now also use Memcached for caching"),
    ("The limit is 100 for users", "The limit is 250 for admins"),
    ("The staging server runs nginx", "The staging server runs postgres"),
    ("The API limit is 100", "The API limit is not 100"),
    ("The temperature is 5 degrees", "The temperature is -5 degrees"),
    ("The nightly build passed ✅", "The nightly build passed ❌"),
    ("Anna ist 30, Ben ist 40", "Anna ist 31, Ben ist 42"),
    ("Server A lauscht auf Port 8080", "Server B lauscht auf Port 9090"),
    ("Der Port von Staging ist 5433", "Der Port von Produktion ist 5434"),
    ("サーバー1のポートは8080です", "サーバー2のポートは9090です"),
    ("サーバー1のポートは8080です", "サーバー2のポートは8080です"),
    ("服务器1的端口是8080", "服务器2的端口是9090"),
    ("测试库的端口是5433", "生产库的端口是5434"),
]
COPIES = [
    ("API limit is 100.", "The API limit is 100"),
    ("Deploy on Tuesday at noon", "deploy on tuesday,  at noon!"),
    ("接口限制是100", "接口限制是100。"),
    ("APIの上限は100です", "APIの上限は100です。"),
    ("Das Limit ist 100", "das Limit ist 100"),
]


@pytest.mark.parametrize(("older", "newer"), VERSIONS)
def test_a_statement_with_another_value_is_an_older_version_of_the_newer_one(older, newer):
    assert relation(older, newer) == "version"


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_statements_about_different_things_stay_apart(one, other):
    assert relation(one, other) == "other"


@pytest.mark.parametrize(("one", "other"), COPIES)
def test_the_same_words_fold_into_one(one, other):
    assert relation(one, other) == "copy"


def test_all_older_versions_name_the_newest_and_follow_it_in_their_old_places():
    hits = [
        seen("API limit is 100", 1),
        seen("lunch at noon", 9),
        seen("API limit is 200", 2),
        seen("API limit is 250", 3),
    ]
    found = arranged(hits)
    assert found.order == (3, 1, 0, 2)
    assert found.older == {0: 3, 2: 3}


def test_when_time_of_event_and_time_of_storing_disagree_nothing_is_said():
    changed_later = seen("API limit is 300", 1, chunk=7)  # an update gives new chunks, but the event keeps its time
    assert arranged([changed_later, seen("API limit is 250", 2)]).older == {}


def test_at_the_same_time_neither_is_older():
    assert arranged([seen("API limit is 100", 1), seen("API limit is 250", 2, event_ms=1)]).older == {}


@pytest.mark.parametrize("change", [{"unit": ("other", "2")}, {"kind": "turn"}, {"whole": False}])
def test_hits_of_other_spaces_and_kinds_and_parts_of_longer_texts_are_not_compared(change):
    for text in ("API limit is 100", "API limit is now 250"):
        found = arranged([seen("API limit is 100", 1), seen(text, 2, **change)])
        assert (found.order, found.copies, found.older) == ((0, 1), {}, {})


def test_texts_under_different_titles_are_no_copies():
    found = arranged([seen("Server A\nThe port is 8080", 1), seen("Server B\nThe port is 8080", 2)])
    assert found.copies == {}


def test_the_best_copy_stays_and_names_the_others():
    found = arranged([seen("lunch is at noon", n) for n in range(8)])
    assert found.order == (0,)
    assert found.copies == {0: tuple(range(1, 8))}


def test_a_copy_that_still_holds_does_not_vanish_into_one_that_does_not():
    found = arranged([seen("lunch is at noon", 1, status="superseded"), seen("lunch is at noon", 2)])
    assert found.copies == {}


def test_a_named_correction_goes_before_what_it_corrects():
    hits = [
        seen("deploys happen on friday", 1, status="superseded"),
        seen("lunch", 2),
        seen("releases go out tuesdays", 3),
    ]
    assert arranged(hits, {"1": "3"}).order == (2, 1, 0)
    assert arranged(hits, {"1": "elsewhere"}).order == (0, 1, 2)
