"""The `hivelore` command: all commands with their options and examples, help, dispatch, exit codes.

Commands are data (`COMMANDS`); the parser, `--help` and docs/cli.md are made from it. A command's module is
imported when it was chosen and not before: `hivelore search` must answer before a person notices waiting.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NoReturn

import hivelore
from hivelore.cli import output
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


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a command.

    `setting` names the setting that an option overrides; `metavar` is empty for arguments and switches.
    """

    name: str
    metavar: str
    help: str
    setting: str = ""
    nargs: str | None = None
    default: Any = None
    type: Callable[[str], Any] | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `run` is "module:function", called with the parsed arguments and returning an exit code.

    `dotenv`: how much of `.env` counts (see config_files). `check`: which cross-checks the settings must pass
    before it runs. `quiet`: warnings about settings are shown only when the command fails.
    """

    name: str
    group: str
    summary: str
    details: str
    options: tuple[Option, ...]
    examples: tuple[tuple[str, str], ...]
    run: str
    dotenv: Literal["all", "own", "none"] = "all"
    check: Literal["serving", "values", "none"] = "none"
    quiet: bool = False
    groups: tuple[tuple[str, tuple[Option, ...]], ...] = field(default=())

    @property
    def all_options(self) -> tuple[Option, ...]:
        return (*self.options, *(option for _, options in self.groups for option in options))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError("must be a number of seconds above 0 and up to 3600")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError("must be a whole number from 1")
    return int(text)


_JSON = Option("--json", "", "Print JSON instead of text for people.")
_SERVER = (
    "Server",
    (
        Option("--url", "URL", "Server to talk to. Else HIVELORE_URL, else host and port of the settings."),
        Option("--token", "KEY", "Bearer key. Else HIVELORE_TOKEN; other users of the machine can see options."),
        Option("--source", "NAME", "Name of the agent that asks, for example claude-code."),
        Option(
            "--timeout",
            "SECONDS",
            "How long to wait for an answer (default 30).",
            default=30.0,
            type=_seconds,
        ),
    ),
)
_DATA = Option("--data", "DIR", "Folder for the database, models and logs.", setting="data_dir")
_DATABASE = Option("--database-url", "URL", "Database to use, see docs/settings.md.", setting="database_url")
_EMBEDDER = Option("--embedder", "NAME", "e5, light, fastembed, http, hash or off.", setting="embedder")
_STORE = ("Store", (_DATA, _DATABASE))

_CLIENT, _OPERATE, _ABOUT = "Use the memory of a running server", "Run hivelore", "Look into it"

COMMANDS: tuple[Command, ...] = (
    Command(
        name="search",
        group=_CLIENT,
        summary="find memories by meaning and words",
        details="Words of QUERY are joined; quotes are not needed.",
        options=(
            Option("QUERY", "", "What to look for.", nargs="+"),
            Option("--limit", "N", "Most memories to show (default 10).", default=10, type=_count),
            Option("--layers", "A,B", "Only these layers: L1, L2, L3, Skill."),
            Option("--tags", "A,B", "Only memories that carry all these tags."),
            _JSON,
        ),
        groups=(_SERVER,),
        examples=(
            ("hivelore search staging deploy", "What is known about deploying to staging."),
            ("hivelore search --tags preference --limit 3 package manager", "Three preferences at most."),
            ("hivelore search 部署 步骤 --json | jq .debug.hits", "For a program."),
        ),
        run="hivelore.cli.client.commands:search",
        dotenv="own",
        quiet=True,
    ),
    Command(
        name="add",
        group=_CLIENT,
        summary="store a text",
        details="Words of TEXT are joined. A single - reads standard input.",
        options=(
            Option("TEXT", "", "What to remember, or - for standard input.", nargs="+"),
            Option("--title", "TEXT", "Title (default: the first line)."),
            Option("--tags", "A,B", "Tags to find it by."),
            Option("--layer", "NAME", "L1 (default), L2, L3 or Skill."),
            _JSON,
        ),
        groups=(_SERVER,),
        examples=(
            ('hivelore add "Staging migrates its database on every deploy."', "Remember one fact."),
            (
                "git log -1 --format=%B | hivelore add - --tags release",
                "Remember what another program prints.",
            ),
        ),
        run="hivelore.cli.client.commands:add",
        dotenv="own",
        quiet=True,
    ),
    Command(
        name="get",
        group=_CLIENT,
        summary="show one memory in full",
        details="",
        options=(Option("ID", "", "Id as `hivelore search` shows it."), _JSON),
        groups=(_SERVER,),
        examples=(("hivelore get trace_f96c094e6312eada5bea", "Read a memory that a search found."),),
        run="hivelore.cli.client.commands:get",
        dotenv="own",
        quiet=True,
    ),
    Command(
        name="delete",
        group=_CLIENT,
        summary="delete one memory",
        details="",
        options=(Option("ID", "", "Id as `hivelore search` shows it."), _JSON),
        groups=(_SERVER,),
        examples=(("hivelore delete trace_f96c094e6312eada5bea", "Remove what is wrong or no longer wanted."),),
        run="hivelore.cli.client.commands:delete",
        dotenv="own",
        quiet=True,
    ),
    Command(
        name="health",
        group=_CLIENT,
        summary="ask a server how it is",
        details="Fails with 69 unless the server answers and is ready, so it serves as a probe in scripts.",
        options=(_JSON,),
        groups=(_SERVER,),
        examples=(
            ("hivelore health", "Is the server on this machine up?"),
            ("hivelore health --url https://memory.example.com --timeout 5", "Is the other one?"),
        ),
        run="hivelore.cli.client.commands:health",
        dotenv="own",
        quiet=True,
    ),
    Command(
        name="serve",
        group=_OPERATE,
        summary="start the server (MCP and REST)",
        details="Listens on this machine only, unless host and api_keys say otherwise. Ctrl-C stops it.",
        options=(
            Option("--host", "ADDRESS", "Address to listen on.", setting="host"),
            Option("--port", "N", "Port to listen on; 0 picks a free one.", setting="port"),
            Option("--log-level", "LEVEL", "DEBUG, INFO, WARNING or ERROR.", setting="log_level"),
            _EMBEDDER,
        ),
        groups=(_STORE,),
        examples=(
            ("hivelore serve", "Serve this machine; agents connect to http://127.0.0.1:8420/mcp."),
            ("hivelore serve --port 9000 --data ./trial", "Try something apart from your memories."),
            ("HIVELORE_API_KEYS=$KEY:ana hivelore serve --host 0.0.0.0", "Serve the network, with a key."),
        ),
        run="hivelore.cli.serve:run",
        check="serving",
    ),
    Command(
        name="stdio",
        group=_OPERATE,
        summary="speak MCP over standard input and output",
        details="For MCP clients that start their server. Reads no .env: clients start it in any folder.",
        options=(
            Option("--profile", "NAME", "Which tools to offer, see docs/tools.md.", setting="mcp_profile"),
            Option("--user", "NAME", "User that the memories belong to."),
            Option("--in-process", "", "Work inside this process instead of relaying to a server."),
            _EMBEDDER,
        ),
        groups=(_STORE,),
        examples=(
            ("claude mcp add hivelore -- hivelore stdio", "Give Claude Code the memory."),
            ("hivelore stdio --in-process --data ./trial", "Without a server, on a store of its own."),
        ),
        run="hivelore.cli.stdio:run",
        dotenv="none",
        check="values",
    ),
    Command(
        name="import",
        group=_OPERATE,
        summary="read transcripts and memories of other agents",
        details="What was imported before is recognised and not stored twice.",
        options=(
            Option("SOURCE", "", "Where the data comes from, for example claude-code."),
            Option("PATH", "", "File or folder, when it is not in its usual place.", nargs="?"),
            Option("--user", "NAME", "User that the memories will belong to."),
            Option("--namespace", "NAME", "Namespace that they go to (default: transcript_namespace)."),
            Option("--dry-run", "", "Say what would be imported and store nothing."),
            Option("--no-progress", "", "Show no progress bar."),
            _JSON,
        ),
        groups=(_STORE,),
        examples=(
            ("hivelore import claude-code --dry-run", "What is there?"),
            ("hivelore import claude-code", "Bring it in."),
            ("hivelore import claude-code ~/backup/projects --namespace old", "From another place, kept apart."),
        ),
        run="hivelore.cli.import_cmd:run",
        check="values",
    ),
    Command(
        name="migrate",
        group=_OPERATE,
        summary="bring the database to this version",
        details="`serve` does this too; a separate run suits deployments with several servers.",
        options=(Option("--check", "", "Change nothing; fail when there is something to do."), _JSON),
        groups=(_STORE,),
        examples=(
            ("hivelore migrate --check", "Would anything change?"),
            (
                "hivelore migrate --database-url postgresql://localhost/hivelore",
                "Migrate a certain database.",
            ),
        ),
        run="hivelore.cli.migrate:run",
        check="values",
    ),
    Command(
        name="doctor",
        group=_ABOUT,
        summary="check the installation and say what is wrong",
        details="",
        options=(_JSON,),
        groups=(_STORE,),
        examples=(
            ("hivelore doctor", "Check settings, database, model and server."),
            ("hivelore doctor --json", "For a bug report; secrets are masked."),
        ),
        run="hivelore.cli.doctor:run",
    ),
    Command(
        name="config",
        group=_ABOUT,
        summary="show the settings and where each value comes from",
        details="Secrets are masked. Fails with 64 when a server could not start with these settings.",
        options=(Option("NAME", "", "Print the value of this setting alone.", nargs="?"), _JSON),
        examples=(
            ("hivelore config", "Every setting, its value, where it comes from, what it is for."),
            ("hivelore config data_dir", "One value, for a script."),
        ),
        run="hivelore.cli.config_cmd:run",
    ),
    Command(
        name="version",
        group=_ABOUT,
        summary="print the version",
        details="",
        options=(),
        examples=(("hivelore version", "Print the version; --version does the same."),),
        run="",
    ),
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
    from hivelore.core.settings_load import did_you_mean

    hint = did_you_mean(name, [command.name for command in COMMANDS])
    raise Invalid(f"There is no command {name}.{hint} See: hivelore --help")


def _dispatch(argv: list[str]) -> int:
    words = argv[: argv.index("--")] if "--" in argv else argv
    if not argv or argv[0] in ("-h", "--help") or argv == ["help"]:
        output.say(overview())
        return 0
    if argv[0] in ("-V", "--version", "version") and len(argv) == 1:
        output.say(f"hivelore {hivelore.__version__}")
        return 0
    if argv[0] == "help":
        output.say(help_of(command_named(argv[1])))
        return 0
    command = command_named(argv[0])
    if "-h" in words or "--help" in words:
        output.say(help_of(command))
        return 0
    return _run(command, parse(command, argv[1:]))


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
