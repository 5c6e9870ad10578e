"""The kinds of failure, once for every door.

A room raises a kind or a subclass of one; the docstring of the class is its default message. A door decides
status codes, flags and words (`hivelore.doors.kit.answers`); no transport detail lives here. Messages are read
by people and by language models: they name the field, the limit and the fix, and never carry SQL, paths or secrets.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HiveloreError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str = "", **data: Any) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.data = data
        super().__init__(self.message)


class Invalid(HiveloreError):
    """The input is not valid."""

    code = "invalid_argument"


class TextRefused(Invalid):
    """The embedding model refuses this text."""

    code = "text_refused"


class Unauthenticated(HiveloreError):
    """No valid credential was given."""

    code = "unauthenticated"


class Forbidden(HiveloreError):
    """The caller may not do this."""

    code = "forbidden"


class NotFound(HiveloreError):
    """There is no such thing for this caller."""

    code = "not_found"


class Conflict(HiveloreError):
    """The request contradicts what is stored."""

    code = "conflict"


class Gone(HiveloreError):
    """It existed and was removed."""

    code = "gone"


class TooLarge(HiveloreError):
    """The input is larger than the limit."""

    code = "too_large"


class RateLimited(HiveloreError):
    """Rate limit exceeded."""

    code = "rate_limited"


class Unavailable(HiveloreError):
    """A part that is needed does not answer right now."""

    code = "unavailable"


class Unsupported(HiveloreError):
    """This server does not offer that."""

    code = "unsupported"


KINDS: tuple[type[HiveloreError], ...] = (
    Invalid,
    Unauthenticated,
    Forbidden,
    NotFound,
    Conflict,
    Gone,
    TooLarge,
    RateLimited,
    Unavailable,
    Unsupported,
)
