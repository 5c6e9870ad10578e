"""`hivelore config`: every setting, its value, where that comes from, what it is for. Secrets are masked."""

from __future__ import annotations

import json
import os
from argparse import Namespace

from hivelore.cli import output
from hivelore.core.errors import Invalid
from hivelore.core.settings import setting_names
from hivelore.core.settings_load import (
    Loaded,
    did_you_mean,
    mask,
    metadata_of,
    shown,
    unread_variables,
    validate,
    variable_of,
)


def run(args: Namespace) -> int:
    """Print all settings, or the one that is named. Returns 64 when a server could not start with them."""
    loaded: Loaded = args.loaded
    if args.name:
        return _print_one(loaded, args.name, as_json=args.json)
    problem = _problem(loaded)
    unread = unread_variables(os.environ)
    if args.json:
        settings = [_described(loaded, name) for name in setting_names()]
        report = {
            "settings": settings,
            "warnings": list(loaded.warnings),
            "unreadVariables": list(unread),
            "problem": problem or None,
        }
        output.say(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _print_all(loaded)
        if unread:
            output.say(f"Set, but hivelore has no use for: {', '.join(unread)}")
    if problem:
        raise Invalid(problem)
    return 0


def _problem(loaded: Loaded) -> str:
    try:
        validate(loaded.settings)
    except Invalid as error:
        return error.message
    return ""


def _print_one(loaded: Loaded, wanted: str, *, as_json: bool) -> int:
    name = wanted.lower().removeprefix("hivelore_")
    if name not in setting_names():
        raise Invalid(f"There is no setting {wanted}.{did_you_mean(name, setting_names())} See: hivelore config")
    if as_json:
        output.say(json.dumps(_described(loaded, name), ensure_ascii=False, indent=2))
    else:
        output.say(shown(mask(name, getattr(loaded.settings, name))))
    return 0


def _described(loaded: Loaded, name: str) -> dict[str, object]:
    return {
        "name": name,
        "value": mask(name, getattr(loaded.settings, name)),
        "origin": loaded.origins[name],
        "variable": variable_of(name),
        "secret": metadata_of(name)["secret"],
        "description": metadata_of(name)["doc"],
    }


def _print_all(loaded: Loaded) -> None:
    names = setting_names()
    rows = [
        (
            name,
            shown(mask(name, getattr(loaded.settings, name))) or "(empty)",
            loaded.origins[name],
            metadata_of(name)["doc"],
        )
        for name in names
    ]
    lines = output.table(rows, width=output.width_of(), indent="  ")
    group = ""
    for name, line in zip(names, lines, strict=True):
        if metadata_of(name)["group"] != group:
            group = metadata_of(name)["group"]
            output.say(output.styled(group, "bold"))
        output.say(line)
