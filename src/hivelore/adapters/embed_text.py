"""What is done to a text before a model sees it, and what the name of a model tells about it."""

from __future__ import annotations

import re

from hivelore.core.ports import EmbedRole
from hivelore.core.text import clean

_E5 = re.compile(r"(?:^|[^a-z0-9])e5(?:[^a-z0-9]|$)")
E5_COSINES = (0.78, 0.92)  # the family was trained at a low temperature, so even unrelated texts are close
_OTHER_COSINES = (0.3, 0.9)
_E5_PREFIXES: dict[EmbedRole, str] = {"query": "query: ", "passage": "passage: "}


def needs_e5_prefix(model_name: str) -> bool:
    """Whether a model was trained with "query: " and "passage: " in front of every text.

    Source: the model cards of the E5 family. Its `-instruct` members take an instruction instead and nothing
    in front of passages, so they are left alone.
    """
    name = model_name.lower()
    return _E5.search(name) is not None and "instruct" not in name


def usual_cosines(model_name: str) -> tuple[float, float]:
    """The cosines that a model by this name is likely to give to unrelated and to clearly related texts."""
    return E5_COSINES if _E5.search(model_name.lower()) else _OTHER_COSINES


def with_e5_prefix(text: str, role: EmbedRole) -> str:
    """The text as an E5 model wants it."""
    return _E5_PREFIXES[role] + text


def encodable(text: str, limit_chars: int) -> str:
    """The beginning of a text, without NUL and lone surrogates."""
    return clean(text[:limit_chars]).text
