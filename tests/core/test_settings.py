"""Settings: where a value comes from, what it may be, what is refused, and that secrets stay hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings, setting_names
from hivelore.core.settings_load import (
    CHOICES,
    RANGES,
    allowed,
    default_of,
    kind_of,
    load,
    mask,
    metadata_of,
    shown,
    unread_variables,
    validate,
    variable_of,
)

SECRET = "hunter2-do-not-show"


def refusal(env=(), files=(), flags=None, env_files=()) -> str:
    with pytest.raises(Invalid) as caught:
        load(dict(env), files, flags, env_files=env_files)
    return caught.value.message


# -- declarations


def test_every_setting_is_of_a_known_kind_and_documented_in_one_group():
    for name in setting_names():
        assert kind_of(name) in ("text", "number", "switch", "list")
        assert metadata_of(name)["doc"].endswith(".")
        assert metadata_of(name)["group"]


def test_every_number_has_a_range_that_holds_its_default():
    numbers = {name for name in setting_names() if kind_of(name) == "number"}
    assert set(RANGES) == numbers
    for name in numbers:
        low, high = RANGES[name]
        assert low <= default_of(name) <= high


def test_every_choice_list_belongs_to_a_setting_and_holds_its_default():
    for name, choices in CHOICES.items():
        assert default_of(name) in choices


def test_the_defaults_pass_their_own_checks():
    validate(Settings())


def test_no_variable_means_two_settings():
    variables = [v for name in setting_names() for v in (variable_of(name), *metadata_of(name)["aliases"])]
    assert len(variables) == len(set(variables))


# -- precedence


PLACES = ("default", "config", ".env", "environment", "flag")


@pytest.mark.parametrize("strongest", range(len(PLACES)))
def test_the_strongest_place_that_gives_a_value_wins(strongest):
    files = [("config.yaml", {"port": 1001})] if strongest >= 1 else []
    env_files = [(".env", {"HIVELORE_PORT": "1002"})] if strongest >= 2 else []
    env = {"HIVELORE_PORT": "1003"} if strongest >= 3 else {}
    flags = {"port": "1004"} if strongest >= 4 else {}
    loaded = load(env, files, flags, env_files=env_files)
    assert loaded.settings.port == (8420, 1001, 1002, 1003, 1004)[strongest]
    origin = ("default", "config.yaml", ".env: HIVELORE_PORT", "environment: HIVELORE_PORT", "--port")[strongest]
    assert loaded.origins["port"] == origin


def test_a_later_config_file_wins_over_an_earlier_one():
    loaded = load({}, [("a.yaml", {"port": 1}), ("b.yaml", {"port": 2})])
    assert (loaded.settings.port, loaded.origins["port"]) == (2, "b.yaml")


def test_a_later_dotenv_file_wins_over_an_earlier_one():
    loaded = load({}, env_files=[("a.env", {"HIVELORE_PORT": "1"}), ("b.env", {"HIVELORE_PORT": "2"})])
    assert (loaded.settings.port, loaded.origins["port"]) == (2, "b.env: HIVELORE_PORT")


def test_every_setting_has_an_origin():
    assert set(load({}).origins) == set(setting_names())


def test_the_own_name_wins_over_aliases_and_aliases_go_in_declared_order():
    env = {"PORT": "4", "MEMORY_SERVICE_PORT": "3", "POLYMNEMO_PORT": "2", "HIVELORE_PORT": "1"}
    seen = []
    while env:
        loaded = load(env)
        seen.append((loaded.settings.port, loaded.origins["port"]))
        del env[loaded.origins["port"].removeprefix("environment: ")]
    assert seen == [
        (1, "environment: HIVELORE_PORT"),
        (2, "environment: POLYMNEMO_PORT"),
        (3, "environment: MEMORY_SERVICE_PORT"),
        (4, "environment: PORT"),
    ]


@pytest.mark.promise("P-077")
def test_an_ambient_alias_does_not_beat_the_own_name_in_dotenv():
    loaded = load(
        {"DATABASE_URL": "postgresql://localhost/some_other_app"},
        env_files=[(".env", {"HIVELORE_DATABASE_URL": "postgresql://localhost/mine"})],
    )
    assert loaded.settings.database_url == "postgresql://localhost/mine"


def test_an_alias_that_replaces_a_config_value_is_told():
    loaded = load({"PORT": "9000"}, [("config.yaml", {"port": 8500})])
    assert loaded.settings.port == 9000
    assert any("PORT" in warning and "config.yaml" in warning for warning in loaded.warnings)


@pytest.mark.parametrize("empty", ["", "   ", "\n"])
def test_an_empty_value_counts_as_not_set(empty):
    loaded = load({"HIVELORE_PORT": empty, "POLYMNEMO_PORT": "9001"})
    assert (loaded.settings.port, loaded.origins["port"]) == (9001, "environment: POLYMNEMO_PORT")
    assert load({"HIVELORE_DEFAULT_NAMESPACE": empty}).settings.default_namespace == "shared"


def test_a_flag_that_was_not_given_changes_nothing():
    assert load({"HIVELORE_PORT": "9001"}, flags={"port": None}).settings.port == 9001


# -- types


@pytest.mark.parametrize("name", [n for n in setting_names() if kind_of(n) == "switch"])
@pytest.mark.parametrize(("text", "value"), [("true", True), ("YES", True), ("1", True), ("off", False), ("0", False)])
def test_switches_read_the_usual_words(name, text, value):
    assert getattr(load({variable_of(name): text}).settings, name) is value


@pytest.mark.parametrize("name", sorted(RANGES))
def test_a_number_is_accepted_within_its_range_and_refused_outside(name):
    low, high = RANGES[name]
    for value in (low, high):
        assert getattr(load({variable_of(name): str(value)}).settings, name) == value
    for value in (low - 1, high + 1):
        message = refusal({variable_of(name): str(value)})
        assert variable_of(name) in message
        assert f"from {low} to {high}" in message


@pytest.mark.parametrize("value", ["abc", "1.5", "0x10", "1e3", "٣", "1_000"])
def test_what_is_no_whole_number_is_refused_naming_variable_and_value(value):
    message = refusal({"HIVELORE_RECALL_LIMIT": value})
    assert message.startswith("HIVELORE_RECALL_LIMIT must be a whole number from 1 to 10000")
    assert value in message


def test_lists_are_split_at_commas_and_trimmed():
    loaded = load({"HIVELORE_SHARED_NAMESPACES": " shared , team,, "})
    assert loaded.settings.shared_namespaces == ("shared", "team")


def test_a_config_file_may_write_lists_as_lists_even_empty_ones():
    assert load({}, [("c", {"shared_namespaces": ["a", "b"]})]).settings.shared_namespaces == ("a", "b")
    assert load({}, [("c", {"shared_namespaces": []})]).settings.shared_namespaces == ()


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_choices_are_read_in_any_case_and_anything_else_is_refused(name):
    for choice in CHOICES[name]:
        assert getattr(load({variable_of(name): choice.swapcase()}).settings, name) == choice
    message = refusal({variable_of(name): "nonsense"})
    assert message.startswith(f"{variable_of(name)} must be one of {', '.join(CHOICES[name])}")
    assert "nonsense" in message


def test_an_unknown_choice_suggests_the_nearest():
    assert "Did you mean fastembed?" in refusal({"HIVELORE_EMBEDDER": "fast-embed"})


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("port", True, "true"),
        ("port", 80.5, "80.5"),
        ("port", [80], "a list"),
        ("require_database", 2, "2"),
        ("default_namespace", 2024, "2024"),
        ("default_namespace", {"a": 1}, "a mapping"),
        ("shared_namespaces", [1, 2], "a list"),
        ("shared_namespaces", {"a": 1}, "a mapping"),
    ],
)
def test_a_value_of_the_wrong_type_in_a_config_file_names_key_file_and_kind(key, value, kind):
    message = refusal(files=[("config.yaml", {key: value})])
    assert message.startswith(f"{key} in config.yaml must be {allowed(key)}")
    assert kind in message


def test_yaml_reads_a_bare_off_as_false_and_it_still_means_off():
    assert load({}, [("c", {"embedder": False})]).settings.embedder == "off"


def test_several_problems_are_told_at_once():
    message = refusal({"HIVELORE_PORT": "x", "HIVELORE_AUTH": "y"}, [("c", {"prot": 1})])
    assert "HIVELORE_PORT" in message
    assert "HIVELORE_AUTH" in message
    assert "prot" in message


# -- unknown names


def test_an_unknown_variable_of_ours_is_a_warning_with_a_suggestion():
    loaded = load({"HIVELORE_PROT": "1"}, env_files=[(".env", {"HIVELORE_RECALL_LIMITS": "1"})])
    assert "HIVELORE_PROT in the environment is not a setting and is ignored. Did you mean HIVELORE_PORT?" in (
        loaded.warnings
    )
    assert any("HIVELORE_RECALL_LIMITS in .env" in w and "HIVELORE_RECALL_LIMIT?" in w for w in loaded.warnings)


def test_variables_that_other_parts_read_are_not_unknown():
    env = {"HIVELORE_URL": "x", "HIVELORE_TOKEN": "x", "HIVELORE_CONFIG": "x", "HIVELORE_DEBUG": "1"}
    assert load(env).warnings == ()


def test_a_client_variable_in_dotenv_is_told_to_have_no_effect():
    (warning,) = load({}, env_files=[(".env", {"HIVELORE_URL": "http://x"})]).warnings
    assert "HIVELORE_URL" in warning
    assert "environment only" in warning


def test_variables_that_kubernetes_sets_for_a_service_named_hivelore_do_no_harm():
    env = {
        "HIVELORE_PORT": "tcp://10.0.0.7:8420",
        "HIVELORE_SERVICE_HOST": "10.0.0.7",
        "HIVELORE_SERVICE_PORT": "8420",
        "HIVELORE_PORT_8420_TCP_ADDR": "10.0.0.7",
        "HIVELORE_DB_PORT": "tcp://10.0.0.8:5432",
    }
    loaded = load(env)
    assert loaded.settings.port == 8420
    assert loaded.origins["port"] == "default"
    (warning,) = loaded.warnings
    assert "Kubernetes" in warning


def test_an_unknown_key_of_a_config_file_is_an_error_with_a_suggestion():
    message = refusal(files=[("config.yaml", {"data-dir": "/x"})])
    assert message == "config.yaml has no setting data-dir. Did you mean data_dir?"


def test_unknown_variables_of_replaced_systems_are_no_warning_but_can_be_listed():
    env = {
        "POLYMNEMO_BLOB_BACKEND": "s3",
        "MEMMY_SUMMARY_MODEL": "",
        "POLYMNEMO_PORT": "1",
        "MEMMY_MEMORY_URL": "x",
    }
    assert load(env).warnings == ()
    assert unread_variables(env) == ("POLYMNEMO_BLOB_BACKEND",)


# -- references to variables


@pytest.mark.promise("M-100")
def test_references_in_files_are_replaced_from_the_environment():
    files = [("c", {"database_url": "postgresql://u:${PW}@h/d", "shared_namespaces": ["${NS}", "b"]})]
    loaded = load({"PW": SECRET, "NS": "a"}, files)
    assert loaded.settings.database_url == f"postgresql://u:{SECRET}@h/d"
    assert loaded.settings.shared_namespaces == ("a", "b")


def test_references_in_dotenv_see_the_environment_and_dotenv_itself():
    env_files = [(".env", {"BASE": "from-dotenv", "HIVELORE_DEFAULT_NAMESPACE": "${BASE}"})]
    assert load({}, env_files=env_files).settings.default_namespace == "from-dotenv"
    assert load({"BASE": "from-env"}, env_files=env_files).settings.default_namespace == "from-env"


def test_a_reference_to_a_missing_variable_names_the_setting_and_the_variable():
    message = refusal(files=[("config.yaml", {"embed_api_key": "${NOT_THERE}"})])
    assert message == ("embed_api_key in config.yaml refers to ${NOT_THERE}, which is not set in the environment.")
    assert refusal(env_files=[(".env", {"HIVELORE_HOST": "${GONE}"})]).startswith("HIVELORE_HOST in .env refers to")


def test_a_doubled_dollar_writes_a_literal_reference_and_other_braces_are_refused():
    loaded = load({}, [("c", {"default_namespace": "$${NS}"})])
    assert loaded.settings.default_namespace == "${NS}"
    assert "not the name of a variable" in refusal(files=[("c", {"default_namespace": "${NS:-x}"})])


def test_references_in_the_environment_itself_stay_as_they_are():
    assert load({"HIVELORE_DEFAULT_NAMESPACE": "${HOME}"}).settings.default_namespace == "${HOME}"


def test_other_variables_of_dotenv_may_hold_anything():
    assert load({}, env_files=[(".env", {"FOO": "${NOT_THERE}"})]).warnings == ()


# -- aliases

ALIASES = [
    ("POLYMNEMO_DATABASE_URL", "postgres://u@h/d", "database_url", "postgresql://u@h/d"),
    ("DATABASE_URL", "postgresql+asyncpg://u@h/d", "database_url", "postgresql://u@h/d"),
    ("MEMMY_MEMORY_DB", "/data/memory.sqlite", "database_url", "sqlite:////data/memory.sqlite"),
    ("MEMORY_SERVICE_DB", "~/m.sqlite", "database_url", "sqlite:////home/ana/m.sqlite"),
    ("POLYMNEMO_REQUIRE_DATABASE", "true", "require_database", True),
    ("POLYMNEMO_HOST", "0.0.0.0", "host", "0.0.0.0"),
    ("MEMMY_MEMORY_HOST", "[::1]", "host", "::1"),
    ("MEMORY_SERVICE_HOST", "10.0.0.1", "host", "10.0.0.1"),
    ("POLYMNEMO_PORT", "8000", "port", 8000),
    ("MEMMY_MEMORY_PORT", "18960", "port", 18960),
    ("MEMORY_SERVICE_PORT", "0", "port", 0),
    ("PORT", "8080", "port", 8080),
    ("POLYMNEMO_MCP_PATH", "/m", "mcp_path", "/m"),
    ("POLYMNEMO_LOG_LEVEL", "debug", "log_level", "DEBUG"),
    ("POLYMNEMO_LOG_LEVEL", "CRITICAL", "log_level", "ERROR"),
    ("MEMMY_LOG_LEVEL", "warn", "log_level", "WARNING"),
    ("MEMMY_LOG_LEVEL", "error", "log_level", "ERROR"),
    ("MEMMY_LOG_LEVEL", "info", "log_level", "INFO"),
    ("MEMMY_LOG_LEVEL", "debug", "log_level", "DEBUG"),
    ("POLYMNEMO_LOG_FORMAT", "json", "log_format", "json"),
    ("POLYMNEMO_AUTH_BACKEND", "static", "auth", "local"),
    ("POLYMNEMO_AUTH_BACKEND", "bearer", "auth", "bearer"),
    (
        "POLYMNEMO_API_KEYS",
        "longkey-1:ana, longkey-2:github:7",
        "api_keys",
        ("longkey-1:ana", "longkey-2:github:7"),
    ),
    ("MEMMY_MEMORY_TOKEN", "a-long-token", "api_keys", ("a-long-token:local",)),
    ("MEMORY_SERVICE_TOKEN", "a,long,token", "api_keys", ("a,long,token:local",)),
    ("POLYMNEMO_SHARED_NAMESPACES", "shared,team", "shared_namespaces", ("shared", "team")),
    ("POLYMNEMO_DEFAULT_NAMESPACE", "mine", "default_namespace", "mine"),
    ("POLYMNEMO_SESSION_NAMESPACE", "talks", "session_namespace", "talks"),
    ("POLYMNEMO_RECALL_LIMIT", "5", "recall_limit", 5),
    ("POLYMNEMO_LIST_LIMIT", "50", "list_limit", 50),
    ("POLYMNEMO_CHUNK_TOKENS", "200", "chunk_tokens", 200),
    ("POLYMNEMO_CHUNK_OVERLAP_TOKENS", "0", "chunk_overlap_tokens", 0),
    ("POLYMNEMO_EMBED_BACKEND", "fastembed", "embedder", "e5"),
    ("POLYMNEMO_EMBED_BACKEND", "stub", "embedder", "hash"),
    ("MEMMY_EMBEDDING_PROVIDER", "local", "embedder", "e5"),
    ("MEMMY_EMBEDDING_PROVIDER", "openai_compatible", "embedder", "http"),
    ("POLYMNEMO_EMBED_MODEL", "BAAI/bge-m3", "embed_model", "BAAI/bge-m3"),
    ("MEMMY_EMBEDDING_MODEL", "text-embedding-3-small", "embed_model", "text-embedding-3-small"),
    ("POLYMNEMO_EMBED_DIM", "384", "embed_dims", 384),
    ("MEMMY_EMBEDDING_ENDPOINT", "https://e.example.com/v1", "embed_url", "https://e.example.com/v1"),
    ("MEMMY_EMBEDDING_API_KEY", "k", "embed_api_key", "k"),
]


@pytest.mark.promise("M-098", "M-099", "P-034", "P-038", "P-077", "P-079", "P-082", "P-083", "P-085")
@pytest.mark.parametrize(("variable", "value", "name", "expected"), ALIASES)
def test_an_alias_means_what_it_means_in_the_system_it_comes_from(variable, value, name, expected):
    loaded = load({variable: value, "HOME": "/home/ana"})
    assert getattr(loaded.settings, name) == expected
    assert loaded.origins[name] == f"environment: {variable}"


def test_every_declared_alias_has_a_case_here():
    declared = {(alias, name) for name in setting_names() for alias in metadata_of(name)["aliases"]}
    assert declared == {(variable, name) for variable, _, name, _ in ALIASES}


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("MEMMY_EMBEDDING_PROVIDER", "cohere", "“cohere” is unsupported"),
        ("POLYMNEMO_EMBED_BACKEND", "torch", "“torch” is unsupported"),
        ("POLYMNEMO_AUTH_BACKEND", "oauth", "“oauth” is unsupported"),
        ("MEMMY_LOG_LEVEL", "trace", "“trace” is unsupported"),
        ("MEMMY_MEMORY_TOKEN", "user:secret-part", "must not hold a colon"),
        (
            "DATABASE_URL",
            "mysql://u:secret-part@h/d",
            "not a mysql:// address. Set HIVELORE_DATABASE_URL to ignore it.",
        ),
    ],
)
def test_a_value_that_an_alias_cannot_take_is_refused_by_the_name_of_the_alias(variable, value, words):
    message = refusal({variable: value})
    assert message.startswith(variable)
    assert words in message
    assert "secret-part" not in message


def test_an_unknown_polymnemo_log_level_is_info_with_a_warning():
    loaded = load({"POLYMNEMO_LOG_LEVEL": "chatty"})
    assert loaded.settings.log_level == "INFO"
    assert "POLYMNEMO_LOG_LEVEL" in loaded.warnings[0]


@pytest.mark.parametrize(
    "env",
    [
        {"POLYMNEMO_EMBED_MODEL": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"},
        {
            "POLYMNEMO_EMBED_MODEL": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
            "POLYMNEMO_EMBED_BACKEND": "fastembed",
        },
        {"MEMMY_EMBEDDING_MODEL": "Xenova/all-MiniLM-L6-v2", "MEMMY_EMBEDDING_PROVIDER": "local"},
    ],
)
def test_the_default_model_of_a_replaced_system_means_e5_with_a_warning(env):
    loaded = load(env)
    assert (loaded.settings.embedder, loaded.settings.embed_model) == ("e5", "")
    assert loaded.origins["embed_model"] == "default"
    assert "EMBED" in loaded.warnings[0]
    assert "`e5` is used" in loaded.warnings[0]


def test_that_model_is_kept_where_fastembed_is_asked_for_by_our_own_name():
    model = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    loaded = load({"POLYMNEMO_EMBED_MODEL": model, "HIVELORE_EMBEDDER": "fastembed"})
    assert (loaded.settings.embed_model, loaded.warnings) == (model, ())


def test_a_model_that_the_embedder_does_not_use_is_told():
    loaded = load({"HIVELORE_EMBED_MODEL": "BAAI/bge-m3"})
    assert "set HIVELORE_EMBEDDER to fastembed or http" in loaded.warnings[0]


# -- places


def test_paths_are_made_absolute_so_that_the_working_directory_matters_once(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    loaded = load({"HOME": "/home/ana", "HIVELORE_EMBED_FOLDER": "models"}, flags={"database_url": "sqlite:///x.db"})
    assert loaded.settings.data_dir == "/home/ana/.hivelore"
    assert loaded.settings.embed_folder == f"{tmp_path}/models"
    assert loaded.settings.database_url == f"sqlite:///{tmp_path}/x.db"


@pytest.mark.parametrize(("key", "value"), [("data_dir", "data"), ("database_url", "sqlite:///data/x.db")])
def test_a_relative_path_in_a_config_file_is_refused(key, value):
    assert "absolute path" in refusal(files=[("config.yaml", {key: value})])


@pytest.mark.parametrize("value", ["memory", "MEMORY"])
def test_memory_is_a_database_url(value):
    assert load({"HIVELORE_DATABASE_URL": value}).settings.database_url == "memory"


@pytest.mark.parametrize(
    "value", ["sqlite:///", "sqlite:///:memory:", "sqlite://", "./x.db", "host=h password=pw-secret"]
)
def test_other_database_urls_are_refused_without_showing_them(value):
    message = refusal({"HIVELORE_DATABASE_URL": value})
    assert message.startswith("HIVELORE_DATABASE_URL must be")
    assert "pw-secret" not in message


# -- keys


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (f"good-key-1:ana,{SECRET}", "pair 2 of 2"),
        (f":{SECRET},good-key-1:ana", "pair 1 of 2"),
        (f"{SECRET}:", "pair 1 of 1"),
        (f"{SECRET}:ana, good-key-1:bo ,{SECRET}:cy", "pairs 1 and 3"),
        (f"{SECRET} x:ana", "pair 1"),
        (f"{SECRET}é:ana", "pair 1"),
    ],
)
def test_a_bad_key_pair_is_named_by_position_and_never_shown(keys, words):
    message = refusal({"HIVELORE_API_KEYS": keys})
    assert message.startswith("HIVELORE_API_KEYS must hold")
    assert words in message
    assert SECRET not in message


def test_a_short_key_is_a_warning_that_does_not_show_it():
    loaded = load({"HIVELORE_API_KEYS": "good-key-1:ana,k3y:bo"})
    (warning,) = loaded.warnings
    assert "pair 2" in warning
    assert "k3y" not in warning


@pytest.mark.promise("P-034")
def test_a_key_pair_splits_at_the_first_colon_and_is_trimmed():
    loaded = load({"HIVELORE_API_KEYS": " good-key-1 : github:123 "})
    assert loaded.settings.api_keys == ("good-key-1:github:123",)


@pytest.mark.parametrize("value", [12345678, 1.5, True, [SECRET, 1], {SECRET: "ana"}, [{SECRET: "ana"}]])
def test_a_secret_of_the_wrong_type_shows_its_kind_only(value):
    for name in ("api_keys", "embed_api_key", "database_url"):
        message = refusal(files=[("config.yaml", {name: value})])
        assert message.startswith(f"{name} in config.yaml must be")
        for text in (SECRET, "12345678", "1.5"):
            assert text not in message


# -- masking


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("database_url", f"postgresql://ana:{SECRET}@db:5432/x", "postgresql://ana:****@db:5432/x"),
        ("database_url", f"postgresql://ana:p@{SECRET}/?#@db/x", "postgresql://ana:****@db/x"),
        (
            "database_url",
            f"postgresql://db/x?user=ana&password={SECRET}",
            "postgresql://db/x?user=ana&password=****",
        ),
        (
            "database_url",
            f"postgresql://db/x?sslpassword={SECRET}&a=b",
            "postgresql://db/x?sslpassword=****&a=b",
        ),
        ("database_url", "postgresql://ana@db/x", "postgresql://ana@db/x"),
        ("database_url", "sqlite:////home/a:b@c/x.db", "sqlite:////home/a:b@c/x.db"),
        ("database_url", "memory", "memory"),
        ("database_url", "", ""),
        ("embed_api_key", SECRET, "****"),
        ("embed_api_key", "", ""),
        ("embed_url", f"https://u:{SECRET}@e.example.com/v1", "https://u:****@e.example.com/v1"),
        ("embed_url", f"https://e.example.com/v1?api-key={SECRET}", "https://e.example.com/v1?api-key=****"),
        ("api_keys", (f"{SECRET}:ana", f"{SECRET}2:github:7"), ("****:ana", "****:github:7")),
        ("host", "127.0.0.1", "127.0.0.1"),
        ("port", 8420, 8420),
    ],
)
def test_masking_hides_the_secret_and_keeps_the_rest(name, value, expected):
    assert mask(name, value) == expected


def test_every_setting_declared_secret_is_masked():
    for name in setting_names():
        if metadata_of(name)["secret"]:
            value = (f"{SECRET}:ana",) if kind_of(name) == "list" else SECRET
            assert SECRET not in shown(mask(name, value))


def test_a_shown_value_reads_back_as_the_same_value():
    env = {variable_of(name): shown(default_of(name)) for name in setting_names()}
    assert load({**env, "HOME": "/h"}).settings == load({"HOME": "/h"}).settings


# -- cross-checks


def complaint(*, serving: bool = True, **changes) -> str:
    with pytest.raises(Invalid) as caught:
        validate(replace(Settings(), **changes), serving=serving)
    return caught.value.message


@pytest.mark.promise("M-096")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "memory.example.com", "127.evil.example"])
def test_listening_beyond_this_machine_without_keys_is_refused_with_two_ways_out(host):
    message = complaint(host=host)
    assert host in message
    assert "HIVELORE_API_KEYS" in message
    assert "HIVELORE_HOST=127.0.0.1" in message


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "LOCALHOST", "::1", "[::1]"])
def test_listening_on_loopback_needs_no_keys(host):
    validate(replace(Settings(), host=host))


def test_listening_beyond_this_machine_with_keys_is_fine():
    validate(replace(Settings(), host="0.0.0.0", api_keys=("good-key-1:ana",)))


def test_the_user_local_for_a_whole_network_is_refused_even_with_keys():
    message = complaint(host="0.0.0.0", auth="local", api_keys=("good-key-1:ana",))
    assert "HIVELORE_AUTH is local" in message


@pytest.mark.promise("P-081")
def test_bearer_without_keys_is_refused():
    assert "HIVELORE_API_KEYS" in complaint(auth="bearer")


def test_a_process_that_does_not_listen_is_spared_the_rules_for_listening():
    validate(replace(Settings(), host="0.0.0.0"), serving=False)
    assert "HIVELORE_MAX_TAGS" in complaint(serving=False, max_tags=0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"default_namespace": " "}, "HIVELORE_DEFAULT_NAMESPACE must not be empty"),
        ({"session_namespace": ""}, "HIVELORE_SESSION_NAMESPACE must not be empty"),
        ({"transcript_namespace": ""}, "HIVELORE_TRANSCRIPT_NAMESPACE must not be empty"),
        ({"data_dir": ""}, "HIVELORE_DATA_DIR must not be empty"),
        ({"default_namespace": "n" * 257}, "HIVELORE_MAX_NAME_CHARS"),
        ({"port": 65536}, "HIVELORE_PORT must be a whole number from 0 to 65535"),
        ({"max_limit": 0}, "HIVELORE_MAX_LIMIT must be a whole number from 1"),
        ({"max_content_chars": -1}, "HIVELORE_MAX_CONTENT_CHARS"),
        ({"embedder": "magic"}, "HIVELORE_EMBEDDER must be one of"),
        ({"chunk_tokens": 20, "chunk_overlap_tokens": 20}, "must be smaller than HIVELORE_CHUNK_TOKENS (20)"),
        ({"chunk_tokens": 500, "chunk_overlap_tokens": 20}, "make 520 tokens together"),
        ({"recall_limit": 201}, "HIVELORE_RECALL_LIMIT must not be larger than HIVELORE_MAX_LIMIT (200)"),
        ({"list_limit": 201}, "HIVELORE_LIST_LIMIT must not be larger than HIVELORE_MAX_LIMIT (200)"),
        ({"embedder": "http"}, "HIVELORE_EMBED_URL must be"),
        ({"embedder": "http", "embed_url": "ftp://x"}, "HIVELORE_EMBED_URL must be"),
        ({"require_database": True}, "HIVELORE_DATABASE_URL must name a database"),
        ({"require_database": True, "database_url": "memory"}, "HIVELORE_DATABASE_URL must name a database"),
        ({"mcp_path": "mcp"}, "HIVELORE_MCP_PATH must begin with /"),
        ({"timezone": "Mars/Base"}, "HIVELORE_TIMEZONE must be UTC or a time zone"),
        ({"timezone": "../../etc/passwd"}, "HIVELORE_TIMEZONE must be UTC or a time zone"),
        ({"timezone": ""}, "HIVELORE_TIMEZONE must be UTC or a time zone"),
        ({"allowed_hosts": ("https://a.example",)}, "HIVELORE_ALLOWED_HOSTS"),
        ({"allowed_origins": ("a.example",)}, "HIVELORE_ALLOWED_ORIGINS"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(changes, words):
    assert words in complaint(**changes)


def test_long_chunks_are_fine_for_embedders_without_that_window():
    validate(replace(Settings(), chunk_tokens=500, embedder="off"))


@pytest.mark.promise("P-079")
def test_a_named_database_satisfies_require_database():
    validate(replace(Settings(), require_database=True, database_url="sqlite:////data/x.db"))
    validate(replace(Settings(), require_database=True, database_url="postgresql://db/x"))
