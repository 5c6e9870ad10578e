"""The default answer to each kind of error, looked up along the class hierarchy."""

from __future__ import annotations

from hivelore.core import errors
from hivelore.core.errors import HiveloreError

HTTP_STATUS: dict[type[HiveloreError], int] = {
    errors.Invalid: 422,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Gone: 410,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.RateLimited: 429,
    errors.Unavailable: 503,
    errors.Unsupported: 501,
    HiveloreError: 500,
}


def http_status(error: HiveloreError) -> int:
    """The HTTP status of an error."""
    return next(HTTP_STATUS[kind] for kind in type(error).__mro__ if kind in HTTP_STATUS)
