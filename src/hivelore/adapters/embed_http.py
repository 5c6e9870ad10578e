"""Vectors from an OpenAI-compatible embeddings endpoint: Ollama, text-embeddings-inference, vLLM, a provider.

The text of every memory is sent to the endpoint; `remote` says whether that leaves this machine. Nothing that
this file raises or logs carries the key, the address or what the endpoint said.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from hivelore.adapters.embed_loading import CLOSED, LOADING, NOT_STARTED, READY
from hivelore.adapters.embed_text import encodable, needs_e5_prefix, usual_cosines, with_e5_prefix
from hivelore.adapters.embed_vectors import pack
from hivelore.core.errors import Invalid, TextRefused, Unavailable
from hivelore.core.ports import EmbedderState, EmbedRole

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

BATCH = 32
_LIMIT_CHARS = 8_000  # endpoints differ in what they do beyond their context; none has fewer than 512 tokens
# Somebody waits for the answer to a query; search by words gives one at once.
_ATTEMPTS: dict[EmbedRole, int] = {"query": 1, "passage": 3}
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 8.0
_WORTH_RETRYING = {408, 425, 429, 500, 502, 503, 504}
_ABOUT_THE_TEXTS = {400, 413, 422}
_COOL_DOWN_S = 30.0  # after a failure: queries fall back to text search at once instead of waiting for a time-out each
_FIRST_PROBE_PAUSE_S, _LONGEST_PROBE_PAUSE_S = 2.0, 60.0
_CLOSE_WAIT_S = 5.0
_LIMIT_ANSWER_BYTES = 32 * 1024 * 1024
_PROBE_TEXT = "hivelore"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to post, with which Authorization header, and whether that is another machine."""

    url: str
    authorization: str
    remote: bool


def endpoint(base_url: str, api_key: str) -> Endpoint:
    """Read the base URL ("http://127.0.0.1:11434/v1"); a user and password in it become Basic authentication.

    Raises `Invalid` for anything but an http(s) URL with a host.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise Invalid(
            "HIVELORE_EMBED_URL must be the base URL of an embeddings endpoint, such as http://127.0.0.1:11434/v1",
            field="embed_url",
        )
    if not (api_key.isascii() and api_key.isprintable()):
        raise Invalid(
            "HIVELORE_EMBED_API_KEY must be printable ASCII, as it is sent in a header", field="embed_api_key"
        )
    path = parts.path.rstrip("/")
    path = path if path.endswith("/embeddings") else path + "/embeddings"
    netloc = f"[{host}]" if ":" in host else host
    url = urlunsplit((parts.scheme, netloc if port is None else f"{netloc}:{port}", path, parts.query, ""))
    authorization = f"Bearer {api_key}" if api_key else ""
    if parts.username and not api_key:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    return Endpoint(url, authorization, not _is_loopback(host))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Failed(Exception):
    """A request that gave no vectors.

    What to tell; whether the same request may work a little later; whether it was only this request (these
    texts) and not the endpoint that failed.
    """

    def __init__(self, message: str, *, retry: bool = False, wait_s: float = 0.0, only_this: bool = False) -> None:
        super().__init__(message)
        self.retry, self.wait_s, self.only_this = retry, wait_s, only_this


class HttpEmbedder:
    """An `Embedder` that asks an endpoint.

    `dims` 0 means that the first answer tells; an answer of another size than that is refused. `start` sends
    one probe and repeats it, ever less often, until the endpoint has answered once. After a failed call the
    state is `unavailable` for half a minute, then the next call tries again.
    """

    def __init__(
        self,
        base_url: str,
        model_name: str,
        *,
        api_key: str = "",
        dims: int = 0,
        timeout_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not model_name:
            raise Invalid(
                "HIVELORE_EMBED_MODEL must name the model that the embeddings endpoint serves",
                field="embed_model",
            )
        self._endpoint, self._name, self.dims = endpoint(base_url, api_key), model_name, dims
        self.remote = self._endpoint.remote
        self.cosine_range = usual_cosines(model_name)
        self._timeout_s, self._sleep, self._monotonic = timeout_s, sleep, monotonic
        self._e5 = needs_e5_prefix(model_name)
        self._lock = threading.Lock()
        self._passages = threading.Lock()  # one batch of passages at a time; queries go past it
        self._client: httpx2.Client | None = None
        self._probe: threading.Thread | None = None
        self._probed_once = threading.Event()
        self._closing = threading.Event()
        self._answered = False
        self._failure: EmbedderState | None = None
        self._retry_at_s = 0.0

    @property
    def model(self) -> str:
        """Name and dimensions; the dimensions are 0 until they are known."""
        return f"http/{self._name}/{self.dims}"

    def state(self) -> EmbedderState:
        if self._closing.is_set():
            return CLOSED
        if self._probe is None:
            return NOT_STARTED
        failure = self._failure
        if failure is not None and (not self._answered or self._monotonic() < self._retry_at_s):
            return failure
        return READY if self._answered else LOADING

    def start(self) -> None:
        with self._lock:
            if self._probe is None and not self._closing.is_set():
                self._probe = threading.Thread(
                    target=self._probe_until_answered, name="hivelore-embed-probe", daemon=True
                )
                self._probe.start()

    def _probe_until_answered(self) -> None:
        pause_s = _FIRST_PROBE_PAUSE_S
        while not self._closing.is_set():
            try:
                self._batch([_PROBE_TEXT], attempts=1)
                return
            except Unavailable as exc:
                log.warning("embeddings endpoint not ready: %s", exc.message)
            finally:
                self._probed_once.set()
            self._closing.wait(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PROBE_PAUSE_S)

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        if self._probe is not None:
            self._probed_once.wait(timeout_s)
        return self.state()

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """One vector per text, in order; 32 texts a request. Raises `Unavailable` without a usable answer."""
        state = self.state()
        if state.status != "ready":
            raise Unavailable(state.reason)
        ready = [self._prepared(text, role) for text in texts]
        vectors: list[bytes] = []
        for start in range(0, len(ready), BATCH):
            batch = ready[start : start + BATCH]
            if role == "query":
                vectors += self._batch(batch, _ATTEMPTS[role])
            else:
                with self._passages:
                    vectors += self._batch(batch, _ATTEMPTS[role])
        return vectors

    def _prepared(self, text: str, role: EmbedRole) -> str:
        text = encodable(text, _LIMIT_CHARS)
        if self._e5:
            return with_e5_prefix(text, role)
        return text if text.strip() else "-"  # several endpoints refuse a whole batch for one empty text

    def prepare(self, query: str) -> Callable[[], bytes]:
        """Nothing of this is short."""
        return lambda: self.embed([query], "query")[0]

    def close(self) -> None:
        self._closing.set()
        self._probed_once.set()
        with self._lock:
            client, self._client = self._client, None
            probe = self._probe
        if client is not None:
            client.close()
        if probe is not None:
            probe.join(_CLOSE_WAIT_S)

    def _batch(self, texts: list[str], attempts: int) -> list[bytes]:
        """Send one request, again if that may help; keep the books of success and failure."""
        pause_s = _FIRST_PAUSE_S
        for attempt in range(1, attempts + 1):
            try:
                vectors = self._request(texts)
                self._answered, self._failure = True, None
                return vectors
            except _Failed as exc:
                if exc.retry and attempt < attempts and not self._closing.is_set():
                    self._sleep(min(max(pause_s, exc.wait_s), _LONGEST_PAUSE_S))
                    pause_s *= 2
                    continue
                if exc.only_this and self._answered:
                    raise TextRefused(str(exc)) from None
                self._retry_at_s = self._monotonic() + _COOL_DOWN_S
                self._failure = EmbedderState("unavailable", str(exc))
                raise Unavailable(str(exc)) from None  # the cause may name the address
        raise AssertionError("unreachable: every attempt returns, continues or raises")

    def _request(self, texts: list[str]) -> list[bytes]:
        import httpx2

        body = {"model": self._name, "input": texts, "encoding_format": "float"}
        try:
            with self._connection().stream("POST", self._endpoint.url, json=body) as answer:
                _check_status(answer.status_code, answer.headers.get("retry-after", ""))
                received = bytearray()
                for piece in answer.iter_bytes():
                    received += piece
                    if len(received) > _LIMIT_ANSWER_BYTES:
                        raise _Failed("The embeddings endpoint gave an answer of more than 32 MB.")
        except (httpx2.InvalidURL, UnicodeError):  # the latter from host names that DNS cannot carry
            raise _Failed("HIVELORE_EMBED_URL is not a valid address.") from None
        except httpx2.TimeoutException:
            raise _Failed(f"The embeddings endpoint did not answer within {self._timeout_s:g} s.", retry=True) from None
        except (httpx2.HTTPError, RuntimeError):  # RuntimeError: the client was closed by another thread
            raise _Failed("The embeddings endpoint cannot be reached: check HIVELORE_EMBED_URL.", retry=True) from None
        return self._vectors(bytes(received), len(texts))

    def _connection(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._closing.is_set():
                raise _Failed(CLOSED.reason)
            if self._client is None:
                headers = {"Authorization": self._endpoint.authorization} if self._endpoint.authorization else {}
                # A proxy from the environment would carry text off this machine while `remote` says it stays.
                self._client = httpx2.Client(
                    headers=headers,
                    timeout=self._timeout_s,
                    follow_redirects=False,
                    trust_env=self._endpoint.remote,
                )
            return self._client

    def _vectors(self, received: bytes, count: int) -> list[bytes]:
        """Read an answer: `count` vectors in the order of the texts, all of one size. Raises `_Failed`."""
        try:
            entries = sorted(json.loads(received)["data"], key=lambda entry: entry["index"])
            if [entry["index"] for entry in entries] != list(range(count)):
                raise ValueError("texts and vectors do not match")
            vectors = [pack(_numbers(entry["embedding"])) for entry in entries]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise _Failed(
                "The embeddings endpoint gave an answer that is not a list of one vector for each text."
            ) from None
        with self._lock:
            self.dims = self.dims or len(vectors[0]) // 4
        if any(len(vector) != self.dims * 4 for vector in vectors):
            raise _Failed(
                f"The embeddings endpoint gave vectors of another size than {self.dims}: check "
                "HIVELORE_EMBED_MODEL and HIVELORE_EMBED_DIMS."
            )
        return vectors


def _numbers(values: Any) -> list[float]:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ValueError("a vector is not a list of numbers")
    return values


def _check_status(status: int, retry_after: str) -> None:
    """Raise `_Failed` for every status but 200, in words that say which setting to look at."""
    if status == 200:
        return
    if 300 <= status < 400:
        # Following it would send texts and key to a place the user has not named.
        raise _Failed("The embeddings endpoint redirects elsewhere: set HIVELORE_EMBED_URL to the final address.")
    hints = {
        401: "HIVELORE_EMBED_API_KEY",
        403: "HIVELORE_EMBED_API_KEY",
        404: "HIVELORE_EMBED_URL and HIVELORE_EMBED_MODEL",
    }
    hint = f": check {hints[status]}" if status in hints else ""
    wait_s = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
    raise _Failed(
        f"The embeddings endpoint answered with status {status}{hint}.",
        retry=status in _WORTH_RETRYING,
        wait_s=wait_s,
        only_this=status in _ABOUT_THE_TEXTS,
    )
