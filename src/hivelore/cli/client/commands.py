"""`hivelore health`, `search`, `timeline`, `add`, `get` and `delete`: one HTTP call each, for people or as JSON."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from hivelore.cli import output
from hivelore.cli.client.api import call, find_target, memory_path
from hivelore.core.clock import SystemClock, age, parse_iso_ms
from hivelore.core.errors import Invalid, TooLarge, Unavailable

LAYERS = ("L1", "L2", "L3", "Skill")
MAX_STDIN_BYTES = 32 * 1024 * 1024


def health(args: Namespace) -> int:
    """Ask the server how it is."""
    target = find_target(args, os.environ)
    answer = call(target, "GET", "/health", timeout_s=args.timeout)
    if args.json:
        _print_json(answer)
    else:
        output.say(f"hivelore {_line(answer.get('version', '?'))} answers at {target.url}")
        for row in output.table(_health_rows(answer), width=output.width_of(), indent="  "):
            output.say(row)
    storage = answer.get("storage")
    if answer.get("ok") is not True or (isinstance(storage, dict) and storage.get("ready") is False):
        raise Unavailable(f"The server at {target.url} says that it is not ready.")
    return 0


def search(args: Namespace) -> int:
    """Search by meaning and words."""
    body: dict[str, object] = {"query": _words(args.query, "QUERY"), "limit": args.limit, "verbose": True}
    if args.layers:
        body["layers"] = [_layer(name, "--layers") for name in _listed(args.layers)]
    if args.tags:
        body["tags"] = _listed(args.tags)
    body |= _budgeted(args)
    answer = _call(args, "POST", "/memory/search", body)
    if args.json:
        _print_json(answer)
        return 0
    if args.context:
        output.say(output.plain(str(answer.get("injectedContext") or "")))
        return 0
    if args.index or args.max_tokens or args.neighbours:
        return _print_compact(answer)
    debug = answer.get("debug")
    hits = debug.get("hits") if isinstance(debug, dict) else None
    if not isinstance(hits, list):  # a server that gives no hits gives the text for the model
        output.say(output.plain(str(answer.get("injectedContext") or "Nothing found.")))
        return 0
    if "memory_search:disabled" in (answer["debug"].get("status") or ()):
        output.complain("search is switched off on the server")
    if not hits:
        output.say("Nothing found.")
        return 0
    now_ms = SystemClock().now_ms()
    for number, hit in enumerate(hits, start=1):
        _print_hit(number, hit, now_ms)
    count = "1 memory" if len(hits) == 1 else f"{len(hits)} memories"
    output.say(output.styled(f"{count}. `hivelore get ID` shows one in full.", "dim"))
    return 0


def timeline(args: Namespace) -> int:
    """Show what was said or stored around a memory."""
    body = {"id": _utf8(args.id, "ID"), "before": args.before, "after": args.after}
    answer = _call(args, "POST", "/memory/timeline", body)
    if args.json:
        _print_json(answer)
        return 0
    for item in answer.get("items") or ():
        mark = "> " if item.get("here") else "  "
        facts = " · ".join(_line(item.get(name)) for name in ("id", "kind", "age") if item.get(name))
        output.say(output.styled(mark, "bold") + output.styled(facts, "cyan"))
        output.say(output.wrap("  " + _line(item.get("content") or ""), output.width_of(), indent="  "))
    return 0


def add(args: Namespace) -> int:
    """Store a text; `-` reads it from standard input."""
    content = _stdin_text() if args.text == ["-"] else _words(args.text, "TEXT")
    body: dict[str, object] = {"content": content}
    if args.title:
        body["title"] = _utf8(args.title, "--title")
    if args.tags:
        body["tags"] = _listed(args.tags)
    if args.layer:
        body["layer"] = _layer(args.layer, "--layer")
    if args.supersedes:
        body["supersedes"] = _utf8(args.supersedes, "--supersedes")
    answer = _call(args, "POST", "/memory/add", body)
    if args.json:
        _print_json(answer)
        return 0
    told = "Was stored before" if answer.get("duplicate") is True else "Stored"
    output.say(f"{told}: {output.styled(_line(answer.get('id')), 'cyan')}")
    details = [answer.get("title"), answer.get("memoryLayer"), _tags(answer)]
    output.say("  " + " · ".join(_line(detail) for detail in details if detail))
    return 0


def get(args: Namespace) -> int:
    """Show one memory in full."""
    answer = _call(args, "GET", memory_path(args.id))
    if args.json:
        _print_json(answer)
        return 0
    now_ms = SystemClock().now_ms()
    output.say(output.styled(_line(answer.get("title") or answer.get("id")), "bold"))
    stored = f"stored {_age(answer['createdAt'], now_ms)}" if answer.get("createdAt") else ""
    facts = [answer.get("id"), answer.get("memoryLayer"), answer.get("status"), stored, _tags(answer)]
    output.say(output.styled(" · ".join(_line(fact) for fact in facts if fact), "dim"))
    output.say()
    text = answer.get("body") or answer.get("summary") or ""
    output.say(output.wrap(output.plain(str(text)).strip("\n"), output.width_of()))
    return 0


def delete(args: Namespace) -> int:
    """Delete one memory."""
    answer = _call(args, "DELETE", memory_path(args.id))
    if args.json:
        _print_json(answer)
    else:
        output.say(f"Deleted: {_line(answer.get('id') or args.id)}")
    return 0


def _budgeted(args: Namespace) -> dict[str, object]:
    """The fields of a search that make its answer short."""
    if args.index and (args.context or args.max_tokens or args.neighbours or args.explain):
        raise Invalid("--index prints one line for each memory; leave out the other forms.")
    body: dict[str, object] = {}
    if args.max_tokens:
        body["maxTokens"] = args.max_tokens
    if args.neighbours:
        body["context"] = args.neighbours
    if args.context:
        body["format"] = "context"
    if args.index:
        body["detail"] = "index"
    if args.explain:
        body["explain"] = True
    return body


def _call(args: Namespace, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
    source = {"source": _utf8(args.source, "--source")} if args.source else {}
    if body is None and source:
        from urllib.parse import urlencode

        path += "?" + urlencode(source)
    elif body is not None:
        body = {**body, **source}
    return call(find_target(args, os.environ), method, path, body, timeout_s=args.timeout)


# -- what came in


def _words(words: Iterable[str], name: str) -> str:
    text = _utf8(" ".join(words), name)
    if not text.strip():
        raise Invalid(f"{name} must not be empty.")
    return text


def _utf8(text: str, name: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid(f"{name} is not UTF-8 text.") from None
    return text


def _stdin_text() -> str:
    raw = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(raw) > MAX_STDIN_BYTES:
        raise TooLarge(f"Standard input holds more than {MAX_STDIN_BYTES} bytes; nothing was stored.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("Standard input is not UTF-8 text; nothing was stored.") from None
    if not text.strip():
        raise Invalid("Standard input is empty; nothing was stored.")
    return text


def _listed(text: str) -> list[str]:
    return [item.strip() for item in _utf8(text, "--tags").split(",") if item.strip()]


def _layer(name: str, option: str) -> str:
    for layer in LAYERS:
        if name.lower() == layer.lower():
            return layer
    raise Invalid(f"{option} must be of {', '.join(LAYERS)}, not “{name}”.")  # servers drop unknown names silently


# -- what goes out


def _print_json(answer: Mapping[str, Any]) -> None:
    text = json.dumps(answer, ensure_ascii=False, indent=2)
    # JSON leaves DEL and the C1 controls as they are, and terminals obey them.
    output.say(re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text))


def _line(value: object) -> str:
    return output.one_line(str(value))


def _tags(answer: Mapping[str, Any]) -> str:
    tags = answer.get("tags")
    return ", ".join(str(tag) for tag in tags) if isinstance(tags, list) else ""


def _age(moment: object, now_ms: int) -> str:
    try:
        return age(parse_iso_ms(str(moment), "time"), now_ms)
    except Invalid:
        return _line(moment)


def _print_hit(number: int, hit: Mapping[str, Any], now_ms: int) -> None:
    lead = f"{number}. "
    text = output.one_line(str(hit.get("snippet") or hit.get("title") or ""))
    wrapped = output.wrap(text, output.width_of(), indent=" " * len(lead))
    output.say(output.styled(lead, "bold") + wrapped[len(lead) :])
    score = hit.get("score")
    facts = [
        output.styled(_line(hit.get("id", "?")), "cyan"),
        _line(hit.get("memoryLayer") or hit.get("kind") or ""),
        _age(hit["updatedAt"], now_ms) if hit.get("updatedAt") else "",
        f"score {score:.2f}" if isinstance(score, int | float) else "",
        _line(_tags(hit)),
    ]
    output.say(" " * len(lead) + " · ".join(fact for fact in facts if fact))
    if isinstance(hit.get("explain"), dict):
        output.say(" " * len(lead) + output.styled(_why(hit["explain"]), "dim"))
    output.say()


def _why(explain: Mapping[str, Any]) -> str:
    """How a score came about, in one line."""

    def number(name: str) -> str:
        value = explain.get(name)
        return f"{value:.3f}" if isinstance(value, int | float) else "none"

    ranks = [
        f"words: rank {_line(explain.get('textRank') or 'none')}, BM25 {number('textScore')}",
        f"meaning: rank {_line(explain.get('vectorRank') or 'none')}, cosine {number('cosine')}",
    ]
    parts = explain.get("parts")
    added = [f"{_line(name)} {value:+.3f}" for name, value in parts.items()] if isinstance(parts, dict) else []
    return "; ".join([*ranks, " ".join(added)])


def _print_compact(answer: Mapping[str, Any]) -> int:
    index = answer.get("index")
    if isinstance(index, dict):
        rows = [[_line(value) for value in row] for row in index.get("rows") or ()]
        for line in output.table(rows, width=output.width_of()):
            output.say(line)
        if not rows:
            output.say("Nothing found.")
        return 0
    items = answer.get("items") or ()
    for item in items:
        for text in item.get("before") or ():
            output.say(output.styled(output.wrap(f"  before: {_line(text)}", output.width_of(), "  "), "dim"))
        output.say(output.wrap(output.plain(str(item.get("content") or "")), output.width_of()))
        for text in item.get("after") or ():
            output.say(output.styled(output.wrap(f"  after: {_line(text)}", output.width_of(), "  "), "dim"))
        alike = f"{item['similar']} more alike" if item.get("similar") else ""
        facts = [item.get("id"), item.get("age"), item.get("source"), alike]
        output.say(output.styled(" · ".join(_line(fact) for fact in facts if fact), "cyan"))
        output.say()
    left_out = (answer.get("omitted") or {}).get("items")
    if left_out:
        output.say(output.styled(f"{left_out} more found; a larger --max-tokens shows them.", "dim"))
    elif not items:
        output.say("Nothing found.")
    return 0


def _health_rows(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if isinstance(answer.get("uptimeMs"), int | float):
        rows.append(("up for", output.span(int(answer["uptimeMs"]))))
    storage = answer.get("storage")
    if isinstance(storage, dict):
        ready = "ready" if storage.get("ready") is not False else "NOT READY"
        rows.append(("storage", f"{_line(storage.get('backend', '?'))}, {ready}"))
    models = answer.get("models")
    for name, model in models.items() if isinstance(models, dict) else ():
        if isinstance(model, dict):
            rows.append((_line(name), _model_line(model)))
    return rows


def _model_line(model: Mapping[str, Any]) -> str:
    if model.get("configured") is False:
        return "off"
    named = " ".join(_line(model[key]) for key in ("provider", "model") if model.get(key))
    notes = [
        "text leaves this machine" if model.get("remote") is True else "",
        _line(model.get("lastError") or ""),
    ]
    return ", ".join(part for part in (named, *notes) if part)
