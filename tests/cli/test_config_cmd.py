"""`hivelore config`: complete, with origins, and without secrets."""

from __future__ import annotations

import pytest

from hivelore.core.settings import setting_names
from hivelore.core.settings_load import metadata_of

SECRETS = ("pw-hunter2", "first-long-key", "second-long-key", "embedding-key")


@pytest.fixture
def secrets(monkeypatch, own_world, config_file):
    """Secrets in every place that can hold one."""
    monkeypatch.setenv("POLYMNEMO_DATABASE_URL", "postgres://ana:pw-hunter2@db.example/x")
    dotenv = own_world / "work" / ".env"
    dotenv.touch(mode=0o600)
    dotenv.write_text("HIVELORE_API_KEYS=first-long-key:ana,second-long-key:bo\n")
    config_file.touch(mode=0o600)
    config_file.write_text("embed_api_key: embedding-key\n")


def test_it_prints_every_setting_with_value_origin_and_description(run, monkeypatch):
    monkeypatch.setenv("PORT", "9000")
    ran = run("config")
    assert (ran.code, ran.err) == (0, "")
    lines = {line.split()[0]: line for line in ran.out.splitlines() if line.startswith("  ")}
    assert tuple(lines) == setting_names()
    for name, line in lines.items():
        assert line.endswith(metadata_of(name)["doc"])
    assert lines["port"].split()[1:4] == ["9000", "environment:", "PORT"]
    assert lines["embed_model"].split()[1:3] == ["(empty)", "default"]


@pytest.mark.parametrize("argv", [["config"], ["config", "--json"]])
def test_it_never_shows_a_secret(run, secrets, argv):
    ran = run(*argv)
    assert ran.code == 0
    for secret in SECRETS:
        assert secret not in ran.out + ran.err
    assert "postgresql://ana:****@db.example/x" in ran.out
    assert "****:ana" in ran.out


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_keys", "****:ana, ****:bo"),
        ("embed_api_key", "****"),
        ("DATABASE_URL", "postgresql://ana:****@db.example/x"),
        ("HIVELORE_RECALL_LIMIT", "8"),
        ("require_database", "false"),
    ],
)
def test_it_prints_one_value_for_a_script(run, secrets, name, value):
    ran = run("config", name)
    assert (ran.code, ran.out) == (0, f"{value}\n")


def test_one_setting_as_json_keeps_its_type(run, monkeypatch):
    monkeypatch.setenv("HIVELORE_SHARED_NAMESPACES", "a,b")
    ran = run("config", "shared_namespaces", "--json")
    assert ran.json["value"] == ["a", "b"]
    assert ran.json["origin"] == "environment: HIVELORE_SHARED_NAMESPACES"
    assert ran.json["variable"] == "HIVELORE_SHARED_NAMESPACES"


def test_json_lists_everything_with_types_kept(run):
    ran = run("config", "--json")
    by_name = {setting["name"]: setting for setting in ran.json["settings"]}
    assert tuple(by_name) == setting_names()
    assert by_name["port"]["value"] == 8420
    assert by_name["require_database"]["value"] is False
    assert ran.json["problem"] is None


def test_an_unknown_setting_suggests_the_nearest(run):
    ran = run("config", "data_dri")
    assert ran.code == 64
    assert "Did you mean data_dir?" in ran.err


def test_settings_that_no_server_can_use_are_shown_and_refused(run, monkeypatch):
    monkeypatch.setenv("HIVELORE_HOST", "0.0.0.0")
    ran = run("config")
    assert ran.code == 64
    assert "0.0.0.0" in ran.out
    assert "HIVELORE_API_KEYS" in ran.err
    ran = run("config", "--json")
    assert ran.code == 64
    assert "HIVELORE_API_KEYS" in ran.json["problem"]


def test_variables_of_replaced_systems_without_a_meaning_here_are_listed(run, monkeypatch):
    monkeypatch.setenv("POLYMNEMO_BLOB_BACKEND", "s3")
    assert "no use for: POLYMNEMO_BLOB_BACKEND" in run("config").out
    assert run("config", "--json").json["unreadVariables"] == ["POLYMNEMO_BLOB_BACKEND"]


def test_a_broken_setting_is_refused_without_its_neighbours_secret(run, secrets, monkeypatch):
    monkeypatch.setenv("HIVELORE_PORT", "x")
    ran = run("config")
    assert ran.code == 64
    for secret in SECRETS:
        assert secret not in ran.out + ran.err
