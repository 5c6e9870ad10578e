"""The embedder over an HTTP endpoint: what it sends, accepts, and says when things go wrong."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator

import pytest
from embedder_kit import cosine
from embeddings_endpoint import Endpoint, serve, vectors_of

from hivelore.adapters import embed_http
from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.adapters.embed_http import HttpEmbedder
from hivelore.adapters.embed_vectors import pack, unpack
from hivelore.core.errors import Invalid, TextRefused, Unavailable

SECRET = "sk-do-not-tell"


class Clock:
    """A monotonic clock that stands still, and the pauses that were asked for."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.pauses_s: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.pauses_s.append(seconds)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serve() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connect(endpoint: Endpoint, clock: Clock) -> Iterator[Callable[..., HttpEmbedder]]:
    """Make a started embedder; by default it is one that the endpoint has answered once."""
    made: list[HttpEmbedder] = []

    def make(url: str = "", name: str = "some-model", expect: str = "ready", **options: object) -> HttpEmbedder:
        embedder = HttpEmbedder(
            url or endpoint.url,
            name,
            sleep=clock.sleep,
            monotonic=clock.monotonic,
            **options,  # type: ignore[arg-type]
        )
        made.append(embedder)
        embedder.start()
        state = embedder.wait_ready(10)
        assert state.status == expect, state.reason
        return embedder

    yield make
    for embedder in made:
        embedder.close()


def test_texts_go_out_in_batches_of_32_and_come_back_in_order(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint
) -> None:
    texts = [f"note number {at}" for at in range(70)]
    vectors = connect().embed(texts, "passage")
    assert [len(batch) for batch in endpoint.inputs] == [32, 32, 6]
    for vector, same in zip(vectors, HashEmbedder().embed(texts, "passage"), strict=True):
        assert cosine(vector, same) == pytest.approx(1.0, abs=1e-5)
        assert math.hypot(*unpack(vector)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.promise("M-093")
def test_the_request_is_the_openai_one(connect: Callable[..., HttpEmbedder], endpoint: Endpoint) -> None:
    connect(api_key=SECRET).embed(["a note"], "passage")
    sent = endpoint.requests[-1]
    assert sent.path == "/v1/embeddings"
    assert sent.authorization == f"Bearer {SECRET}"
    assert sent.body == {"model": "some-model", "input": ["a note"], "encoding_format": "float"}


def test_no_key_sends_no_authorization(connect: Callable[..., HttpEmbedder], endpoint: Endpoint) -> None:
    connect().embed(["a note"], "passage")
    assert endpoint.requests[-1].authorization is None


def test_user_and_password_of_the_url_become_basic_authentication(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint
) -> None:
    connect(endpoint.url.replace("//", "//ann:p%40ss@")).embed(["a note"], "passage")
    assert endpoint.requests[-1].authorization == "Basic YW5uOnBAc3M="


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("intfloat/multilingual-e5-large", ["query: tea", "passage: tea"]),
        ("e5-small-v2", ["query: tea", "passage: tea"]),
        ("intfloat/multilingual-e5-large-instruct", ["tea", "tea"]),
        ("nomic-embed-text", ["tea", "tea"]),
        ("model5", ["tea", "tea"]),
    ],
)
def test_models_of_the_e5_family_get_their_prefixes(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, name: str, sent: list[str]
) -> None:
    embedder = connect(name=name)
    embedder.embed(["tea"], "query")
    embedder.embed(["tea"], "passage")
    assert [text for batch in endpoint.inputs for text in batch] == sent


def test_empty_and_long_texts_are_made_acceptable(connect: Callable[..., HttpEmbedder], endpoint: Endpoint) -> None:
    connect().embed(["", " \n", "x" * 20_000, "a\0\ud800b"], "passage")
    assert endpoint.inputs == [["-", "-", "x" * 8_000, "a\ufffdb"]]


def test_the_size_is_learned_from_the_first_answer(connect: Callable[..., HttpEmbedder]) -> None:
    embedder = connect()
    assert (embedder.dims, embedder.model) == (256, "http/some-model/256")


def test_an_answer_of_another_size_than_stated_is_refused(connect: Callable[..., HttpEmbedder]) -> None:
    embedder = connect(dims=1024, expect="unavailable")
    assert embedder.dims == 1024
    assert "another size than 1024" in embedder.state().reason
    assert "HIVELORE_EMBED_DIMS" in embedder.state().reason


def test_a_model_that_changes_its_size_later_is_refused(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint
) -> None:
    embedder = connect()
    endpoint.will_answer(200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]})
    with pytest.raises(Unavailable, match="another size than 256"):
        embedder.embed(["a note"], "query")
    assert embedder.dims == 256


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>proxy error</html>",
        b"[]",
        {"data": []},
        {"data": None},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": "aGVsbG8="}]},
        {"data": [{"index": 0, "embedding": [True, False]}]},
        {"data": [{"index": 0, "embedding": [1.0, None]}]},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1e400]}]},
        b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_not_one_vector_for_each_text_is_refused(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, body: object
) -> None:
    embedder = connect()
    endpoint.will_answer(200, body)
    with pytest.raises(Unavailable, match="not a list of one vector for each text"):
        embedder.embed(["a note"], "passage")


def test_an_answer_without_end_is_cut_off(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = connect()
    monkeypatch.setattr(embed_http, "_LIMIT_ANSWER_BYTES", 10_000)
    endpoint.will_answer(200, b" " * 20_000)
    with pytest.raises(Unavailable, match="answer of more than"):
        embedder.embed(["a note"], "passage")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again_with_growing_pauses(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, clock: Clock, status: int
) -> None:
    embedder = connect()
    endpoint.will_answer(status)
    endpoint.will_answer(status)
    assert len(embedder.embed(["a note"], "passage")) == 1
    assert clock.pauses_s == [0.5, 1.0]
    assert embedder.state().status == "ready"


def test_retrying_ends_after_three_attempts(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, clock: Clock
) -> None:
    embedder = connect()
    for _ in range(5):
        endpoint.will_answer(503)
    with pytest.raises(Unavailable, match="status 503"):
        embedder.embed(["a note"], "passage")
    assert len(endpoint.inputs) == 3
    assert len(clock.pauses_s) == 2


@pytest.mark.parametrize(("asked", "pause_s"), [("3", 3.0), ("3600", 8.0), ("tomorrow", 0.5), ("-1", 0.5)])
def test_the_endpoint_may_ask_for_a_pause_within_reason(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, clock: Clock, asked: str, pause_s: float
) -> None:
    embedder = connect()
    endpoint.will_answer(429, retry_after=asked)
    embedder.embed(["a note"], "passage")
    assert clock.pauses_s == [pause_s]


def test_a_query_is_not_kept_waiting_by_retries(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, clock: Clock
) -> None:
    embedder = connect()
    endpoint.will_answer(503)
    with pytest.raises(Unavailable, match="status 503"):
        embedder.embed(["where?"], "query")
    assert clock.pauses_s == []


def test_after_a_failure_nothing_is_sent_for_half_a_minute(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, clock: Clock
) -> None:
    embedder = connect()
    endpoint.will_answer(503)
    with pytest.raises(Unavailable):
        embedder.embed(["where?"], "query")
    assert embedder.state().status == embedder.wait_ready(5).status == "unavailable"
    with pytest.raises(Unavailable, match="status 503"):
        embedder.embed(["where?"], "query")
    assert len(endpoint.inputs) == 1
    clock.now_s += 31
    assert embedder.state().status == "ready"
    assert len(embedder.embed(["where?"], "query")) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_texts_that_are_refused_do_not_count_against_the_endpoint(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, status: int
) -> None:
    embedder = connect()
    endpoint.will_answer(status)
    with pytest.raises(TextRefused, match=f"status {status}"):
        embedder.embed(["a note"], "passage")
    assert embedder.state().status == "ready"
    assert len(endpoint.inputs) == 1


@pytest.mark.parametrize(
    ("status", "setting"),
    [(401, "HIVELORE_EMBED_API_KEY"), (403, "HIVELORE_EMBED_API_KEY"), (404, "HIVELORE_EMBED_MODEL")],
)
def test_a_wrong_setting_is_named_and_not_tried_again(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, status: int, setting: str
) -> None:
    embedder = connect()
    endpoint.will_answer(status, {"error": {"message": f"bad key {SECRET}"}})
    with pytest.raises(Unavailable, match=setting):
        embedder.embed(["a note"], "passage")
    assert len(endpoint.inputs) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(connect: Callable[..., HttpEmbedder], endpoint: Endpoint, status: int) -> None:
    with serve() as elsewhere:
        embedder = connect(api_key=SECRET)
        endpoint.will_answer(status, location=elsewhere.url + "/embeddings")
        with pytest.raises(Unavailable, match="redirects"):
            embedder.embed(["a private note"], "passage")
        assert elsewhere.requests == []


def test_no_message_and_no_log_line_tells_key_password_or_answer(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = endpoint.url.replace("//", f"//ann:{SECRET}-password@")
    embedder = connect(url)
    other = connect(api_key=SECRET)
    told = []
    for each in (embedder, other):
        for status in (400, 401, 404, 429, 500):
            for _ in range(3):
                endpoint.will_answer(status, {"error": f"you sent {SECRET}"})
            with pytest.raises((Unavailable, TextRefused)) as caught:
                each.embed(["a note"], "passage")
            endpoint.answers.clear()
            told += [
                str(caught.value),
                repr(caught.value.data),
                each.state().reason,
                str(caught.value.__cause__),
            ]
            clock.now_s += 31
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("asyncio")]
    assert told
    assert not [text for text in told + logged if SECRET in text or "YW5u" in text]


def test_an_endpoint_that_is_silent_is_given_up_after_the_time_limit(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint
) -> None:
    endpoint.hold = True
    embedder = connect(expect="unavailable", timeout_s=0.05)
    assert "did not answer within 0.05 s" in embedder.state().reason


def test_an_endpoint_that_is_not_there_makes_the_state_unavailable(
    connect: Callable[..., HttpEmbedder],
) -> None:
    with serve() as gone:
        url = gone.url
    embedder = connect(url, expect="unavailable")
    assert embedder.state().reason == "The embeddings endpoint cannot be reached: check HIVELORE_EMBED_URL."
    assert embedder.dims == 0
    with pytest.raises(Unavailable, match="cannot be reached"):
        embedder.embed(["a note"], "query")


def test_an_endpoint_that_comes_up_later_is_found(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_http, "_FIRST_PROBE_PAUSE_S", 0.01)
    answered = threading.Event()

    def pack_and_tell(values: list[float]) -> bytes:
        answered.set()
        return pack(values)

    monkeypatch.setattr(embed_http, "pack", pack_and_tell)
    endpoint.will_answer(503)
    endpoint.will_answer(503)
    embedder = HttpEmbedder(endpoint.url, "some-model")
    embedder.start()
    assert answered.wait(10)
    embedder._probe.join(10)  # type: ignore[union-attr]
    assert embedder.state().status == "ready"
    assert len(endpoint.requests) == 3
    embedder.close()


def test_a_query_does_not_wait_behind_a_batch_of_passages(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint
) -> None:
    embedder = connect()
    endpoint.hold = True
    passages = threading.Thread(target=embedder.embed, args=(["a note"], "passage"))
    passages.start()
    endpoint.wait_for_requests(2)
    endpoint.hold = False
    assert len(embedder.embed(["where?"], "query")) == 1
    assert passages.is_alive(), "the passage is still on its way"
    endpoint.release.set()
    passages.join(10)


def test_closing_during_a_call_ends_it_with_unavailable(
    connect: Callable[..., HttpEmbedder], endpoint: Endpoint
) -> None:
    embedder = connect()
    embedder.close()
    with pytest.raises(Unavailable, match="closed"):
        embedder.embed(["a note"], "passage")


@pytest.mark.promise("M-093")
@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("http://127.0.0.1:11434/v1", False),
        ("http://127.8.9.1/v1", False),
        ("http://localhost:8080", False),
        ("http://LOCALHOST:8080", False),
        ("http://ollama.localhost", False),
        ("http://[::1]:8080/v1", False),
        ("https://api.example.com/v1", True),
        ("http://192.168.1.20:11434/v1", True),
        ("http://0.0.0.0:11434/v1", True),
        ("http://127.0.0.1.example.com/v1", True),
        ("http://localhost.example.com/v1", True),
        ("http://127.0.0.1@example.com/v1", True),
        ("http://ollama:11434/v1", True),
    ],
)
def test_remote_is_true_unless_the_host_is_loopback(url: str, remote: bool) -> None:
    assert HttpEmbedder(url, "m").remote is remote


@pytest.mark.parametrize(
    ("url", "posted_to"),
    [
        ("http://localhost:1/v1", "http://localhost:1/v1/embeddings"),
        ("http://localhost:1/v1/", "http://localhost:1/v1/embeddings"),
        ("http://localhost:1/v1/embeddings", "http://localhost:1/v1/embeddings"),
        ("http://u:p@localhost:1", "http://localhost:1/embeddings"),
        ("http://[::1]:1/v1", "http://[::1]:1/v1/embeddings"),
        ("https://h.example/api?api-version=2#top", "https://h.example/api/embeddings?api-version=2"),
    ],
)
def test_the_address_is_made_from_the_base_url(url: str, posted_to: str) -> None:
    assert embed_http.endpoint(url, "").url == posted_to


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://h/v1", "http://", "http://h:port/v1", "http://[::1/v1", "/v1"]
)
def test_anything_but_a_web_address_is_refused_with_the_setting_named(url: str) -> None:
    with pytest.raises(Invalid, match="HIVELORE_EMBED_URL"):
        HttpEmbedder(url, "m")


@pytest.mark.parametrize("key", ["ключ", "line\nbreak", "tab\t", "nul\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(Invalid, match="HIVELORE_EMBED_API_KEY") as caught:
        HttpEmbedder("http://localhost:1", "m", api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["http://a b.example/v1", "http://exa%mple/v1", "http://.../v1", "http://h:0/v1"])
def test_an_address_that_only_looks_right_makes_the_state_unavailable(
    connect: Callable[..., HttpEmbedder], url: str
) -> None:
    assert "HIVELORE_EMBED_URL" in connect(url, expect="unavailable").state().reason


def test_closing_ends_the_probe(endpoint: Endpoint) -> None:
    endpoint.will_answer(503)
    embedder = HttpEmbedder(endpoint.url, "some-model")
    embedder.start()
    embedder.wait_ready(10)
    embedder.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "hivelore-embed-probe"]


def test_a_model_must_be_named() -> None:
    with pytest.raises(Invalid, match="HIVELORE_EMBED_MODEL"):
        HttpEmbedder("http://localhost:1", "")


def test_the_test_endpoint_itself_shuffles_and_scales() -> None:
    """The order and length checks above would prove nothing against an endpoint that is already tidy."""
    entries = vectors_of(["one", "two"])
    assert [entry["index"] for entry in entries] == [1, 0]
    assert math.hypot(*entries[0]["embedding"]) == pytest.approx(3.0, abs=1e-5)
