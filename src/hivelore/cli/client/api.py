"""One HTTP call to a hivelore server: where it is, which key to send, and what its answer means.

The dialect is `/api/v1` with JSON bodies; an error body is {"error": {"code", "message", "requestId"}}.
"""

from __future__ import annotations

import http.client
import json
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from hivelore.core.errors import (
    Conflict,
    Forbidden,
    Gone,
    HiveloreError,
    Invalid,
    NotFound,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from hivelore.core.settings_load import Loaded, is_loopback

URL_VARIABLES = ("HIVELORE_URL", "MEMMY_MEMORY_URL", "MEMORY_SERVICE_URL")
TOKEN_VARIABLES = ("HIVELORE_TOKEN", "MEMMY_MEMORY_TOKEN", "MEMORY_SERVICE_TOKEN")
BASE = "/api/v1"
MAX_ANSWER_BYTES = 64 * 1024 * 1024

_KINDS: Mapping[int, type[HiveloreError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    501: Unsupported,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", "[::]", "*"})


@dataclass(frozen=True, slots=True)
class Target:
    """A server: `secure` (TLS), host, port, path before /api/v1, and the key to send (may be empty)."""

    secure: bool
    host: str
    port: int
    prefix: str
    token: str = ""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.prefix}"


def find_target(args: Namespace, env: Mapping[str, str]) -> Target:
    """Find the server and key: options, then variables, then the settings of a server on this machine.

    Variables of `.env` name no server here: a file in some project must not receive memories or keys.
    """
    loaded: Loaded = args.loaded
    named = args.url or _first(env, URL_VARIABLES)
    url = named or _url_of_settings(loaded)
    token = args.token or _first(env, TOKEN_VARIABLES)
    target = _parsed(url)
    if not token and loaded.settings.api_keys and is_loopback(target.host):
        token = loaded.settings.api_keys[0].partition(":")[0]
    if not token.isascii() or any(char <= " " for char in token):
        raise Invalid("--token (or HIVELORE_TOKEN) must be ASCII characters without spaces.")
    return Target(target.secure, target.host, target.port, target.prefix, token)


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((env[name].strip() for name in names if env.get(name, "").strip()), "")


def _url_of_settings(loaded: Loaded) -> str:
    host = loaded.settings.host
    if host in _ANY_ADDRESS:
        host = "127.0.0.1"
    if loaded.origins["host"].startswith(".env") and not is_loopback(host):
        raise Invalid(f"HIVELORE_HOST in .env names another machine ({host}); say --url to use it.")
    if loaded.settings.port == 0:
        raise Invalid("HIVELORE_PORT is 0, so the server's port is not known here; say --url or set HIVELORE_URL.")
    return f"http://{f'[{host}]' if ':' in host.strip('[]') else host}:{loaded.settings.port}"


def _parsed(url: str) -> Target:
    wrong = Invalid("The server's URL (--url or HIVELORE_URL) must look like http://127.0.0.1:8420.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise wrong
    if parts.username is not None or parts.password is not None:
        raise Invalid("The server's URL must hold no user or password; give the key with --token or HIVELORE_TOKEN.")
    secure = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix(BASE)
    return Target(secure, parts.hostname, port or (443 if secure else 80), prefix)


def memory_path(memory_id: str) -> str:
    """Path of one memory. Raises `Invalid` for what cannot be an id."""
    if not memory_id.strip() or memory_id in (".", ".."):
        raise Invalid("ID must be the id of a memory, such as `hivelore search` shows.")
    return f"/memory/{quote(memory_id, safe='')}"


def call(
    target: Target, method: str, path: str, body: Mapping[str, object] | None = None, *, timeout_s: float
) -> dict[str, Any]:
    """Make one request and return the JSON object of its answer.

    Raises `Unavailable` when nothing answers in time or what answers is no hivelore server, otherwise the
    kind of `HiveloreError` that the status stands for, with the server's own message.
    """
    headers = {"accept": "application/json", "user-agent": "hivelore-cli"}
    if target.token:
        headers["authorization"] = f"Bearer {target.token}"
    payload = None
    if body is not None:
        payload = json.dumps(body, ensure_ascii=False).encode("utf-8")
        headers["content-type"] = "application/json"
    status, answer_headers, raw = _exchange(target, method, target.prefix + BASE + path, payload, headers, timeout_s)
    answer = _json_object(raw)
    if 200 <= status < 300 and answer is not None:
        return answer
    raise _error(target, status, answer_headers, answer)


def _exchange(
    target: Target,
    method: str,
    path: str,
    payload: bytes | None,
    headers: Mapping[str, str],
    timeout_s: float,
) -> tuple[int, http.client.HTTPMessage, bytes]:
    kind = http.client.HTTPSConnection if target.secure else http.client.HTTPConnection
    connection = kind(target.host, target.port, timeout=timeout_s)
    try:
        connection.connect()
        # A server that refuses a large body may close early; its answer is still to be read.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request(method, path, payload, dict(headers))
        answer = connection.getresponse()
        raw = answer.read(MAX_ANSWER_BYTES + 1)
        if len(raw) > MAX_ANSWER_BYTES:
            raise TooLarge(f"The answer of {target.url} is larger than {MAX_ANSWER_BYTES} bytes.")
        return answer.status, answer.headers, raw
    except TimeoutError:
        raise Unavailable(f"{target.url} did not answer within {timeout_s:g} s (--timeout changes that).") from None
    except ConnectionRefusedError:
        raise Unavailable(_nobody_there(target)) from None
    except http.client.HTTPException:
        raise Unavailable(f"What answers at {target.url} does not speak HTTP; check --url.") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unavailable(f"{target.url} cannot be reached: {reason}. Check --url and the network.") from None
    finally:
        connection.close()


def _nobody_there(target: Target) -> str:
    tried = f"No hivelore server answers at {target.url}."
    if is_loopback(target.host):
        way_out = "Start one with `hivelore serve` (in a checkout: `scripts/serve`), or name another with --url."
    else:
        way_out = "Start `hivelore serve` on that machine, or name another server with --url or HIVELORE_URL."
    return f"{tried}\n{way_out}"


def _json_object(raw: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(raw)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _error(
    target: Target, status: int, headers: http.client.HTTPMessage, answer: dict[str, Any] | None
) -> HiveloreError:
    if 300 <= status < 400:
        place = headers.get("location", "another address")
        return Unavailable(f"{target.url} sends callers on to {place}; if that is right, name it with --url.")
    error = answer.get("error") if answer else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        if status in (502, 503, 504):
            return Unavailable(f"{target.url} does not answer right now (HTTP {status}). Try again.")
        return Unavailable(f"What answers at {target.url} is no hivelore server (HTTP {status}); check --url.")
    message = str(error["message"])
    kind = _KINDS.get(status)
    if kind is Unauthenticated:
        return Unauthenticated(f"{message}. Give a key with --token or HIVELORE_TOKEN.")
    if kind is RateLimited and headers.get("retry-after"):
        message += f" Try again in {headers['retry-after']} s."
    if kind is None:
        return HiveloreError(f"{message} (the server's request id: {error.get('requestId', 'none')})")
    return kind(message)
