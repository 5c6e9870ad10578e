"""Secrets out of text, before it is stored, indexed or embedded.

`redact` replaces what looks like a credential with `[REDACTED:<kind>]` and says how often it did so. Two
errors are possible and both cost something: a key that stays is stored for good, and a commit hash that goes
is knowledge lost. The rules lean on what gives a secret away: a published prefix (`ghp_`, `AKIA`, `xoxb-`), a
name beside the value (`password=`, `client_secret:`), or a long run that reads like noise. Hashes in
hexadecimal, UUIDs, paths, references (`$DB_PASSWORD`, `settings.password`, `get_password()`) and words are
left alone.

The kinds `ssh_private_key`, `authorization_bearer`, `anthropic_api_key`, `openai_api_key`, `google_api_key`,
`password` and `base64_secret` are part of the transcript import contract; the others follow the token formats
that their issuers publish.

Every pattern takes time linear in the text: quantifiers are bounded, or a look-behind allows one attempt per
run of characters, so hostile input cannot stall an import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

MARKER = "[REDACTED:"

Span = tuple[int, int]
"""Start and end (exclusive) of the characters to replace."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets, and how many of each kind were replaced."""

    text: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """All replacements together."""
        return sum(self.counts.values())


def redact(text: str) -> Redacted:
    """Replace every secret found in `text`; a second pass over the result finds nothing more.

    >>> redact("export DB_PASSWORD=hunter2").text
    'export DB_PASSWORD=[REDACTED:password]'
    """
    counts: dict[str, int] = {}
    lowered = _lower(text)
    for rule in RULES:
        if rule.hints and not any(hint in lowered for hint in rule.hints):
            continue
        pieces: list[str] = []
        cursor = 0
        for start, end in rule.find(text, lowered):
            if start < cursor:
                continue
            pieces += (text[cursor:start], f"{MARKER}{rule.kind}]")
            cursor = end
            counts[rule.kind] = counts.get(rule.kind, 0) + 1
        if pieces:
            text = "".join((*pieces, text[cursor:]))
            lowered = _lower(text)
    return Redacted(text, counts)


def _lower(text: str) -> str:
    """Lower case with every offset kept: U+0130 is the one letter whose lower case has two characters."""
    return text.replace("\u0130", "i").lower()


Find = Callable[[str, str], Iterator[Span]]
"""Finds the spans in a text, given the text and its lower case."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: lower-case `hints` of which one must occur, and a function that finds the spans."""

    kind: str
    hints: tuple[str, ...]
    find: Find


# --- what a value looks like --------------------------------------------------------------------------------

# A token may follow a line break that is still written as an escape, as in JSON inside a tool's output.
_LEFT = r"(?:(?<![A-Za-z0-9_\-])|(?<=\\[nrt]))"

_WORD_RUNS = re.compile(r"[a-z]{4,}|[A-Z]{5,}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(?:[?!]?\.[A-Za-z_]\w*)+[!?]?")
_PLAIN_NAME = re.compile(r"[A-Za-z_]+")
_CAMEL_CASE = re.compile(r"(?:[A-Z][a-z]+){2,}")
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w./\\@+\- ]*")
_ONE_CHARACTER = re.compile(r"(.)\1*", re.DOTALL)

_NOT_A_SECRET = frozenset(
    """
    none null nil undefined true false yes no on off str string text bytes char varchar any object int integer
    number bool boolean required optional default empty unset missing invalid wrong incorrect hidden masked
    redacted secretstr field return pass raise break continue yield await new not this self function lambda
    prompt
    """.split()
)
_PROSE_AFTER_BEARER = frozenset(
    """
    token tokens auth authentication authorization header headers scheme schema credential credentials format
    string value values realm error security
    """.split()
)
# The word after `password`, `token` and the like in a name that speaks about one and holds none.
_ABOUT_IT = frozenset(
    """
    length len min minimum max maximum file path dir url uri link reset policy field hint expiry expires
    expired expiration age count required requirement strength prompt label placeholder input type id name
    column attempt manager generator generation validator validation valid rule ref usage used per left limit
    budget form screen page flow ize izer izers ization
    """.split()
)
_NEXT_WORD = re.compile(r"s?[_\-]{0,2}([A-Z]?[a-z]+|[A-Z]+)")


def _speaks_about_it(rest_of_name: str) -> bool:
    word = _NEXT_WORD.match(rest_of_name)
    return word is not None and (word[1].lower() in _ABOUT_IT or word[1].lower().removesuffix("s") in _ABOUT_IT)


def _wordiness(value: str) -> float:
    """Share of characters in runs of letters of one case: near 0.08 in random base64, above 0.5 in names."""
    return sum(len(run) for run in _WORD_RUNS.findall(value)) / len(value)


def _is_reference(value: str) -> bool:
    """A placeholder, a variable, an expression or an earlier marker: it stands for a secret and is none."""
    return (
        not value.strip()
        or value[0] in "$<{%*[(:"
        or MARKER in value
        or "{{" in value
        or "${" in value
        or _ONE_CHARACTER.fullmatch(value) is not None
        or value.lower().rstrip(".") in _NOT_A_SECRET
    )


def _has_letter_and_digit(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


# --- spans by pattern ---------------------------------------------------------------------------------------


def _pattern(expression: str, accept: Callable[[str], bool] | None = None, flags: re.RegexFlag = re.NOFLAG) -> Find:
    """Spans of the group `secret`, or of the whole match where it is not used, that `accept` agrees to."""
    compiled = re.compile(expression, flags)
    named = "secret" in compiled.groupindex

    def find(text: str, _lowered: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            group: int | str = "secret" if named and match["secret"] is not None else 0
            if accept is None or accept(match[group]):
                yield match.span(group)

    return find


_KEY_FRAME = re.compile(r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_LINE = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{20}")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s]|\\[nr])*")


def _private_keys(text: str, _lowered: str) -> Iterator[Span]:
    """Whole key blocks; a block that was cut off loses the lines that can still belong to it."""
    for frame, following in pairwise((*_KEY_FRAME.finditer(text), None)):
        if frame is None or frame[1] != "BEGIN":
            continue
        if following is not None and following[1] == "END":
            between = text[frame.end() : following.start()]
            names_the_frames_only = any(c in between for c in "\"'()") and not _KEY_LINE.search(between)
            if not names_the_frames_only:
                yield frame.start(), following.end()
            continue
        body = _KEY_BODY.match(text, frame.end())
        if body is not None and len(body[0].strip()) >= 16:
            yield frame.start(), frame.end() + len(body[0].rstrip())


def _openai(value: str) -> bool:
    body = value[3:]
    separated = "-" in body or "_" in body
    return _has_letter_and_digit(body) and _wordiness(body) < 0.5 and (len(body) >= 40 or not separated)


def _bearer(value: str) -> bool:
    a_word = len(value) < 12 and value.isalpha() and value.islower()
    return not a_word and value.lower() not in _PROSE_AFTER_BEARER and not _is_reference(value)


def _bare_bearer(value: str) -> bool:
    return _bearer(value) and _has_letter_and_digit(value) and _wordiness(value) < 0.5


_MEDIA_DATA = re.compile(r"data:(?:image|audio|video|font)/[\w.+\-]{1,60}(?:;[\w=\-]{1,60}){0,3};base64,\Z")
_PUBLIC_BEFORE = re.compile(
    r"(?:sha(?:1|224|256|384|512)[-:=]|h1:|ssh-[a-z0-9\-]{1,20} |ecdsa-[a-z0-9\-]{1,30} )\Z", re.I
)
_BASE64_RUN = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,}={0,2}")
_BASE64_SURE_CHARS = 4096


def _base64(text: str, _lowered: str) -> Iterator[Span]:
    """Long runs that read like noise. Media data, checksums and public keys are long and are not secret."""
    for match in _BASE64_RUN.finditer(text):
        start, end = match.span()
        before = text[max(0, start - 200) : start]
        if before.endswith("\\") and text[start] in "nrt":  # the letter of an escaped line break
            start += 1
        run = text[start:end].rstrip("=")
        if _MEDIA_DATA.search(before) or _PUBLIC_BEFORE.search(before):
            continue
        if len(run) >= _BASE64_SURE_CHARS or (len(run) >= 32 and _reads_like_noise(run)):
            yield start, end


def _reads_like_noise(run: str) -> bool:
    mixed = any(c.isupper() for c in run) and any(c.islower() for c in run) and any(c.isdigit() for c in run)
    too_many_slashes = run.count("/") > 1 + len(run) / 16  # one in 64 is expected; a path has one in eight
    return mixed and not too_many_slashes and not _HEX.fullmatch(run) and _wordiness(run) < 0.35


# --- values beside a name -----------------------------------------------------------------------------------

# How much of an unquoted value is looked at. Names inside it are looked at again, so it is not more.
_BARE_CHARS = 200
_ASSIGNED = re.compile(
    r"""(?P<rest>[A-Za-z0-9_\-]{0,30})(?:\\{0,3}["'`])?\]?[ \t]{0,4}
    (?P<op>:=|=>|={1,3}|:)(?P<gap>[ \t]{0,4}(?:\*{1,3}[ \t]{0,2})?)
    (?:"(?P<double>(?:\\.|[^"\\\n]){1,1000})"
      |'(?P<single>(?:\\.|[^'\\\n]){1,1000})'
      |(?P<escape>\\{1,3}["'])(?P<inner>[^\n]{1,1000}?)(?P=escape)
      |["'`]?(?P<bare>(?:[^\s"'`<>;&,\\]|\\(?![nrt"'])|[;&,](?![ ]?[\w.\-]{1,40}[ ]?=)){1,"""
    + str(_BARE_CHARS)
    + r"}))",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Assigned:
    """A value found beside a name, with what its surroundings tell."""

    name: str
    operator: str
    spaced: bool
    quoted: bool
    value: str
    span: Span
    alone_on_line: bool
    closes_argument: bool


def _assigned(text: str, names: Iterable[Span]) -> Iterator[_Assigned]:
    for name_start, name_end in names:
        match = _ASSIGNED.match(text, name_end)
        if match is None or _speaks_about_it(match["rest"]):
            continue
        before = text[max(0, name_start - 120) : name_start].replace("\\n", "\n")
        if _INSIDE_MARKER.search(before):
            continue
        group = next(g for g in ("double", "single", "inner", "bare") if match[g] is not None)
        start, end = match.span(group)
        if group == "bare":
            end = start + len(match[group].rstrip("):.,;]}*"))  # what belongs to the sentence or call around it
        if end > start:
            yield _Assigned(
                name=text[name_start:name_end],
                operator=match["op"],
                spaced=bool(match["gap"]) or text[match.start("op") - 1] in " \t",
                quoted=group != "bare",
                value=text[start:end],
                span=(start, end),
                alone_on_line=bool(_KEY_ON_LINE.fullmatch(before.rpartition("\n")[2]))
                and _END_OF_LINE.match(text, end) is not None,
                closes_argument=text[end : end + 1] in (",", ")"),
            )


_INSIDE_MARKER = re.compile(r"\[REDACTED:[a-z0-9_]{0,30}\Z")
_KEY_ON_LINE = re.compile(r"[\s\-\"'#>*|]{0,80}[\w.\-]{0,60}")
_END_OF_LINE = re.compile(r"[ \t;,\"']{0,4}(?:\r?\n|\\n|\Z)")


def _is_password(found: _Assigned) -> bool:
    """Whether the value beside `password` is one: literal text, and no type, variable, call or sentence."""
    value = found.value
    if _is_reference(value):
        return False
    if found.quoted:
        return not (" " in value and "pass" in value.lower())  # a label such as "Enter your password"
    if "(" in value or "[" in value or _DOTTED_NAME.fullmatch(value) or _PATH.fullmatch(value):
        return False
    if _PLAIN_NAME.fullmatch(value):
        return _word_is_password(found)
    if found.operator == ":" and value.isdigit():
        return len(value) >= 6 or found.alone_on_line
    return True


def _word_is_password(found: _Assigned) -> bool:
    """A bare word may be a weak password, a variable or a type; the notation around it decides."""
    word, name = found.value.lower(), found.name.lower()
    if word == name or ("_" in word and name in word) or _CAMEL_CASE.fullmatch(found.value):
        return False
    if found.operator == ":":
        return found.spaced and found.alone_on_line
    if found.operator != "=" or found.spaced:
        return False
    return found.name.isupper() or not found.closes_argument


def _occurrences(lowered: str, words: tuple[str, ...], accept: Callable[[int], bool] | None = None) -> list[Span]:
    """Where `words` occur, in order. Word by word is ten times as fast as one pattern for all of them."""
    found: list[Span] = []
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            if accept is None or accept(at):
                found.append((at, at + len(word)))
            at = lowered.find(word, at + len(word))
    return sorted(found)


def _password_names(lowered: str) -> list[Span]:
    return _occurrences(lowered, ("password", "passwd", "passphrase"))


_BEFORE_KEY = tuple(
    word + joint
    for word in "api access private auth encryption signing account shared master secret".split()
    for joint in ("", "_", "-")
)


def _secret_names(lowered: str) -> list[Span]:
    keys = _occurrences(lowered, ("key",), lambda at: lowered[max(0, at - 12) : at].endswith(_BEFORE_KEY))
    return sorted(keys + _occurrences(lowered, ("secret", "token", "credential", "authorization")))


_SECRET_VALUE = re.compile(r"[A-Za-z0-9_\-+/=.~:|!@#$%^&*]{16,1000}")


def _is_named_secret(found: _Assigned) -> bool:
    """Whether the value beside `token`, `api_key` and the like is random enough to be one."""
    value = found.value
    if _is_reference(value) or not _SECRET_VALUE.fullmatch(value) or not _has_letter_and_digit(value):
        return False
    if "://" in value or _DOTTED_NAME.fullmatch(value) or _PATH.fullmatch(value) or _SLUG.fullmatch(value):
        return False
    could_be_code = not found.quoted and value.isidentifier()
    return _wordiness(value) < (0.3 if could_be_code else 0.75)


_SLUG = re.compile(r"(?:[A-Za-z]{1,40}|[0-9]{1,40})(?:[\-_.:/](?:[A-Za-z]{1,40}|[0-9]{1,40})){1,40}")
_REST_OF_RUN = re.compile(r"[^\s\"'`<>;&,\\]*")


def _beside(names: Callable[[str], list[Span]], accept: Callable[[_Assigned], bool]) -> Find:
    def find(text: str, lowered: str) -> Iterator[Span]:
        cursor = 0
        for found in _assigned(text, names(lowered)):
            start, end = found.span
            if start >= cursor and accept(found):
                # only the beginning of a very long bare value was looked at; all of it has to go
                rest = _REST_OF_RUN.match(text, end) if len(found.value) >= _BARE_CHARS - 8 else None
                cursor = rest.end() if rest else end
                yield start, cursor

    return find


# --- the rules, most specific first -------------------------------------------------------------------------

# (kind, hints, expression). Each alternative is a prefix that its issuer gives to nothing else.
_PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("anthropic_api_key", "sk-ant-", r"sk-ant-[a-z0-9]{2,16}-[A-Za-z0-9_\-]{16,}"),
    ("google_api_key", "aiza", r"AIza[0-9A-Za-z_\-]{35}"),
    ("google_oauth", "ya29. gocspx-", r"ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{20,}"),
    (
        "github_token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}",
    ),
    (
        "gitlab_token",
        "glpat- gldt- glrt- glft- glsoat- glcbt- glptt- glagent- glimt-",
        r"gl(?:pat|dt|rt|ft|soat|cbt|ptt|agent|imt)-[A-Za-z0-9_\-]{20,}",
    ),
    ("slack_token", "xox xapp-", r"xox[abceoprs]-[A-Za-z0-9\-]{10,}|xapp-[0-9]-[A-Za-z0-9\-]{10,}"),
    (
        "slack_webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_\-]{20,})",
    ),
    ("aws_access_key_id", "akia asia", _LEFT + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (
        "aws_secret_key",
        "secret",
        r"(?i:secret_?-?(?:access_?-?)?key)\\{0,3}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    (
        "stripe_key",
        "k_live_ k_test_ whsec_",
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
    ),
    ("jwt", "eyj", _LEFT + r"eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{4,}\.[A-Za-z0-9_\-]*"),
    (
        "npm_token",
        "npm_ _authtoken",
        r"npm_[A-Za-z0-9]{36}|_authToken[ ]{0,2}=[ ]{0,2}(?P<secret>[^\s\"'$\[]{8,256})",
    ),
    ("pypi_token", "pypi-", r"pypi-[A-Za-z0-9_\-]{50,}"),
    ("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("sendgrid_key", "sg.", r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}"),
    ("telegram_token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}(?![A-Za-z0-9_\-])"),
    (
        "access_token",
        "dop_v1_ doo_v1_ shpat_ shpss_ shpca_ shppa_ glsa_ lin_api_ figd_ dckr_pat_ nvapi- gsk_ tvly- pplx- "
        "sq0 hvs. atatt3x sntrys_ age-secret-key- r8_ xai- rubygems_ ntn_",
        r"do[op]_v1_[a-f0-9]{40,}|shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}|glsa_[A-Za-z0-9_]{32,}"
        r"|lin_api_[A-Za-z0-9]{32,}|figd_[A-Za-z0-9_\-]{32,}|dckr_pat_[A-Za-z0-9_\-]{20,}"
        r"|nvapi-[A-Za-z0-9_\-]{40,}|gsk_[A-Za-z0-9]{40,}|tvly-[A-Za-z0-9\-]{28,}|pplx-[A-Za-z0-9]{40,}"
        r"|sq0(?:atp|csp)-[A-Za-z0-9_\-]{22,}|hvs\.[A-Za-z0-9_\-]{24,}|ATATT3x[A-Za-z0-9_\-=]{40,}"
        r"|sntrys_[A-Za-z0-9_\-=+/]{40,}|AGE-SECRET-KEY-1[0-9A-Z]{58}|rubygems_[a-f0-9]{48}"
        rf"|{_LEFT}(?:r8_[A-Za-z0-9]{{37}}|xai-[A-Za-z0-9]{{60,}}|ntn_[A-Za-z0-9]{{40,}})",
    ),
)


_URL_PASSWORD = r"://[^\s:/@\"'<>\\`]{0,128}:(?P<secret>[^\s/\"'<>\\`?]{1,256})@"
_ODBC_PASSWORD = r";[ ]{0,4}pwd[ ]{0,4}=[ ]{0,4}(?P<secret>[^;\s\"']{1,256})"


def _literal(value: str) -> bool:
    return not _is_reference(value)


RULES: tuple[Rule, ...] = (
    Rule("ssh_private_key", ("private key",), _private_keys),
    *(Rule(kind, tuple(hints.split()), _pattern(expression)) for kind, hints, expression in _PREFIXED),
    Rule("openai_api_key", ("sk-",), _pattern(_LEFT + r"sk-[A-Za-z0-9_\-]{32,}", _openai)),
    Rule(
        "authorization_bearer",
        ("authorization",),
        _pattern(
            r"authorization\W{1,8}(?:bearer|token)\s{1,4}(?P<secret>[\w\-.~+/]{6,}={0,2})",
            _bearer,
            re.I | re.A,
        ),
    ),
    Rule(
        "authorization_basic",
        ("authorization",),
        _pattern(r"authorization\W{1,8}basic\s{1,4}(?P<secret>[\w+/]{6,}={0,2})", _bearer, re.I | re.A),
    ),
    Rule(
        "authorization_bearer",
        ("bearer",),
        _pattern(r"(?<![a-z])bearer\s{1,4}(?P<secret>[\w\-.~+/]{20,}={0,2})", _bare_bearer, re.I | re.A),
    ),
    Rule("connection_string", ("://",), _pattern(_URL_PASSWORD, _literal)),
    Rule("connection_string", ("pwd",), _pattern(_ODBC_PASSWORD, _literal, re.I)),
    Rule("password", ("pass",), _beside(_password_names, _is_password)),
    Rule(
        "secret",
        ("key", "secret", "token", "credential", "authorization"),
        _beside(_secret_names, _is_named_secret),
    ),
    Rule("base64_secret", (), _base64),
)
