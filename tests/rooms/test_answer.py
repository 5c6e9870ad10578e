"""What of the hits is shown within a budget: the most useful whole sentences, each once, the ranking's beginning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hivelore.base.memories.model import Item
from hivelore.base.search.model import Hit
from hivelore.base.search.tokens import query_terms
from hivelore.core.fence import fenced
from hivelore.core.tokens_bound import tokens_at_most
from hivelore.rooms.memory.answer import Around, Filled, Neighbour, Passage, fill, shorter
from hivelore.rooms.memory.service import RecalledItem

OVERHEAD = 20


def found(text: str, *, id: str = "", kind: str = "note", chunk: tuple[int, int] | None = None) -> RecalledItem:
    start, end = chunk or (0, len(text))
    id = id or f"id of {text[:40]}"
    item = Item(id, id, "s", "n", "o", kind, "", "active", "", text, (), "", 0, 1, len(text), {}, 0, 0, 0)
    return RecalledItem(item, Hit(1, kind, id, id, "s", text[start:end], start, 0.5, None, 1, None), text[start:end])


def cost_of(passage: Passage) -> int:
    beside = [*passage.around.before, *passage.around.after]
    return OVERHEAD + tokens_at_most(passage.text) + sum(tokens_at_most(each.text) for each in beside)


def filled(query: str, texts: list[RecalledItem], budget: int, around=None) -> Filled:
    return fill(texts, query_terms(query), budget, cost_of, around)


def texts_of(answer: Filled) -> list[str]:
    return [passage.text for passage in answer.passages]


LONG = " ".join(f"Filler sentence number {n} says nothing of interest." for n in range(80))


def test_the_passage_that_answers_is_shown_and_not_the_head():
    text = f"{LONG} The staging key is called HERON. {LONG.replace('Filler', 'Other')}"
    answer = filled("what is the staging key called?", [found(text)], 120)
    assert "The staging key is called HERON." in answer.passages[0].text
    assert not answer.passages[0].text.startswith("Filler sentence number 0")
    assert answer.passages[0].whole is False


def test_of_sentences_that_tell_nothing_apart_those_of_the_matching_chunk_are_shown():
    at = LONG.index("Filler sentence number 40")
    answer = filled("", [found(LONG, chunk=(at, at + 60))], 60)
    assert answer.passages[0].text.startswith("Filler sentence number 40")


def test_japanese_is_shown_by_sentence():
    text = "発注は月曜日に行う。" * 3 + "検証環境のデプロイは火曜日だけ。" + "金曜日は避ける。会議は水曜日。"
    answer = filled("デプロイ", [found(text)], 45)
    assert texts_of(answer) == ["検証環境のデプロイは火曜日だけ。"]


def test_a_sentence_in_two_memories_is_shown_once():
    one = found("The deploy runs on Thursday. Bob approves it.")
    two = found("Alice wrote this down. The deploy runs on THURSDAY! It needs a token.")
    answer = filled("deploy", [one, two], 500)
    assert " ".join(texts_of(answer)).lower().count("the deploy runs on thursday") == 1
    assert "It needs a token." in answer.passages[1].text
    assert answer.passages[1].text == "Alice wrote this down. … It needs a token."


def test_a_memory_that_repeats_another_is_folded_into_it():
    best = found("The deploy of the billing service runs on Thursday morning, and Bob approves it.", id="best")
    worse = found("The deploy of the billing service runs on Thursday morning; Bob approves.", id="worse")
    answer = filled("deploy", [best, worse], 500)
    assert [(p.found.item.id, p.similar) for p in answer.passages] == [("best", ("worse",))]
    assert (answer.taken, answer.omitted) == (2, 0)


def test_what_differs_in_a_number_a_name_a_negation_or_the_order_is_never_folded():
    base = "The deploy of the billing service in Berlin runs at 9 and Bob tells Alice about it"
    for other in (
        base.replace("9", "10"),
        base.replace("Berlin", "Munich"),
        base.replace("runs", "not runs"),
        "Alice tells Bob: Berlin service the deploy runs 9 billing about at in",
    ):
        answer = filled("deploy", [found(base), found(other)], 500)
        assert len(answer.passages) == 2, other


def test_kinds_are_not_compared_with_each_other():
    text = "The deploy of the billing service runs on Thursday. Nobody may approve it but Bob."
    log = f"{text}\nuser: thanks a lot for telling me"
    answer = filled("deploy", [found(log, kind="session", id="s"), found(text, id="n")], 500)
    assert answer.passages[0].found.item.id == "s"
    assert answer.passages[0].similar == ("n",)  # every sentence of it is shown already, so only its id is
    other = filled("deploy", [found(text, id="n"), found(log, kind="session", id="s")], 500)
    assert [p.found.item.id for p in other.passages] == ["n", "s"]
    assert texts_of(other)[1] == "user: thanks a lot for telling me"


def test_recalled_text_inside_a_memory_is_not_shown():
    text = f"Q: when do we deploy?\n{fenced('We deploy on Mondays.', 'x')}\nA: On Thursdays we deploy."
    assert "Mondays" not in "".join(texts_of(filled("deploy", [found(text)], 500)))


def test_neighbours_come_before_passages_grow_and_only_where_they_fit():
    around = Around((Neighbour("a", "the turn before"),), (Neighbour("b", "the turn behind"),))
    hit = found(f"The deploy failed. {LONG}")
    answer = filled("deploy", [hit], 150, lambda _: around)
    assert answer.passages[0].around == around
    assert "Filler" in answer.passages[0].text
    tight = filled("deploy", [found("The deploy failed.")], 30, lambda _: around)
    assert texts_of(tight) == ["The deploy failed."]
    assert tight.passages[0].around == Around()


def test_what_finds_no_room_is_counted_and_the_next_page_begins_with_it():
    hits = [found(f"Deploy number {n} went well on the machine called box{n}.") for n in range(10)]
    answer = filled("deploy", hits, 150)
    assert 1 < len(answer.passages) < 10
    assert answer.taken == len(answer.passages)
    assert answer.omitted == 10 - answer.taken
    rest = filled("deploy", hits[answer.taken :], 10_000)
    assert texts_of(answer) + texts_of(rest) == [hit.item.text for hit in hits]


def test_of_a_sentence_that_is_longer_than_the_budget_the_beginning_is_shown():
    answer = filled("deploy", [found("The deploy " + "and another thing " * 40 + "went well.")], 90)
    assert answer.passages[0].text.startswith("The deploy and another thing")
    assert answer.passages[0].text.endswith("…")
    assert answer.passages[0].whole is False


def test_an_answer_without_its_last_passage_leads_on_to_it():
    answer = filled("deploy", [found(f"Deploy number {n} went well.") for n in range(4)], 1_000)
    cut = shorter(answer)
    assert (len(cut.passages), cut.taken, cut.omitted) == (3, 3, 1)


WORDS = st.lists(st.sampled_from(["deploy", "heron", "発注", "x1", "no", "Monday.", "end!", "。", "\n"]), max_size=30)


@given(st.lists(WORDS.map(" ".join), max_size=8), st.integers(0, 400))
def test_no_budget_is_exceeded_and_no_hit_is_lost(texts: list[str], budget: int):
    hits = [found(text, id=str(n)) for n, text in enumerate(texts)]
    answer = filled("deploy heron 発注", hits, budget)
    assert sum(map(cost_of, answer.passages)) <= budget
    told = [id for p in answer.passages for id in (p.found.item.id, *p.similar)]
    assert len(told) == len(set(told))
    shown_or_blank = {*told, *(hit.item.id for hit in hits if not hit.item.text.strip())}
    assert len(told) + answer.omitted <= len(hits) <= len(shown_or_blank) + answer.omitted
    assert {str(n) for n in range(answer.taken)} <= shown_or_blank
