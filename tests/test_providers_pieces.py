"""Properties of cutting texts, of waits that replies ask for, and of packing them into requests."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from core.embedding.failures import Addressee, failure_of, parsed, waiting_time
from core.embedding.http import Reply
from core.embedding.remote import _pieces, sound
from core.errors import EmbeddingError

HINTS = st.dictionaries(st.sampled_from(["retry-after", "date", "location"]), st.text(max_size=30) | st.just("//["))
TO = Addressee("openai", "api.openai.com", "m", "check the key", "check the model", secrets=("sk-secret-value",))


@given(st.text(), st.integers(4, 200))
def test_pieces_are_the_text_and_none_is_too_long(text: str, most: int) -> None:
    clean = sound(text)
    pieces = list(_pieces(clean, most))

    assert "".join(pieces) == clean
    assert all(len(piece.encode()) <= most for piece in pieces)


@given(st.binary(max_size=300))
def test_any_body_is_read_or_is_nothing(body: bytes) -> None:
    parsed(body)


@given(st.integers(300, 599), st.binary(max_size=300), HINTS)
def test_any_reply_without_an_answer_is_an_error_without_the_key(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    error = failure_of(Reply(status, headers, body + b" sk-secret-value"), TO, now=0.0)

    assert isinstance(error, EmbeddingError)
    assert "\n" not in str(error)
    assert "sk-secret-value" not in str(error)
    assert error.retry_after is None or 0 <= error.retry_after < float("inf")


@given(st.text(max_size=40))
def test_any_hint_is_a_time_or_nothing(hint: str) -> None:
    wait = waiting_time(Reply(429, {"retry-after": hint}, b""), None, now=0.0)

    assert wait is None or 0 <= wait < float("inf")


@given(st.integers(0, 10**7))
def test_a_date_is_as_long_as_the_seconds_to_it(seconds: int) -> None:
    now = 1_700_000_000
    until = format_datetime(datetime.fromtimestamp(now + seconds, UTC), usegmt=True)

    assert waiting_time(Reply(429, {"retry-after": until}, b""), None, now=float(now)) == seconds
