"""All commands of `hivelore` as data: options, examples, and where the code of each is.

The parser, `--help` and docs/cli.md are made from it (`cli/main.py`, `scripts/gen_docs.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal


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
_DRY_RUN = Option("--dry-run", "", "Say what would be done and change nothing.")
_DATA = Option("--data", "DIR", "Folder for the database, models and logs.", setting="data_dir")
_DATABASE = Option("--database-url", "URL", "Database to use, see docs/settings.md.", setting="database_url")
_EMBEDDER = Option("--embedder", "NAME", "e5, light, fastembed, http, hash or off.", setting="embedder")
_STORE = ("Store", (_DATA, _DATABASE))

_CLIENT, _OPERATE, _ABOUT = "Use the memory of a running server", "Run hivelore", "Look into it"
_MEASURE = "Measure it"

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
            Option("--max-tokens", "N", "Show the most useful sentences, N tokens at most (from 100).", type=_count),
            Option("--neighbours", "N", "Show N turns or parts on each side of a hit too.", type=_count),
            Option("--context", "", "Print one fenced block to put into a prompt."),
            Option("--index", "", "Print one line for each memory."),
            Option("--explain", "", "Say how each score came about."),
            _JSON,
        ),
        groups=(_SERVER,),
        examples=(
            ("hivelore search staging deploy", "What is known about deploying to staging."),
            ("hivelore search --tags preference --limit 3 package manager", "Three preferences at most."),
            ("hivelore search 部署 步骤 --json | jq .debug.hits", "For a program."),
            ("hivelore search --context --max-tokens 800 staging", "For a prompt; it is not stored as something new."),
        ),
        run="hivelore.cli.client.commands:search",
        dotenv="own",
        quiet=True,
    ),
    Command(
        name="timeline",
        group=_CLIENT,
        summary="show what was said or stored around a memory",
        details="Around an imported turn these are the turns of its conversation.",
        options=(
            Option("ID", "", "Id as `hivelore search` shows it."),
            Option("--before", "N", "Memories before it (default 3).", default=3, type=_count),
            Option("--after", "N", "Memories after it (default 3).", default=3, type=_count),
            _JSON,
        ),
        groups=(_SERVER,),
        examples=(("hivelore timeline trace_f96c094e6312eada5bea", "What came before and after?"),),
        run="hivelore.cli.client.commands:timeline",
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
            Option("--supersedes", "ID", "A memory that this one corrects; it is kept, ranked below."),
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
        options=(
            Option("--check", "", "Change nothing; fail when there is something to do."),
            Option(
                "--partitions", "N", "Cut the big tables of a new Postgres database; see docs/scaling.md.", type=_count
            ),
            _JSON,
        ),
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
        name="reindex",
        group=_OPERATE,
        summary="bring the index up to date with the memories",
        details="Mends only what is missing or stale, beside running servers. Ctrl-C stops it; run it again to go on.",
        options=(_DRY_RUN, Option("--no-progress", "", "Show no progress bar."), _JSON),
        groups=(_STORE,),
        examples=(
            ("hivelore reindex --dry-run", "What would be done?"),
            ("hivelore reindex", "Do it, while the server goes on serving."),
        ),
        run="hivelore.cli.upkeep_cmd:reindex",
        check="values",
    ),
    Command(
        name="repair",
        group=_OPERATE,
        summary="make damaged or missing index tables anew",
        details="Works from the memories alone and changes none of them; ends with what reindex does.",
        options=(_DRY_RUN, Option("--no-progress", "", "Show no progress bar."), _JSON),
        groups=(_STORE,),
        examples=(
            ("hivelore repair --dry-run", "Read every page and say what is damaged."),
            ("hivelore repair", "Make it whole again."),
        ),
        run="hivelore.cli.upkeep_cmd:repair",
        check="values",
    ),
    Command(
        name="doctor",
        group=_ABOUT,
        summary="check the installation and the store, and say what is wrong and what to run",
        details="Changes nothing. Large stores are looked at in samples, and it says so.",
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
        name="bench recall",
        group=_MEASURE,
        summary="measure what recall finds",
        details="PATH is a set or a folder of sets, see docs/benchmarks.md. Your own store is never used.",
        options=(
            Option("PATH", "", "Evaluation sets, or folders of them.", nargs="+"),
            Option("--format", "NAME", "Format of PATH, where it cannot be told from the files."),
            Option("--only", "A,B", "Only the sets whose names begin so."),
            Option("--engine", "NAME", "text, vector or hybrid (default).", default="hybrid"),
            Option("--half", "NAME", "dev or held-out: half of the questions, always the same."),
            Option("--limit-questions", "N", "A sample of each set, always the same.", type=_count),
            Option("--json", "FILE", "Write figures, settings and versions here."),
            _EMBEDDER,
        ),
        groups=(_STORE,),
        examples=(
            ("hivelore bench recall sets/locomo.json", "Figures of one set, on a store that is thrown away."),
            ("hivelore bench recall sets --data ./kept --json a.json", "All sets; keep store and figures."),
            ("hivelore bench recall sets --data ./kept --engine text", "What words alone are worth."),
        ),
        run="hivelore.cli.bench_cmd:recall",
        check="values",
    ),
    Command(
        name="bench speed",
        group=_MEASURE,
        summary="measure how fast recall is as a store grows",
        details="Memories are invented, vectors made. With --data or --database-url the store is kept and grown.",
        options=(
            Option("--memories", "N…", "Sizes, one after the other (10000).", nargs="+"),
            Option("--json", "FILE", "Write the figures here."),
            _EMBEDDER,
        ),
        groups=(_STORE,),
        examples=(
            ("hivelore bench speed --memories 10000 100000", "Two sizes, on a store that is thrown away."),
            (
                "hivelore bench speed --memories 1000000 --database-url postgresql://localhost/bench",
                "A million memories on Postgres; the database must hold nothing else.",
            ),
        ),
        run="hivelore.cli.bench_speed_cmd:run",
        check="values",
    ),
    Command(
        name="bench compare",
        group=_MEASURE,
        summary="compare two results of bench recall",
        details="Only questions that are in both files count.",
        options=(Option("A", "", "Result before."), Option("B", "", "Result after.")),
        examples=(("hivelore bench compare a.json b.json", "What did a change make better or worse?"),),
        run="hivelore.cli.bench_cmd:compare",
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
