"""Masking of secrets, kind by kind, with what looks like one and must stay."""

from __future__ import annotations

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.sources.redaction import Redactor, mask
from tests.costs import costs_at_most

redact = Redactor()

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nq1w2e3r4t5\n-----END RSA PRIVATE KEY-----"
TOKEN = "aB3dE5fG7hI9jK1lM3nO5pQ7"
WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4"

SECRETS = [
    ("env assignment", f"export DB_PASSWORD={TOKEN}", TOKEN),
    ("env assignment, quoted", f'STRIPE_SECRET="{TOKEN}"', TOKEN),
    ("env assignment, short", "API_KEY=abc123", "abc123"),
    ("env with a colon", f"GITHUB_TOKEN: {TOKEN}", TOKEN),
    ("env with signs in it", "DB_PASSWORD=p@ss,w&rd", "p@ss,w&rd"),
    ("json field", f'{{"apiKey": "{TOKEN}"}}', TOKEN),
    ("json field in a text in json", f'{{\\"accessToken\\": \\"{TOKEN}\\"}}', TOKEN),
    ("json field with blanks", '{"password": "correct horse battery"}', "correct horse battery"),
    ("json token", '{"token": "kilnsecret"}', "kilnsecret"),
    ("yaml field", "client_secret: s3cr3tvalue", "s3cr3tvalue"),
    ("yaml password", "password: swordfish\nuser: ana", "swordfish"),
    ("python keyword argument", "connect(password='hunter2')", "hunter2"),
    ("camel case", f"refreshToken={TOKEN}", TOKEN),
    ("short name of a password", "SMTP_PASS=abcd-efgh-ijkl-mnop", "abcd-efgh-ijkl-mnop"),
    ("app password", '{"appPassword": "abcd-efgh-ijkl-mnop"}', "abcd-efgh-ijkl-mnop"),
    ("card number", '"card_number": "4111111111111111"', "4111111111111111"),
    ("card code", "cvc=123", "123"),
    ("flag", "kiln --api-key abcdefgh run", "abcdefgh"),
    ("flag with equals", "kiln --password=hunter2", "hunter2"),
    ("flag, quoted", "kiln --token 'two words'", "two words"),
    ("login of curl", "curl -u ana:hunter2 http://kiln", "hunter2"),
    ("bearer header", "Authorization: Bearer abc.def-123", "abc.def-123"),
    ("basic header", "curl -H 'Authorization: Basic YW5hOmh1bnRlcg=='", "YW5hOmh1bnRlcg=="),
    ("bot header", '"authorization": "Bot MTk4NjIyNDgzNDcx"', "MTk4NjIyNDgzNDcx"),
    ("api key header", "x-api-key: 0123456789abcdef", "0123456789abcdef"),
    ("cookie header", "Cookie: sid=31d4d96e407aad42; theme=dark", "sid=31d4d96e407aad42; theme=dark"),
    ("bare bearer", f"send Bearer {TOKEN} along", TOKEN),
    ("user info of a url", "postgres://ana:hunter2@db.kiln/ramp", "hunter2"),
    ("user info without a user", "redis://:hunter2@db.kiln", "hunter2"),
    ("query of a url", f"https://kiln.io/cb?access_token={TOKEN}&page=2", TOKEN),
    ("key in a query", f"https://kiln.io/v1?key={TOKEN}", TOKEN),
    ("form body", "user=ana&password=hunter2&grant=x", "hunter2"),
    ("slack webhook", "https://hooks.slack.com/services/T00/B00/XXXX1234abcd", "T00/B00/XXXX1234abcd"),
    ("discord webhook", "https://discord.com/api/webhooks/123/abcdEFGH1234", "abcdEFGH1234"),
    ("user info with an at sign in the password", "https://joe:p@ssw0rd99@host/x?to=a@b", "p@ssw0rd99"),
    ("user info with a mail address for a name", "smtp://ana@kiln.io:hunter2@mail.kiln.io", "hunter2"),
    ("user info with a sign of a query in it", "redis://ana:what?ever@db.kiln", "what?ever"),
    ("user info of digits", "postgres://ana:12345678@db.kiln/ramp", "12345678"),
    ("password with an ampersand", "Password=Tr0ub4dor&3! is it", "Tr0ub4dor&3!"),
    ("password with a closing sign, in a form", "pwd=x&password=hunter2!&a[b]=1", "hunter2!"),
    ("password with an ampersand, in HTML", "user=ana&amp;password=a&b7&amp;grant=x", "a&b7"),
    ("password at the end of a loud sentence", "I set password=Pw123!, at last.", "Pw123!"),
    ("flag with a closing sign", "kiln --password Pw123! run", "Pw123!"),
    ("name after an escape", r"{\"text\": \"a\nKEY=abc123def456ghij\"}", "abc123def456ghij"),
    ("cookie after an escape", r"GET /\r\nCookie: sid=31d4d96e", "sid=31d4d96e"),
    ("prefix after an escape", rf"keys:\nsk-{TOKEN} more", f"sk-{TOKEN}"),
    ("prefix after a percent sign", f"next=a%3Dghp_{TOKEN} more", f"ghp_{TOKEN}"),
    ("prefix after a colour", f"\x1b[1;32mghp_{TOKEN}\x1b[0m", f"ghp_{TOKEN}"),
    ("web token after an escape", rf"jwt\t{WEB_TOKEN} here", WEB_TOKEN),
    (
        "bot in an address",
        "https://api.telegram.org/bot123456789:AAF0abcdefghijklmnop/getMe",
        "123456789:AAF0abcdefghijklmnop",
    ),
    ("bot in an escaped address", r"a\n123456789:AAF0abcdefghijklmnop b", "123456789:AAF0abcdefghijklmnop"),
    ("web token", f"jwt {WEB_TOKEN} here", WEB_TOKEN),
    ("telegram bot", "bot 123456789:AAF0abcdefghijklmnop", "123456789:AAF0abcdefghijklmnop"),
    *(
        (f"prefix {prefix}", f"use {prefix}{tail} now", prefix + tail)
        for prefix, tail in (
            *((p, TOKEN) for p in ("sk-", "sk-proj-", "sk-ant-api03-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
            *((p, TOKEN) for p in ("github_pat_", "glpat-", "gloas-", "xoxb-", "xoxp-", "xapp-", "gsk_", "AIza")),
            *((p, TOKEN) for p in ("ya29.", "1//0", "pplx-", "fal_", "fc-", "bb_live_", "sk_live_", "sk_test_")),
            *((p, TOKEN) for p in ("rk_live_", "npm_", "pypi-", "dop_v1_", "doo_v1_", "dor_v1_", "dp.st.")),
            *((p, TOKEN) for p in ("dckr_pat_", "sbp_", "glsa_", "nfp_", "CFPAT-", "HRKU-AA", "pat-eu1-", "pat-na1-")),
            *((p, TOKEN) for p in ("apify_api_", "tvly-", "exa_", "mem0_", "xai-", "AKID", "LTAI", "hf_", "api_org_")),
            ("r8_", TOKEN),
            ("SG.", f"{TOKEN}.{TOKEN}"),
            ("AKIA", "IOSFODNN7EXAMPLE"),
            ("ASIA", "IOSFODNN7EXAMPLE"),
        )
    ),
    ("openai key of letters alone", "sk-abcdefghijklmnopqrstuvwxyz", "sk-abcdefghijklmnopqrstuvwxyz"),
]

HARMLESS = [
    "max_tokens=4096 and next_token: abc",
    "monkey=banana turkey: roast keyboard = qwerty",
    "primary_key: id, sort_key=name, cache_key=user:1",
    "def login(token: str, password: str | None = None) -> bool:",
    "token = self.token; password=password; secret = get_secret(name)",
    "API_KEY=$OPENAI_API_KEY and SECRET=${VAULT} and TOKEN=<your token>",
    "password = os.environ['DB_PASSWORD']",
    "The key: keep the ramp slow. My secret: patience. One token: a word.",
    "password: must be long",
    "KEY=42 is the answer",
    "git show 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "session 550e8400-e29b-41d4-a716-446655440000",
    "a risk-based approach, sk-learn-contrib-package, task-force",
    "npm_config_registry and hf_hub_download and exa_search_results",
    "the bearer of certificates-and-other-things",
    "cookie: chocolate chips",
    "PASS: 12 tests, bypass=1, PWD=/home/ana, compass: north, first pass: done",
    "four-word-long-name stays outside of fields",
    "https://kiln.io:8080/a@b and http://localhost:3000",
    "src/main.py:123456 and 12345678:short",
    "docker run -u 1000:1000 kiln",
    "AIza is a prefix, ghp_ too, eyJ as well",
    "compare if key == 'abc' or token != other",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "*** and sk-pro…1234",
    "password: never! The password: yes!",
    "password = null! and token = undefined! and key: 550e8400-e29b-41d4-a716-446655440000!",
    "https://kiln.io:8080?mail and git@kiln.io:ana/ramp@main",
    "v123456789:AAF0abcdefghijklmnop",
    r"C:\risk-based-approach and C:\task-force",
]


@pytest.mark.parametrize(("text", "secret"), [case[1:] for case in SECRETS], ids=[case[0] for case in SECRETS])
def test_secret_is_masked_and_the_text_around_it_stays(text: str, secret: str) -> None:
    masked = redact(text)

    assert secret not in masked
    before, _, after = text.partition(secret)
    assert masked.startswith(before.rsplit("-", 1)[0].rstrip("abcdefghijklmnopqrstuvwxyz_"))
    assert masked.endswith(after)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    assert redact(text) == text


def test_mask_shows_nothing_of_short_secrets_and_the_ends_of_long_ones() -> None:
    assert mask("12345678901234567") == "***"
    assert mask("sk-proj-abcdefgh-1234") == "sk-pro…1234"


def test_assignment_keeps_its_name() -> None:
    assert redact("export OPENAI_API_KEY=sk-proj-abcdefgh1234") == "export OPENAI_API_KEY=sk-pro…1234"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://joe:p@ssw0rd99@host/x", "https://joe:***@host/x"),
        ("https://joe:p@ssw0rd99@host?to=a@b", "https://joe:***@host?to=a@b"),
        ("https://joe:what?ever@host/x", "https://joe:***@host/x"),
        ("Password=Tr0ub4dor&3!", "Password=***"),
        ("Password=Tr0ub4dor&3!&user=ana", "Password=***&user=ana"),
        ("(Password=Pw123!), and", "(Password=***), and"),
        ("kiln --password Pw123! run", "kiln --password *** run"),
    ],
)
def test_all_of_a_secret_is_masked(text: str, masked: str) -> None:
    assert redact(text) == masked


def test_private_key_keeps_its_first_and_last_line() -> None:
    masked = redact(f"before\n{KEY}\nafter")

    assert masked == ("before\n-----BEGIN RSA PRIVATE KEY-----\n…redacted…\n-----END RSA PRIVATE KEY-----\nafter")


def test_private_key_without_its_end_is_masked_to_the_end() -> None:
    assert redact(KEY[:60]) == "-----BEGIN RSA PRIVATE KEY-----\n…redacted…"


def test_private_key_in_a_json_text_is_masked() -> None:
    assert "MIIE" not in redact(KEY.replace("\n", "\\n"))


def test_further_patterns_mask_their_last_group_or_all() -> None:
    own = Redactor([r"kiln-code (\w+)-(\w+)", r"ZX\d{4}"])

    assert own("kiln-code open-sesame and ZX7781") == "kiln-code open-*** and ***"


def test_version_tells_the_patterns_apart() -> None:
    assert Redactor().version == Redactor([]).version != Redactor(["x"]).version


@pytest.mark.parametrize("text", [case[1] for case in SECRETS] + [KEY])
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


PIECES = st.sampled_from(
    [*"aZ9-_=:.\"'\\ \n/@?&…*", "key", "token=", "password: ", "sk-", "Bearer ", "aB3dE5fG7hI9jK1l"]
)


@given(st.lists(PIECES).map("".join))
@example("Bearer token=aB3dE5fG7hI9jK1l")
@example('token=\\"aaaaaaaapassword: ')
@example("Bearer token=token=9key=9.")
@example("password: _:&sk-Z-atoken==")
def test_any_text_is_taken(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        "A",
        base64.b64encode(bytes(range(256))).decode(),
        "key=",
        "sk-",
        "eyJ",
        '"',
        "password=$",
        "-----BEGIN PRIVATE KEY-----",
        "123456:",
        "://a:",
        "cookie: a=",
        "the quick brown token jumps over a key. ",
        f"API_KEY={TOKEN} ",
        "://a@",
        "://a:b@c",
        "password=a&",
        "password=a&b!",
    ],
)
def test_cost_grows_with_the_length_of_a_line_and_no_faster(unit: str) -> None:
    short, long = (unit * (size // len(unit)) for size in (100_000, 800_000))
    costs_at_most(8 * 3, lambda: redact(long), lambda: redact(short))
