"""Budgets of answers hold by the tokens that a model counts, not only by our own reckoning."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable

import pytest
from wirekit.node import o200k_counts, o200k_tokens

from hivelore.core.tokens_bound import tokens_at_most
from hivelore.doors.kit.dispatch import Credentials, dispatch
from hivelore.doors.memory import DIALECT
from hivelore.work import Hub
from support.corpus import TEXTS
from support.hubs import Store, run_jobs
from support.source import ROOT

KINDS: dict[str, str] = {
    **{
        language: " ".join(text for id, text in TEXTS if id.startswith(language))
        for language in ("en", "zh", "ja", "ko", "de", "ru")
    },
    "finnish": "Tietokannan varmuuskopiot säilytetään kolmekymmentä päivää erillisessä varastossa maanantaiaamuisin.",
    "turkish": "Veritabanı yedekleri otuz gün boyunca ayrı bir depoda saklanır ve her pazartesi kontrol edilir.",
    "vietnamese": "Bản sao lưu cơ sở dữ liệu được giữ ba mươi ngày trong một kho riêng.",
    "greek": "Τα αντίγραφα ασφαλείας της βάσης δεδομένων φυλάσσονται τριάντα ημέρες σε ξεχωριστό χώρο.",
    "arabic": "يتم الاحتفاظ بالنسخ الاحتياطية لقاعدة البيانات لمدة ثلاثين يوما في مخزن منفصل.",
    "hebrew": "גיבויי מסד הנתונים נשמרים שלושים יום באחסון נפרד והצוות בודק אותם בכל יום שני בבוקר.",
    "hindi": "डेटाबेस का बैकअप तीस दिनों तक अलग भंडार में रखा जाता है और टीम हर सोमवार को इसकी जाँच करती है।",
    "thai": "ฐานข้อมูลสำรองจะถูกเก็บไว้สามสิบวันในที่เก็บแยกต่างหาก",
    "python": (ROOT / "src/hivelore/core/tokens_bound.py").read_text(),
    "markdown": (ROOT / "docs/tools.md").read_text()[:20_000],
    "json": json.dumps([{"id": n, "name": f"item {n}", "tags": ["a", "b"], "score": n / 7} for n in range(40)]),
    "hexadecimal": " ".join(secrets.token_hex(16) for _ in range(40)),
    "paths and links": "\n".join(f"/srv/app/releases/2026-05-{n:02}/bin/run --port={8000 + n}" for n in range(1, 29)),
    "emoji": "Done 🎉🚀 ✅ ❌ ⚠️ 👩‍👩‍👧‍👦 🇩🇪 " * 5,
}


def test_our_bound_lies_above_what_a_model_counts_and_not_far_above() -> None:
    for (kind, text), counted in zip(KINDS.items(), o200k_counts([*KINDS.values()]), strict=True):
        assert counted <= tokens_at_most(text) < 3.5 * counted, kind


@pytest.mark.parametrize("form", [{}, {"format": "context"}, {"detail": "index"}])
def test_an_answer_in_many_languages_stays_within_its_budget(
    sqlite_store: Store, make_hub: Callable[..., Hub], form: dict[str, str]
) -> None:
    hub = make_hub(sqlite_store)

    def ask(tool: str, **arguments: object) -> dict[str, object]:
        return dispatch(hub, DIALECT.by_name[tool], Credentials("test"), arguments)

    for text in KINDS.values():
        ask("remember", content=text)
    run_jobs(hub)
    for budget in (400, 3_000):
        answer = ask("recall", query="database backup deploy 数据库 バックアップ", max_tokens=budget, **form)
        counted = o200k_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
        assert budget / 4 < counted <= budget


def test_a_row_of_the_index_takes_about_thirty_tokens(sqlite_store: Store, make_hub: Callable[..., Hub]) -> None:
    hub = make_hub(sqlite_store)
    for _, text in TEXTS:
        dispatch(hub, DIALECT.by_name["remember"], Credentials("test"), {"content": text})
    arguments = {"query": "staging deploy API limit Python packages coffee ticket colour café team", "detail": "index"}
    rows = dispatch(hub, DIALECT.by_name["recall"], Credentials("test"), arguments)["items"]
    assert len(rows) > 4
    assert o200k_tokens(json.dumps(rows, ensure_ascii=False, separators=(",", ":"))) / len(rows) < 36
