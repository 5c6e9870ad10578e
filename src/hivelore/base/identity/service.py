"""Authentication by static bearer keys, and the scope that a caller's words mean. No SQL, no transport."""

from __future__ import annotations

import hashlib
import hmac

from hivelore.core.actor import LOCAL_USER, Principal, Role, Scope, space_of
from hivelore.core.errors import Invalid, Unauthenticated
from hivelore.core.settings import Settings

EVERYTHING = "*"


class LocalAuth:
    """Everybody is the user `local`, with or without a credential. Only for a server that listens on loopback."""

    def authenticate(self, authorization: str | None) -> Principal:
        return Principal(LOCAL_USER, Role.OWNER)


class FixedAuth:
    """Every request is of one user: for a process that its user started, such as `hivelore stdio`."""

    def __init__(self, user: str) -> None:
        self._principal = Principal(user, Role.OWNER if user == LOCAL_USER else Role.AGENT)

    def authenticate(self, authorization: str | None) -> Principal:
        return self._principal


class BearerKeyAuth:
    """Static keys. Only their SHA-256 digests are kept in memory, and all are compared, in constant time each."""

    def __init__(self, pairs: tuple[str, ...]) -> None:
        """`pairs` are `key:user`, split at the first colon (the settings loader has checked them)."""
        self._principals = tuple(
            (hashlib.sha256(key.encode()).digest(), Principal(user, Role.AGENT))
            for key, _, user in (pair.partition(":") for pair in pairs)
        )

    def authenticate(self, authorization: str | None) -> Principal:
        if not authorization:
            raise Unauthenticated("Authentication failed: missing Authorization header (expected: Bearer <key>)")
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Unauthenticated("Authentication failed: the Authorization header must be: Bearer <key>")
        digest = hashlib.sha256(key.strip().encode("utf-8", "surrogatepass")).digest()
        found = None
        for known, principal in self._principals:
            if hmac.compare_digest(known, digest):
                found = principal
        if found is None:
            raise Unauthenticated("Authentication failed: invalid API key")
        return found


def make_authenticator(settings: Settings) -> LocalAuth | BearerKeyAuth:
    """Choose by `auth` and `api_keys`; the settings loader has refused unsafe combinations."""
    if settings.auth == "local" or (settings.auth == "auto" and not settings.api_keys):
        return LocalAuth()
    return BearerKeyAuth(settings.api_keys)


def resolve_scope(principal: Principal, settings: Settings, names: tuple[str, ...]) -> Scope:
    """Turn namespaces as a caller writes them into a scope; `*` alone or among others means all that is readable."""
    if EVERYTHING in names:
        return Scope(None)
    shared = frozenset(settings.shared_namespaces)
    spaces = [space_of(name, principal.id, shared) for name in names]
    # A name that became shared does not hide what its users kept under it before.
    own = [space_of(name, principal.id, frozenset()) for name in names if name in shared]
    return Scope(tuple(dict.fromkeys((*spaces, *own))))


def clean_namespace(name: str | None, default: str, limit_chars: int) -> str:
    """Null or empty means the default (contract); otherwise the name as written, checked for length."""
    if not name:
        return default
    if len(name) > limit_chars:
        raise Invalid(
            f"namespace has {len(name)} characters; the limit is {limit_chars}. Use a shorter name.", field="namespace"
        )
    return name
