"""Secrets leave the text, everything else stays, and no input makes it slow.

Keys are put together from pieces at run time: written out, they would look like leaked ones to every scanner
that reads this repository.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.redact import MARKER, redact

NOISE = "Kx9fWq3ZrT8bN2mYv7LpQd5sJh4GcAe1uRiXoPzBtEwM6nVkD0aSyCgHjF"
HEX = "3f2504e04f8911d39a0c0305e82c3301" * 2


def key(*pieces: str) -> str:
    return "".join(pieces)


SECRETS = {
    "ssh_private_key": key(
        "-----BEGIN OPENSSH ",
        "PRIVATE KEY-----\n",
        NOISE,
        "\n",
        NOISE,
        "\n-----END OPENSSH ",
        "PRIVATE KEY-----",
    ),
    "anthropic_api_key": key("sk-", "ant-", "api03-", NOISE),
    "openai_api_key": key("sk-", "proj-", NOISE[:44]),
    "google_api_key": key("AI", "za", NOISE[:35]),
    "github_token": key("gh", "p_", NOISE[:36]),
    "gitlab_token": key("gl", "pat-", NOISE[:20]),
    "slack_token": key("xo", "xb-", "1234567890-", NOISE[:24]),
    "aws_access_key_id": key("AK", "IA", "QWERTYUIOPASDFG7"),
    "stripe_key": key("sk", "_live_", NOISE[:24]),
    "jwt": key("ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxIn0", ".", NOISE[:43]),
    "npm_token": key("np", "m_", NOISE[:36]),
    "pypi_token": key("py", "pi-", "AgEI", NOISE),
    "huggingface_token": key("h", "f_", NOISE[:34]),
    "sendgrid_key": key("S", "G.", NOISE[:22], ".", NOISE[:43]),
    "google_oauth": key("GOC", "SPX-", NOISE[:28]),
    "access_token": key("do", "p_v1_", HEX),
    "telegram_token": key("123456789", ":AA", NOISE[:33]),
    "base64_secret": NOISE[:40],
}

SURROUNDINGS = {
    "in a sentence": "I used {} yesterday.",
    "in a JSON string after a written line break": '{{"command":"echo start\\n{}\\nrun"}}',
    "in a list": "- {}\n- other",
    "between CJK words": "鍵は{}です",
    "at the end": "key {}",
}


@pytest.mark.parametrize("surrounding", SURROUNDINGS.values(), ids=SURROUNDINGS)
@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_of_every_shape_is_replaced_by_its_marker_wherever_it_stands(kind: str, surrounding: str) -> None:
    secret = SECRETS[kind]
    result = redact(surrounding.format(secret))
    assert result.text == surrounding.format(f"[REDACTED:{kind}]")
    assert result.counts == {kind: 1}
    assert result.total == 1


NAMED = {
    "env file": ("DB_PASSWORD={}", "hunter2", "password"),
    "env file, only letters": ("POSTGRES_PASSWORD={}", "hunter", "password"),
    "shell, escaped quotes": ('{{"command":"export PASSWORD=\\"{}\\""}}', "two words", "password"),
    "python": ('password = "{}"', "hunter2", "password"),
    "python, single quotes": ("connect(user='bob', password='{}')", "hunter2", "password"),
    "subscript": ('config["password"] = "{}"', "x1y", "password"),
    "json": ('{{"user": "bob", "password": "{}", "port": 1}}', 'a\\"b', "password"),
    "yaml": ("db:\n  password: {}\n  port: 1", "swordfish", "password"),
    "php": ("'password' => '{}',", "abc", "password"),
    "markdown": ("**Password:** {}", "hunter2", "password"),
    "query": ("/login?password={}&next=1", "swordfish", "password"),
    "option": ("mysql --password={} -u root", "swordfish", "password"),
    "libpq": ("host=db password={} dbname=x", "swordfish", "password"),
    "odbc": ("Server=db;Uid=sa;Pwd={};", "ab1!", "connection_string"),
    "ado": ("Server=db;Password={};Database=x", "ab,1", "password"),
    "passphrase": ("passphrase: '{}'", "correct horse", "password"),
    "url": ("postgres://app:{}@db:5432/app", "s3cr-t", "connection_string"),
    "url without a user": ("redis://:{}@cache:6379/0", "s3cr-t", "connection_string"),
    "bearer header": ("Authorization: Bearer {}", "mF_9.B5f-4.1JqM", "authorization_bearer"),
    "bearer header in json": ('"Authorization": "Bearer {}"', "abc.def-123", "authorization_bearer"),
    "basic header": ("authorization: Basic {}", "czZCaGRSa3F0MzpnWDFm", "authorization_basic"),
    "bearer alone": ("curl -H 'X-Auth: bearer {}'", NOISE[:24], "authorization_bearer"),
    "aws": ("AWS_SECRET_ACCESS_KEY={}", NOISE[:40], "aws_secret_key"),
    "npmrc": ("//registry/:_authToken={}", "abcd-efgh-1234", "npm_token"),
    "slack": (key("https://hooks.slack", ".com/services/{}"), "T0000/B0000/" + NOISE[:24], "slack_webhook"),
    "hex key": ("API_KEY={}", HEX, "secret"),
    "client secret": ('"client_secret": "{}"', "abcd1234efgh5678ijkl", "secret"),
    "django": ("SECRET_KEY = '{}'", "django-insecure-3$k#9x!abcdefg12345", "secret"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_a_value_beside_the_name_of_a_secret_is_replaced_and_the_name_stays(name: str) -> None:
    template, secret, kind = NAMED[name]
    result = redact(template.format(secret))
    assert result.text == template.format(f"[REDACTED:{kind}]")
    assert result.counts == {kind: 1}


READABLE = [
    "password = get_password()",
    "password=get_password()",
    "password = getpass.getpass('Password: ')",
    "def login(self, password: str, token: str | None = None) -> Session:",
    "def load(data, password: bytes):\n    return data",
    "password: SecretBytes\n",
    "connect(user=user, password=pw)",
    "connect(user=user, password=db_password)",
    "password = os.environ['DB_PASSWORD']",
    "password=os.environ.get('DB_PASSWORD')",
    "password: process.env.DB_PASSWORD!",
    "password=$DB_PASSWORD",
    "password: ${{ secrets.DB_PASSWORD }}",
    "password: {{ vault_password }}",
    "password = '<your password>'",
    "password=***",
    "if password: return\n",
    "password: string;",
    "password: required",
    "The password: keep it somewhere safe.",
    "password: 8 characters or more",
    '"password": "Enter your password"',
    "PASSWORD_MIN_LENGTH=12",
    "passwordMinLength: 12",
    "password_file=/run/secrets/db",
    "max_tokens: 4096, input_tokens=812",
    "tokenizer: bert-base-uncased-v2-2019",
    "secretName: my-app-tls-2024-cert",
    "export const token = await getToken(user)",
    "private_key: Ed25519PrivateKey",
    "token_url = https://example.org/oauth2/token",
    "authorization: bearer should be sent",
    "Authorization: Bearer <token>",
    "Authorization: Bearer tokens are",
    "commit 3f2504e04f8911d39a0c0305e82c3301aabbccdd",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "toolu_01NzjV452AGVQR51StZtarfB msg_01XFDUDYJgAACzvnptvVoYEL",
    "sha512-" + NOISE + NOISE[:30] + "==",
    "ssh-rsa AAAAB3NzaC1yc2E" + NOISE,
    "SHA256:" + NOISE[:43],
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" + NOISE,
    "[image] [document]",
    "/home/Bob/Projects/MyApp2/src/Components/HeaderView/IndexPage3",
    "com/Example/MyCompany2Project/SourceCodeFiles/MainActivity",
    "getUserAuthenticationTokenV2FromRequestHandlerFactory",
    "task-force-on-the-improvement-of-everything-under-the-sun-2026",
    "http://localhost:8080/@scope/package",
    "git clone ssh://git@example.org:22/repo.git",
    "postgres://app:$PGPASSWORD@db/app",
    "grep -- '-----BEGIN RSA PRIVATE KEY-----' id_rsa && echo found",
    "if s.startswith('-----BEGIN PRIVATE KEY-----') and s.endswith('-----END PRIVATE KEY-----'):",
    "身份校验在网关完成。パスワード: 管理者に聞く",
]  # fmt: skip


@pytest.mark.parametrize("text", READABLE)
def test_code_prose_hashes_and_references_stay_as_they_are(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).counts == {}


def test_a_key_block_that_was_cut_off_loses_its_lines_and_the_text_before_it_stays() -> None:
    begin = key("-----BEGIN RSA ", "PRIVATE KEY-----\n")
    assert redact(f"cat key\n{begin}{NOISE}\n{NOISE[:20]}").text == "cat key\n[REDACTED:ssh_private_key]"


def test_a_key_block_inside_json_is_replaced_with_its_escaped_line_breaks() -> None:
    block = SECRETS["ssh_private_key"].replace("\n", "\\n")
    assert redact(f'{{"private_key": "{block}"}}').text == '{"private_key": "[REDACTED:ssh_private_key]"}'


def test_a_very_long_unquoted_value_is_replaced_to_its_end() -> None:
    result = redact("API_KEY=" + "a1-" * 900 + " next")
    assert result.text == "API_KEY=[REDACTED:secret] next"


def test_base64_of_four_thousand_characters_is_replaced_whatever_it_reads_like() -> None:
    assert redact("x " + "abcd" * 1024 + "==").text == "x [REDACTED:base64_secret]"
    assert redact("x " + "abcd" * 100).counts == {}


def test_every_secret_is_counted_under_its_kind() -> None:
    text = "\n".join([SECRETS["github_token"], SECRETS["github_token"], "password='x y'", SECRETS["jwt"]])
    assert redact(text).counts == {"github_token": 2, "jwt": 1, "password": 1}


def test_offsets_survive_a_letter_whose_lower_case_is_longer() -> None:
    assert redact("İİİ password='geheim1' İ").text == "İİİ password='[REDACTED:password]' İ"


FRAGMENTS = st.sampled_from(
    [
        *SECRETS.values(),
        *(template.format(secret) for template, secret, _ in NAMED.values()),
        *READABLE,
        *("[REDACTED:password]", "=", ": ", '"', "\n", " "),
    ]
)


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=12)), max_size=8).map("".join))
def test_a_second_pass_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    assert once.text.count(MARKER) == text.count(MARKER) + once.total


@given(st.lists(st.sampled_from(sorted(SECRETS.values())), min_size=1, max_size=6))
def test_no_prefixed_secret_survives_among_others(secrets: list[str]) -> None:
    result = redact(" and ".join(secrets))
    assert not any(secret in result.text for secret in secrets)
    assert result.total == len(secrets)


HOSTILE = [
    *"aA- =\\&$", "A1b/", "\\n", '\\"', "&a", "password=", 'password="', "password='", 'password=\\"', "password: ",
    "password=,a", "passwordpassword=", "password=(", "token=", "token=a1", "secret_key=", "api_key", "secret:",
    "://", "://a:", "://a:b@", "bearer ", "bearer a1", "authorization: bearer ", 'authorization""""', "sk-",
    "eyJ", "eyJhbGciOi.", "xoxb-", "SG.", "AKIA", "npm_", "0123456789:AA", "_authToken=",
    "hooks.slack.com/services/", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAA", "-----BEGIN A", "data:image/png;base64,", "A1b" * 10 + " ",
    "[REDACTED:", "pwd=;",
]  # fmt: skip


def test_hostile_input_takes_time_in_proportion_to_its_size() -> None:
    """Four times the text may take four times as long; a quadratic pattern would take sixteen times as long.

    Only inputs that take long at all are compared, so that no short measurement decides.
    """
    program = textwrap.dedent(
        f"""
        import time
        from hivelore.core.redact import redact

        def seconds(text):
            begin = time.process_time()
            redact(text)
            return time.process_time() - begin

        for unit in {HOSTILE!r}:
            starts = ("", "password=", 'token="', "bearer ", "-----BEGIN ") if len(unit) == 1 else ("",)
            for start in starts:
                text = start + (unit * 100_000)[:100_000]
                long = seconds(text)
                if long > 0.15:
                    ratio = long / min(seconds(text[:25_000]) for _ in range(2))
                    assert ratio < 10, (start, unit, long, ratio)
        redact(("token=" * 200_000)[:1_000_000])
        """
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env={"PYTHONPATH": ":".join(sys.path)})
