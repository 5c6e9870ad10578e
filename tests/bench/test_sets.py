"""The readers of evaluation sets, on tiny files in the published shapes, and what they say about bad ones."""

from __future__ import annotations

import copy
import json

import pytest

from hivelore.bench.model import Corpus, Document, EvalSet, Question, needed, selected
from hivelore.bench.sets.detect import load_all
from hivelore.core.errors import Invalid, NotFound

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_2_date_time": "9:05 am on 3 June, 2023",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "My kite is red.", "blip_caption": "a red kite"}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a kiln."},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Where will it stand?"},
            ],
        },
        "qa": [
            {"question": "What did Ann buy?", "answer": "a kiln", "evidence": ["D1:1"], "category": 4},
            {"question": "What is new?", "answer": "…", "evidence": ["D1:1; D2:1"], "category": 1},
            {"question": "What colour?", "answer": "red", "evidence": ["D9:9"], "category": 9},
            {"question": "Who?", "answer": "nobody", "category": 5},
        ],
    }
]

LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "knowledge-update",
        "question": "Where do I keep the kiln?",
        "answer": "in the shed",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2", "s3"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21", "2023/05/22 (Mon) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "Kilns?"}, {"role": "assistant", "content": "Hot ovens."}],
            [
                {"role": "user", "content": "My kiln is in the shed.", "has_answer": True},
                {"role": "user", "content": " "},
            ],
            [],
        ],
        "answer_session_ids": ["s2"],
    },
    {"question_id": "q2_abs", "question_type": "multi-session", "question": "What is not there?"},
    {
        "question_id": "q3",
        "question_type": "multi-session",
        "question": "Which day?",
        "haystack_session_ids": ["s1"],
        "haystack_sessions": [[{"role": "user", "content": "Hello."}]],
        "answer_session_ids": ["elsewhere"],
    },
]

SQUAD_EN = {
    "data": [
        {
            "title": "Kites",
            "paragraphs": [
                {"context": "A kite flies.", "qas": [{"id": "k1", "question": "What flies?", "answers": []}]},
                {
                    "context": "A kiln is hot.",
                    "qas": [
                        {"id": "k2", "question": "What is hot?", "answers": []},
                        {"id": "k3", "question": "What is cold?", "answers": [], "is_impossible": True},
                    ],
                },
            ],
        }
    ]
}
SQUAD_DE = {
    "version": "1.1",
    "data": [
        {"paragraphs": [{"context": "Ein Brennofen ist heiß.", "qas": [{"id": "k2", "question": "Was ist heiß?"}]}]}
    ],
}

COSQA = [
    {"idx": "c-0", "doc": "python add numbers", "code": "def add(a, b): return a + b", "label": 1},
    {"idx": "c-1", "doc": "python sort list", "code": "def add(a, b): return a + b", "label": 0},
    {"idx": "c-2", "doc": "sum of two values", "code": "def add(a, b): return a + b", "label": 1},
    {"idx": "c-3", "doc": "python reverse", "code": "def back(x): return x[::-1]", "label": 0},
]

CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I build kites."},
                {"role": "assistant", "id": 1, "content": "With silk?"},
            ],
            [{"role": "user", "id": 2, "time_anchor": "not a date", "content": "With paper."}],
        ],
    }
]
PROBES = {
    "abstention": [{"question": "Who is Zed?"}],
    "event_ordering": [{"question": "What came first?", "source_chat_ids": [0, 2, 2]}],
    "temporal_reasoning": [
        {"question": "How long?", "source_chat_ids": {"first_event": [0], "second_event": [1]}},
        {"question": "When?", "source_chat_ids": [77]},
    ],
}

CORPUS = [
    {
        "id": "m1",
        "text": "Kites are red.",
        "tags": ["toy"],
        "title": "Kites",
        "session": "s",
        "happened_at": "2024-05-01",
    },
    {"id": "m2", "content": "Kilns are hot.", "created_at": "2024-05-02T10:00:00Z", "memory_type": "fact"},
]
CASES = [
    {"id": "a", "query": "red?", "relevant": ["m1"], "class": "colour", "asked_at": "2024-06-01"},
    {"id": "b", "question": "hot?", "category": "heat", "relevant": [{"corpus_item_id": "m2", "grade": 3}]},
    {"id": "c", "query": "cold?", "relevant": [{"id": "m1", "grade": 0}]},
]


@pytest.fixture
def put(tmp_path):
    """Write a value as a file under the test's folder: JSON, or one object a line where the name says so."""

    def write(name, value):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "\n".join(json.dumps(each) for each in value) if name.endswith(".jsonl") else json.dumps(value)
        path.write_text(value if isinstance(value, str) else lines, encoding="utf-8")
        return path

    return write


def only(sets):
    (found,) = sets
    return found


def by_id(found):
    return {question.id: question for question in found.questions}


# -- what each format gives


def test_locomo_gives_turns_judged_by_turn_and_session_and_sessions_saved_whole(put):
    turns, sessions = load_all([put("talk.json", LOCOMO)])
    assert (turns.name, turns.units, sessions.name, sessions.units) == (
        "talk turns",
        ("turn", "session"),
        "talk sessions",
        ("session",),
    )
    first, second, third = turns.corpus.documents
    assert (first.id, first.group, first.text, first.units) == (
        "D1:1",
        "conv-1",
        "Ann: I bought a kiln.",
        {"turn": "D1:1", "session": "D1"},
    )
    assert third.text == "Bo: My kite is red. a red kite"
    assert first.event_ms == second.event_ms == 1_683_554_160_000  # 2023-05-08T13:56Z
    whole = sessions.corpus.documents[0]
    assert (whole.id, whole.whole_session) == ("D1", True)
    assert whole.text == "1:56 pm on 8 May, 2023\nAnn: I bought a kiln.\nBo: Where will it stand?"


def test_locomo_questions_have_classes_and_evidence_and_those_without_are_counted(put):
    turns, sessions = load_all([put("talk.json", LOCOMO)])
    assert turns.questions == sessions.questions
    assert turns.left_out == {"evidence is not among the turns": 2}
    single, multi = turns.questions
    assert (single.kind, single.relevant) == ("single-hop", {"turn": {"D1:1"}, "session": {"D1"}})
    assert (multi.kind, multi.relevant) == ("multi-hop", {"turn": {"D1:1", "D2:1"}, "session": {"D1", "D2"}})


def test_longmemeval_gives_each_question_its_own_haystack(put):
    turns, sessions = load_all([put("longmemeval_s", LONGMEMEVAL)])
    assert turns.left_out == {"abstention": 1, "evidence is not in the haystack": 1}
    question = only(turns.questions)
    assert (question.id, question.group, question.kind) == ("q1", "q1", "knowledge-update")
    assert question.relevant == {"turn": {"1:0"}, "session": {"s2"}}
    assert question.asked_ms == 1_685_490_000_000  # 2023-05-30T23:40Z
    assert [(d.id, d.group, d.text, d.units["session"]) for d in turns.corpus.documents] == [
        ("0:0", "q1", "user: Kilns?", "s1"),
        ("0:1", "q1", "assistant: Hot ovens.", "s1"),
        ("1:0", "q1", "user: My kiln is in the shed.", "s2"),
    ]
    assert [d.units for d in sessions.corpus.documents] == [{"session": "s1"}, {"session": "s2"}]
    assert sessions.corpus.documents[1].text == "2023/05/21\nuser: My kiln is in the shed."


def test_beam_gives_messages_with_the_date_that_holds_and_leaves_abstention_out(put):
    put("beam/2/chat.json", CHAT)
    put("beam/2/probing_questions.json", PROBES)
    put("beam/10/chat.json", CHAT)
    path = put("beam/10/probing_questions.json", PROBES).parents[1]
    found = only(load_all([path]))
    assert (found.name, found.units) == ("beam", ("message",))
    assert found.left_out == {"abstention": 2, "evidence is not among the messages": 2}
    assert [(d.group, d.id, d.text) for d in found.corpus.documents[:3]] == [
        ("2", "0", "I build kites."),
        ("2", "1", "With silk?"),
        ("2", "2", "With paper."),
    ]
    assert {d.event_ms for d in found.corpus.documents} == {1_710_460_800_000}  # 2024-03-15
    assert by_id(found)["10/event_ordering/0"].relevant == {"message": {"0", "2"}}
    assert by_id(found)["2/temporal_reasoning/0"].relevant == {"message": {"0", "1"}}


def test_squad_gives_paragraphs_and_leaves_unanswerable_questions_out(put):
    found = only(load_all([put("toys.en.json", SQUAD_EN)]))
    assert (found.name, found.units, found.left_out) == ("toys.en", ("paragraph",), {"cannot be answered": 1})
    assert [d.text for d in found.corpus.documents] == ["A kite flies.", "A kiln is hot."]
    assert by_id(found)["k2"].relevant == {"paragraph": {"1"}}


def test_translations_are_asked_about_each_others_paragraphs(put):
    put("toys.en.json", SQUAD_EN)
    sets = load_all([put("toys.de.json", SQUAD_DE).parent])
    assert [each.name for each in sets] == [
        "toys.de",
        "toys.en",
        "toys.de across languages",
        "toys.en across languages",
    ]
    _, english, in_german, in_english = sets
    question = only(in_english.questions)
    assert (question.text, question.kind) == ("Was ist heiß?", "asked in toys.de")
    assert question.relevant == {"paragraph": {"1"}}
    assert in_english.corpus is english.corpus
    assert only(in_german.questions).text == "What is hot?"


def test_cosqa_asks_only_what_is_answered_and_stores_every_function_once(put):
    found = only(load_all([put("code.json", COSQA)]))
    assert [d.text for d in found.corpus.documents] == ["def add(a, b): return a + b", "def back(x): return x[::-1]"]
    assert [(q.text, q.relevant) for q in found.questions] == [
        ("python add numbers", {"function": {"c-0"}}),
        ("sum of two values", {"function": {"c-0"}}),
    ]
    assert found.left_out == {"the function does not answer the query": 2}


def test_a_set_of_ones_own_has_memories_with_what_remember_takes(put):
    put("mine/corpus.jsonl", CORPUS)
    found = only(load_all([put("mine/cases.jsonl", CASES).parent]))
    assert (found.name, found.units, found.left_out) == ("mine", ("memory", "session"), {"no memory is relevant": 1})
    red, hot = found.corpus.documents
    assert (red.text, red.tags, red.title, red.units) == (
        "Kites are red.",
        ("toy",),
        "Kites",
        {"memory": "m1", "session": "s"},
    )
    assert (hot.text, hot.units, hot.event_ms) == ("Kilns are hot.", {"memory": "m2"}, 1_714_644_000_000)
    a, b = found.questions
    assert (a.kind, a.relevant, a.asked_ms) == ("colour", {"memory": {"m1"}, "session": {"s"}}, 1_717_200_000_000)
    assert (b.text, b.kind, b.relevant) == ("hot?", "heat", {"memory": {"m2"}})


def test_a_folder_gives_all_sets_below_it_and_passes_over_other_files(put):
    put("all/talk/talk.json", LOCOMO)
    put("all/talk/notes.json", {"about": "nothing"})
    put("all/LICENCE.txt", "free")
    put("all/mine/corpus.jsonl", CORPUS)
    put("all/mine/cases.jsonl", CASES)
    put("all/chats/1/chat.json", CHAT)
    top = put("all/chats/1/probing_questions.json", PROBES).parents[2]
    assert [each.name for each in load_all([top])] == ["chats", "mine", "talk turns", "talk sessions"]


def test_the_format_can_be_named(put):
    path = put("x.json", LOCOMO)
    assert [each.name for each in load_all([path], "locomo")] == ["x turns", "x sessions"]
    with pytest.raises(Invalid, match=r"x\.json must be an object"):
        load_all([path], "squad")
    with pytest.raises(Invalid, match="a folder"):
        load_all([path], "beam")
    with pytest.raises(Invalid, match="--format must be one of locomo"):
        load_all([path], "csv")


# -- bad files


def without(value, *keys):
    """A copy in which the thing at the end of these keys is missing."""
    changed = copy.deepcopy(value)
    holder = changed
    for key in keys[:-1]:
        holder = holder[key]
    del holder[keys[-1]]
    return changed


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("x.json", "{not json", "x.json is not JSON: .* in line 1"),
        ("x.json", "[" * 200_000, "x.json is not JSON"),
        ("x.json", {"data": 3}, "no evaluation set"),
        (
            "x.json",
            without(LOCOMO, 0, "conversation", "session_1", 0, "dia_id"),
            "conversation 0 has no field 'dia_id'",
        ),
        ("x.json", without(LOCOMO, 0, "qa", 1, "question"), "question 1 has no field 'question'"),
        ("x.json", [{**LOCOMO[0], "qa": []}], "holds no questions"),
        ("x.json", LOCOMO + LOCOMO, "the text id 'D1:1' 2 times"),
        ("x.json", without(LONGMEMEVAL, 0, "answer_session_ids"), "question 0 has no field 'answer_session_ids'"),
        ("x.json", [{**LONGMEMEVAL[0], "haystack_dates": ["2023/05/20"]}], "3 session ids, 3 sessions and 1 dates"),
        ("x.json", without(SQUAD_EN, "data", 0, "paragraphs", 1, "context"), "article 0 has no field 'context'"),
        ("x.json", without(COSQA, 2, "label"), "pair 2 has no field 'label'"),
        ("x.json", [{**COSQA[0], "label": "1"}], "'label' in .*pair 0 must be a whole number, not str"),
        ("m/corpus.jsonl", [{"id": "m1"}], "line 1 has no field 'text'"),
        ("m/corpus.jsonl", [*CORPUS, CORPUS[0]], "the text id 'm1' 2 times"),
        ("m/corpus.jsonl", [{**CORPUS[0], "happened_at": "May"}], "'happened_at' in .*line 1 must be an ISO 8601"),
        ("m/corpus.jsonl", '{"id": "m1", "text": "x"}\n{oops', "corpus.jsonl, line 2 is not JSON"),
        ("m/cases.jsonl", [{"id": "a", "query": "x", "relevant": ["m9"]}], "line 1 names the memory 'm9'"),
        ("m/cases.jsonl", [{"id": "a", "query": "x", "relevant": "m1"}], "'relevant' in .* must be a list, not str"),
        ("m/cases.jsonl", [{"id": "a", "relevant": ["m1"]}], "line 1 has no field 'query'"),
        ("m/cases.jsonl", [CASES[0], CASES[0]], "the question id 'a' 2 times"),
        ("b/chat.json", [{"turns": [[{"id": "0", "content": "x"}]]}], "'id' in .*batch 0 must be a whole number"),
    ],
)
def test_a_bad_file_is_named_with_the_place_and_what_is_wrong(put, name, value, words):
    path = put(name, value)
    if name.startswith("m/"):
        for other, content in (("corpus.jsonl", CORPUS), ("cases.jsonl", CASES)):
            if path.name != other:
                put(f"m/{other}", content)
    if name.startswith("b/"):
        put("b/probing_questions.json", PROBES)
    with pytest.raises(Invalid, match=words):
        load_all([path.parent if "/" in name else path])


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'["\xff"]')
    with pytest.raises(Invalid, match="not UTF-8"):
        load_all([path])


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(NotFound, match="gone"):
        load_all([tmp_path / "gone"])


def test_two_sets_of_one_name_are_refused(put):
    with pytest.raises(Invalid, match="2 sets are called 'toys'"):
        load_all([put("a/toys.json", SQUAD_EN), put("b/toys.json", SQUAD_DE)])


# -- choosing questions


def many(count=400):
    questions = tuple(Question(f"q{i}", f"g{i}", "?", "all", {"memory": frozenset({"m"})}) for i in range(count))
    documents = tuple(Document("m", f"g{i}", "text", {"memory": "m"}) for i in range(count))
    return EvalSet("many", Corpus("many", documents), questions, ("memory",))


def test_the_halves_are_about_equal_share_nothing_and_never_change():
    found = many()
    dev, held_out = (selected(found, half, None).questions for half in ("dev", "held-out"))
    assert {q.id for q in dev} | {q.id for q in held_out} == {q.id for q in found.questions}
    assert not {q.id for q in dev} & {q.id for q in held_out}
    assert 160 < len(dev) < 240
    halves = [Question(f"q{i}", "", "", "", {}).half for i in range(6)]
    assert halves == ["dev", "held-out", "dev", "dev", "held-out", "dev"]


def test_a_sample_is_the_same_every_time_and_spread_over_the_file():
    found = selected(many(), None, 20).questions
    assert found == selected(many(), None, 20).questions
    assert len(found) == 20
    places = [int(q.id[1:]) for q in found]
    assert places == sorted(places)
    assert places[-1] > 300
    assert {q.id for q in selected(many(), None, 10).questions} < {q.id for q in found}


def test_only_haystacks_of_chosen_questions_are_stored_and_everything_else_whole():
    shared = many().corpus
    own = Corpus("own", shared.documents, own_haystacks=True)
    assert [d.group for d in needed(own, {"g3", "g7"})] == ["g3", "g7"]
    assert needed(shared, {"g3"}) == shared.documents
