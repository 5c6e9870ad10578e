"""The command itself: help, dispatch, exit codes, what is imported, what is said when something breaks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import ModuleType

import pytest

import hivelore
from hivelore.cli import main as command_line
from hivelore.cli.commands import COMMANDS
from hivelore.cli.main import EXIT_CODES, command_named, exit_code, help_of, parse, parser_of
from hivelore.core.errors import KINDS, HiveloreError, Invalid, NotFound
from hivelore.core.settings import setting_names
from hivelore.core.settings_load import flag_of

HEAVY = (
    "pydantic",
    "sqlalchemy",
    "mcp",
    "numpy",
    "rich",
    "httpx",
    "typer",
    "click",
    "onnxruntime",
    "alembic",
)
LEADS = ("serve", "stdio", "import", "doctor", "migrate")


@pytest.fixture
def stand_in(monkeypatch):
    """Put a module of our own where a command's module is looked up; `calls` collects the arguments."""

    def install(name, behaviour=lambda args: 0):
        calls = []
        module = ModuleType("stand_in")
        module.run = lambda args: (calls.append(args), behaviour(args))[1]
        path = command_named(name).run.partition(":")[0]
        monkeypatch.setitem(sys.modules, path, module)
        return calls

    return install


# -- help


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_help_of_every_command_teaches_by_example(run, command):
    words = command.name.split()
    for argv in ([*words, "--help"], [*words, "-h"], ["help", *words]):
        ran = run(*argv)
        assert (ran.code, ran.err) == (0, "")
        examples = ran.out.split("Examples\n")[1]
        assert f"hivelore {command.name}" in examples
        for option in command.all_options:
            assert option.name in ran.out
            assert option.help in ran.out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_every_example_of_a_command_parses(command):
    for line, _ in command.examples:
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line.split(" | jq")[0])]
        after = words[words.index("hivelore", words.index("--") if "--" in words else 0) :]
        name = command.name.split()
        assert after[1 : 1 + len(name)] == name
        assert parse(command, after[1 + len(name) :]) is not None


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]])
def test_the_overview_names_every_command_and_exit_code(run, argv):
    ran = run(*argv)
    assert ran.code == 0
    for command in COMMANDS:
        assert f"  {command.name} " in ran.out
        assert command.summary in ran.out
    for code, meaning, _ in EXIT_CODES:
        assert str(code) in ran.out
        assert meaning in ran.out


def test_help_fits_into_a_hundred_columns():
    for command in COMMANDS:
        assert max(map(len, help_of(command).splitlines())) <= 100


def test_help_is_not_mistaken_for_a_word_behind_two_dashes(run, stand_in):
    calls = stand_in("import")
    assert run("import", "--", "--help").code == 0
    assert calls[0].source == "--help"


@pytest.mark.parametrize("argv", [["version"], ["--version"], ["-V"]])
def test_version_prints_the_version(run, argv):
    assert run(*argv).out == f"hivelore {hivelore.__version__}\n"


# -- dispatch


def test_an_unknown_command_suggests_the_nearest(run):
    ran = run("serch", "x")
    assert ran.code == 64
    assert "Did you mean search?" in ran.err


def test_an_unknown_option_suggests_the_nearest(run):
    ran = run("serve", "--databse-url", "memory")
    assert ran.code == 64
    assert "--databse-url" in ran.err
    assert "Did you mean --database-url?" in ran.err
    assert "hivelore serve --help" in ran.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["get"], "ID"),
        (["search"], "QUERY"),
        (["import"], "SOURCE"),
        (["serve", "--port"], "--port"),
        (["get", "a", "b"], "b"),
        (["version", "now"], "now"),
        (["search", "x", "--lim", "3"], "--lim"),
        (["health", "--json=yes"], "--json"),
    ],
)
def test_wrong_usage_is_64_and_names_what_is_wrong(run, argv, words):
    ran = run(*argv)
    assert (ran.code, ran.out) == (64, "")
    assert words in ran.err
    assert f"hivelore {argv[0]} --help" in ran.err


@pytest.mark.parametrize("name", LEADS)
def test_a_heavy_command_gets_its_options_and_the_loaded_settings(run, stand_in, name):
    calls = stand_in(name)
    argv = ["codex"] if name == "import" else []
    assert run(name, *argv, "--data", "/tmp/x", "--database-url", "memory").code == 0
    (args,) = calls
    assert args.loaded.settings.data_dir == "/tmp/x"
    assert args.loaded.settings.database_url == "memory"
    assert args.loaded.origins["data_dir"] == "--data"


@pytest.mark.promise("M-034")
def test_serve_passes_every_flag_to_its_setting(run, stand_in):
    (calls, argv) = (
        stand_in("serve"),
        ["--host", "::1", "--port", "0", "--embedder", "off", "--log-level", "debug"],
    )
    assert run("serve", *argv).code == 0
    settings = calls[0].loaded.settings
    assert (settings.host, settings.port, settings.embedder, settings.log_level) == ("::1", 0, "off", "DEBUG")


def test_stdio_and_import_have_options_that_are_no_settings(run, stand_in):
    calls = stand_in("stdio")
    assert run("stdio", "--in-process", "--profile", "team", "--user", "ana").code == 0
    assert (calls[0].in_process, calls[0].user) == (True, "ana")
    assert calls[0].loaded.settings.mcp_profile == "team"
    calls = stand_in("import")
    assert run("import", "codex", "/x", "--dry-run", "--namespace", "n", "--no-progress", "--json").code == 0
    args = calls[0]
    assert (args.source, args.path, args.dry_run, args.namespace) == ("codex", "/x", True, "n")
    assert (args.no_progress, args.json, args.user) == (True, True, None)
    calls = stand_in("migrate")
    assert run("migrate", "--check").code == 0
    assert (calls[0].check, calls[0].json) == (True, False)


def test_the_exit_code_of_a_command_is_handed_on(run, stand_in):
    stand_in("migrate", lambda args: 3)
    assert run("migrate").code == 3


def test_options_that_override_settings_are_named_as_errors_name_them():
    for command in COMMANDS:
        for option in command.all_options:
            if option.setting:
                assert option.setting in setting_names()
                assert option.name == flag_of(option.setting)


def test_a_bad_flag_is_named_by_the_flag(run):
    ran = run("serve", "--port", "http")
    assert ran.code == 64
    assert "--port must be a whole number from 0 to 65535, not “http”." in ran.err


def test_serve_does_not_start_on_settings_that_do_not_fit(run, stand_in):
    calls = stand_in("serve")
    ran = run("serve", "--host", "0.0.0.0")
    assert ran.code == 64
    assert "HIVELORE_API_KEYS" in ran.err
    assert calls == []


def test_doctor_runs_on_settings_that_do_not_fit_and_migrate_does_not_mind_the_host(run, stand_in, monkeypatch):
    monkeypatch.setenv("HIVELORE_HOST", "0.0.0.0")
    monkeypatch.setenv("HIVELORE_REQUIRE_DATABASE", "true")
    assert (stand_in("doctor"), run("doctor").code)[1] == 0
    assert (stand_in("migrate"), run("migrate").code)[1] == 64
    assert (stand_in("migrate"), run("migrate", "--database-url", "postgresql://h/d").code)[1] == 0


def test_warnings_about_settings_go_to_standard_error(run, stand_in, monkeypatch):
    stand_in("doctor")
    monkeypatch.setenv("HIVELORE_PROT", "1")
    ran = run("doctor")
    assert ran.out == ""
    assert ran.err.startswith("hivelore: warning: HIVELORE_PROT")


@pytest.mark.parametrize(("name", "expected"), [("serve", 9001), ("stdio", 8420)])
def test_stdio_reads_no_dotenv_because_clients_start_it_anywhere(run, stand_in, own_world, name, expected):
    (own_world / "work" / ".env").write_text("HIVELORE_PORT=9001\n")
    calls = stand_in(name)
    assert run(name).code == 0
    assert calls[0].loaded.settings.port == expected


# -- failures


def test_every_kind_of_error_has_an_exit_code_of_the_table():
    codes = {code for code, _, _ in EXIT_CODES}
    listed = {kind for _, _, kinds in EXIT_CODES for kind in kinds}
    for kind in KINDS:
        assert exit_code(kind("x")) in codes
        assert kind in listed


def test_the_exit_code_of_a_subclass_is_that_of_its_kind():
    class Lost(NotFound):
        """Lost."""

    assert exit_code(Lost()) == 66
    assert exit_code(HiveloreError("x")) == 70
    assert exit_code(ValueError("x")) == 70


def raising(error):
    def behaviour(args):
        raise error

    return behaviour


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_a_known_failure_prints_its_message_and_no_traceback(run, stand_in, kind, monkeypatch):
    monkeypatch.setenv("HIVELORE_DEBUG", "1")
    stand_in("doctor", raising(kind("What went wrong.")))
    ran = run("doctor")
    assert (ran.code, ran.out, ran.err) == (exit_code(kind()), "", "hivelore: What went wrong.\n")


def test_an_unexpected_failure_prints_one_line_with_an_id_and_nothing_inside(run, stand_in):
    stand_in("doctor", raising(RuntimeError("select secret from /inner/path")))
    ran = run("doctor")
    assert ran.code == 70
    assert re.fullmatch(
        r"hivelore: internal error err_[0-9a-f]{20} \(RuntimeError\)\. Set HIVELORE_DEBUG=1 to see where\.\n",
        ran.err,
    )


def test_debug_adds_the_traceback(run, stand_in, monkeypatch):
    monkeypatch.setenv("HIVELORE_DEBUG", "1")
    stand_in("doctor", raising(RuntimeError("boom")))
    ran = run("doctor")
    assert ran.code == 70
    assert "Traceback" in ran.err
    assert "RuntimeError: boom" in ran.err
    assert "err_" in ran.err


def test_ctrl_c_is_130_and_quiet(run, stand_in):
    stand_in("doctor", raising(KeyboardInterrupt()))
    ran = run("doctor")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


@pytest.mark.parametrize("command", ["version", "config"])  # less and more than one buffer
def test_a_reader_that_goes_away_causes_no_noise(own_world, command):
    reading, writing = os.pipe()
    os.close(reading)
    # Unbuffered output would hide the second complaint, which Python makes when it flushes at exit.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-m", "hivelore", command],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=env,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_output_that_the_terminal_cannot_show_does_not_stop_a_command(process):
    ran = process("help", "search", PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert "\\u90e8" in ran.out


# -- speed


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["version"],
        ["search", "x"],
        ["add", "x"],
        ["get", "x"],
        ["delete", "x"],
        ["health"],
        ["config"],
    ],
)
def test_light_commands_import_nothing_heavy(own_world, argv):
    script = (
        "import sys; from hivelore.cli.main import main; main(sys.argv[1:]);"
        "print('MODULES', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    env = {**os.environ, "HIVELORE_URL": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", script, *argv], capture_output=True, text=True, env=env, timeout=60, check=True
    )
    loaded = done.stdout.rpartition("MODULES ")[2].split()
    assert "argparse" in loaded
    assert not set(HEAVY) & set(loaded)
    assert "yaml" not in loaded


def test_a_parser_can_be_made_for_every_command():
    for command in COMMANDS:
        assert parser_of(command).prog == f"hivelore {command.name}"


def test_an_unknown_command_has_no_help(run):
    with pytest.raises(Invalid):
        command_named("nonsense")
    assert run("help", "nonsense").code == 64


def test_the_module_runs_as_a_program(process):
    ran = process("version")
    assert (ran.code, ran.out) == (0, f"hivelore {hivelore.__version__}\n")
    assert process("nonsense").code == 64


def test_main_reads_the_process_arguments(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hivelore", "--version"])
    assert command_line.main() == 0
    assert hivelore.__version__ in capsys.readouterr().out
