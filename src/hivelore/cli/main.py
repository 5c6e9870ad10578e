"""The `hivelore` command: help, dispatch, parsing, exit codes.

Commands are data (`cli/commands.py`). A command's module is imported when it was chosen and not before: `hivelore
search` must answer before a person notices waiting.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import hivelore
from hivelore.cli import output
from hivelore.cli.commands import COMMANDS, Command, Option
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

# Exit codes follow sysexits.h where it has a word for the failure. First match wins.
EXIT_CODES: tuple[tuple[int, str, tuple[type[BaseException], ...]], ...] = (
    (64, "wrong usage, or a value that is not valid", (Invalid,)),
    (65, "the input is too large", (TooLarge,)),
    (66, "there is no such thing (or no more)", (NotFound, Gone)),
    (69, "no server answers, or something that is needed is missing", (Unavailable, Unsupported)),
    (70, "internal error", (HiveloreError,)),
    (75, "it contradicts what is stored, or too many calls: try again later", (Conflict, RateLimited)),
    (77, "no valid key, or not allowed", (Unauthenticated, Forbidden)),
    (130, "interrupted with Ctrl-C", (KeyboardInterrupt,)),
    (141, "the reader of the output went away", (BrokenPipeError,)),
)


FIRST_STEPS = (
    ("hivelore serve", "Start the server (leave it running)."),
    ('hivelore add "We deploy on Thursdays."', "Remember something."),
    ("hivelore search when do we deploy", "Find it again."),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Messages for people go to standard error, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # text that the terminal cannot show must not stop a command
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        code = exit_code(error)
    except BrokenPipeError as error:
        _drop_stdout()
        code = exit_code(error)
    except HiveloreError as error:
        output.complain(error.message)
        code = exit_code(error)
    except Exception as error:
        _report_internal(error)
        code = 70
    return code


def exit_code(error: BaseException) -> int:
    """Exit code of a failure: that of the most specific kind it belongs to."""
    for kind in type(error).__mro__:
        for code, _, kinds in EXIT_CODES:
            if kind in kinds:
                return code
    return 70


def command_named(name: str) -> Command:
    """Find a command. Raises `Invalid` with the nearest name."""
    for command in COMMANDS:
        if command.name == name:
            return command
    group = [command.name for command in COMMANDS if command.name.startswith(f"{name.partition(' ')[0]} ")]
    if group:
        raise Invalid(f"There is no command {name}; there is {' and '.join(group)}. See: hivelore {group[0]} --help")
    from hivelore.core.settings_load import did_you_mean

    hint = did_you_mean(name, [command.name for command in COMMANDS])
    raise Invalid(f"There is no command {name}.{hint} See: hivelore --help")


def _named_at_start(words: Sequence[str]) -> tuple[Command, Sequence[str]]:
    """The command that the first word, or the first two (`bench recall`), name; and the words behind it."""
    two = " ".join(words[:2])
    for command in COMMANDS:
        if command.name == two and len(words) > 1:
            return command, words[2:]
    in_group = any(command.name.startswith(f"{words[0]} ") for command in COMMANDS)
    return command_named(two if in_group and not two.endswith(("-h", "--help")) else words[0]), words[1:]


def _dispatch(argv: list[str]) -> int:
    words = argv[: argv.index("--")] if "--" in argv else argv
    if not argv or argv[0] in ("-h", "--help") or argv == ["help"]:
        output.say(overview())
        return 0
    if argv[0] in ("-V", "--version", "version") and len(argv) == 1:
        output.say(f"hivelore {hivelore.__version__}")
        return 0
    if argv[0] == "help":
        output.say(help_of(_named_at_start(argv[1:])[0]))
        return 0
    command, rest = _named_at_start(argv)
    if "-h" in words or "--help" in words:
        output.say(help_of(command))
        return 0
    return _run(command, parse(command, rest))


def _run(command: Command, args: argparse.Namespace) -> int:
    from hivelore.cli.config_files import load_settings
    from hivelore.core.settings_load import validate

    flags = {option.setting: getattr(args, _dest(option)) for option in command.all_options if option.setting}
    args.loaded = load_settings(os.environ, Path.cwd(), flags, command.dotenv)
    if not command.quiet:
        _warn(args.loaded.warnings)
    if command.check != "none":
        validate(args.loaded.settings, serving=command.check == "serving")
    module, _, function = command.run.partition(":")
    try:
        return int(getattr(import_module(module), function)(args))
    except HiveloreError:
        if command.quiet:
            _warn(args.loaded.warnings)
        raise


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        output.complain(f"warning: {warning}")


def _report_internal(error: Exception) -> None:
    from hivelore.core.ids import RandomIds

    report = RandomIds().new("err")
    if os.environ.get("HIVELORE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    hint = "" if os.environ.get("HIVELORE_DEBUG") == "1" else " Set HIVELORE_DEBUG=1 to see where."
    output.complain(f"internal error {report} ({type(error).__name__}).{hint}")


def _drop_stdout() -> None:
    """Point standard output nowhere, or Python complains about the broken pipe once more while it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- parsing


class _Parser(argparse.ArgumentParser):
    """argparse for the parsing only: our own help, and errors that are raised and not printed."""

    command: Command

    def error(self, message: str) -> NoReturn:
        from hivelore.core.settings_load import did_you_mean

        unknown = message.removeprefix("unrecognized arguments: ").split("=")[0].split(" ")[0]
        hint = ""
        if unknown.startswith("-") and unknown != message:
            hint = did_you_mean(unknown, [o.name for o in self.command.all_options if o.name.startswith("-")])
            message = f"there is no option {unknown} here"
        raise Invalid(f"{self.command.name}: {message}.{hint} See: hivelore {self.command.name} --help")


def parser_of(command: Command) -> argparse.ArgumentParser:
    """Make the parser of one command."""
    parser = _Parser(prog=f"hivelore {command.name}", add_help=False, allow_abbrev=False)
    parser.command = command
    for option in command.all_options:
        if not option.name.startswith("-"):
            parser.add_argument(_dest(option), metavar=option.name, nargs=option.nargs)
        elif not option.metavar:
            parser.add_argument(option.name, dest=_dest(option), action="store_true")
        else:
            kind: dict[str, Any] = {"type": option.type} if option.type else {}
            if option.nargs:
                kind["nargs"] = option.nargs
            parser.add_argument(option.name, dest=_dest(option), default=option.default, **kind)
    return parser


def _dest(option: Option) -> str:
    return option.name.lstrip("-").replace("-", "_").lower()


def parse(command: Command, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the words after the command's name; options and arguments may come in any order.

    argparse loses `--` when the two are mixed. So what stands behind it is marked with NUL, which no real
    argument holds and which no longer looks like an option.
    """
    words = list(argv)
    if "--" in words:
        split = words.index("--")
        words[split:] = ["\0" + word for word in words[split + 1 :]]
    args = parser_of(command).parse_intermixed_args(words)
    for name, value in vars(args).items():
        if isinstance(value, list):
            setattr(args, name, [word.removeprefix("\0") for word in value])
        elif isinstance(value, str):
            setattr(args, name, value.removeprefix("\0"))
    return args


# -- help


def overview() -> str:
    """Text of `hivelore --help`."""
    lines = [f"{_title('hivelore')} {hivelore.__version__}: shared long-term memory for AI agents", ""]
    lines += [_title("Usage"), "  hivelore COMMAND [options]", "  hivelore COMMAND --help", ""]
    column = max(len(command.name) for command in COMMANDS) + 2
    for group in dict.fromkeys(command.group for command in COMMANDS):
        lines.append(_title(group))
        lines += [f"  {c.name:{column}}{c.summary}" for c in COMMANDS if c.group == group]
        lines.append("")
    lines += [_title("Examples"), *_examples(FIRST_STEPS), _title("Exit codes")]
    lines += output.table([("0", "done"), *((str(code), meaning) for code, meaning, _ in EXIT_CODES)], indent="  ")
    return "\n".join(lines)


def help_of(command: Command) -> str:
    """Text of `hivelore COMMAND --help`."""
    lines = [f"{_title(f'hivelore {command.name}')}: {command.summary}", ""]
    lines += [_title("Usage"), f"  {usage_of(command)}", ""]
    if command.details:
        lines += [command.details, ""]
    arguments = [option for option in command.options if not option.name.startswith("-")]
    switches = [option for option in command.options if option.name.startswith("-")]
    for heading, options in (("Arguments", arguments), ("Options", switches), *command.groups):
        if options:
            lines.append(_title(heading))
            lines += output.table([(spelled(option), option.help) for option in options], indent="  ")
            lines.append("")
    lines += [_title("Examples"), *_examples(command.examples)]
    return "\n".join(lines).rstrip()


def usage_of(command: Command) -> str:
    """Usage in one line."""
    words = ["hivelore", command.name]
    for option in command.options:
        if not option.name.startswith("-"):
            words.append({"+": f"{option.name}…", "?": f"[{option.name}]"}.get(option.nargs or "", option.name))
    if any(option.name.startswith("-") for option in command.all_options):
        words.append("[options]")
    return " ".join(words)


def spelled(option: Option) -> str:
    """An option with its value, as help and documentation write it."""
    return f"{option.name} {option.metavar}".strip()


def _examples(examples: Sequence[tuple[str, str]]) -> list[str]:
    return [line for text, what in examples for line in (f"  {output.styled(text, 'cyan')}", f"      {what}", "")]


def _title(text: str) -> str:
    return output.styled(text, "bold")
