"""How secrets are looked for: the quick tests before a pattern leave out no text that the pattern would match."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources import redaction_fields as fields
from core.sources import redaction_tokens as tokens
from core.sources.redaction import Redactor

_WORDS = """key api_key API_KEY token access_token secret password passwd pass pwd cvc card_number = : :: => := -- - _
. " ' ` \\ ] abc123def456ghi789 hunter2 kkey keykey tokenkey passpassword null $FOO bearer authorization cookie é İ
123456789 AAabcdefghijklmnopqrstuvwxyz"""
_PIECES = st.sampled_from([*_WORDS.split(), " ", "\t", "\n"])
_TEXTS = st.lists(_PIECES, max_size=30).map("".join)


@given(_TEXTS)
def test_fields_stand_where_an_anchor_does(text: str) -> None:
    lowered = text.lower()
    places = [place for anchor in fields._ANCHORS for place in fields._places(anchor, lowered)]
    assert {found.start() for found in fields._FIELD.finditer(lowered)} <= set(places)


@given(_TEXTS)
def test_each_field_is_looked_at_as_a_search_would(text: str) -> None:
    lowered = text.lower()
    searched: list[tuple[int, int]] = []
    done = 0
    for found in fields._FIELD.finditer(lowered):
        if found.start() >= done and (span := fields._value(text, lowered, found)) is not None:
            searched.append(span)
            done = span[1]
    assert [span for span in fields.field_secrets(text, lowered) if span in searched] == searched


@pytest.mark.parametrize(
    ("pattern", "signs"),
    [
        (fields._AUTHORIZATION, ":="),
        (fields._COOKIE, ":"),
        (fields._COOKIE, "="),
        (fields._USERINFO, ":"),
        (fields._LOGIN, ":"),
        (fields._LOGIN, "-"),
        (tokens._BOT_TOKEN, ":"),
        (tokens._WEB_TOKEN, "J"),
        (tokens._SLACK_HOOK, "/"),
        (tokens._DISCORD_HOOK, "/"),
    ],
)
def test_a_pattern_needs_the_signs_that_are_asked_for_first(pattern: re.Pattern[str], signs: str) -> None:
    samples = (
        "authorization: bearer abcdef123456",
        "authorization=abcdef123456",
        "cookie: id=abc123def",
        "https://ann:pa55word@example.org/",
        " -u ann:pa55word",
        "123456789:AAabcdefghijklmnopqrstuvwxyz",
        "eyJhbGciOiJI.eyJzdWIi.abc",
        "hooks.slack.com/services/T000/B000/abcdefgh",
        "discord.com/api/webhooks/123/abcdefghij",
    )
    matched = [sample for sample in samples if pattern.search(sample) is not None]
    assert matched
    table = str.maketrans(dict.fromkeys(signs, "~"))
    assert not any(pattern.search(sample.translate(table)) for sample in matched)


def test_each_prefix_is_asked_for_by_a_sign_that_it_holds() -> None:
    assert all(sign in prefix for sign, listed in tokens._BY_SIGN.items() for prefix, _ in listed)
    assert sum(map(len, tokens._BY_SIGN.values())) == len(tokens._PREFIXES)


@pytest.mark.parametrize("text", ["--password hunter22", "Bearer Abcdefghij1234567890", "AKIAIOSFODNN7EXAMPLE"])
def test_secrets_without_a_colon_are_masked(text: str) -> None:
    assert Redactor()(text) != text
