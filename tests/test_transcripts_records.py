"""Lines of transcripts: broken ones, huge ones, packed ones, half-written ones."""

from __future__ import annotations

import io
import re
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.sources.transcripts.model import ROLES, Session
from core.sources.transcripts.reading import read_file
from core.sources.transcripts.records import (
    BASE64_MARK,
    LONGEST_LINE,
    cut_base64,
    lines_of,
    opened,
    parse_record,
    unpacked,
)

MEBIBYTE = 1 << 20


def user(text: str) -> str:
    return f'{{"type":"message","message":{{"role":"user","content":"{text}"}}}}'


def read(path: Path, *lines: str, end: str = "\n") -> Session:
    path.write_bytes(("\n".join(lines) + end).encode())
    return read_file("openclaw", str(path), ROLES)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("NaN", "not a JSON object but a number"),
        ("[1]", "not a JSON object but a list"),
        ("null", "not a JSON object but a constant"),
        ("123", "not a JSON object but a number"),
        ('"text"', "not a JSON object but a text"),
        ('{"a":1}{"b":2}', "not JSON: Extra data"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"type":"message"', "not JSON: Expecting ',' delimiter"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_bad_line_is_named_by_its_physical_number_and_stops_nothing(tmp_path: Path, line: str, why: str) -> None:
    session = read(tmp_path / "s.jsonl", user("one"), "", line, user("two"))

    assert [(bad.line, bad.why) for bad in session.bad_lines] == [(3, why)]
    assert [(message.line_start, message.text) for message in session.messages] == [(1, "one"), (4, "two")]


def test_many_bad_lines_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    session = read(tmp_path / "s.jsonl", *["oops"] * 50, user("one"))

    assert session.bad_count == 50
    assert [bad.line for bad in session.bad_lines] == list(range(1, 21))


def test_message_with_line_ends_inside_keeps_the_physical_lines_of_the_others(tmp_path: Path) -> None:
    header = '{"type":"session","version":3,"id":"s","timestamp":"2026-11-03T09:10:00Z","cwd":"/w"}'
    tool = '{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":"out"}}'
    assistant = '{"type":"message","message":{"role":"assistant","content":"needle-l"}}'
    session = read(tmp_path / "s.jsonl", header, "", tool, user("a\\nb\\nc\\nd\\ne\\nf"), "", assistant, "")

    assert [(message.role, message.line_start) for message in session.messages] == [
        ("tool", 3),
        ("user", 4),
        ("assistant", 6),
    ]


@pytest.mark.parametrize("cut", [10, 60, 64])
def test_half_written_last_line_waits_and_is_no_error(tmp_path: Path, cut: int) -> None:
    whole = user("needle 会")
    session = read(tmp_path / "s.jsonl", user("one"), whole[:cut], end="")

    assert [message.text for message in session.messages] == ["one"]
    assert session.bad_count == 0
    assert session.pending == len(whole[:cut].encode())


def test_last_line_that_is_whole_counts_without_its_line_end(tmp_path: Path) -> None:
    session = read(tmp_path / "s.jsonl", user("one"), user("two"), end="")

    assert [message.text for message in session.messages] == ["one", "two"]
    assert session.lines == 2


def test_half_a_character_waits_too(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(user("one").encode() + b"\n" + user("会").encode()[:-5])

    session = read_file("openclaw", str(path))

    assert [message.text for message in session.messages] == ["one"]
    assert session.bad_count == 0


def test_nan_and_half_surrogates_inside_a_record_are_forgiven() -> None:
    assert parse_record(b'{"a": NaN, "b": "\\ud800"}') == {"a": pytest.approx(float("nan"), nan_ok=True), "b": "\ud800"}


def test_bad_bytes_cost_no_more_than_themselves() -> None:
    assert parse_record(b'{"a": "x\xfcy"}') == {"a": "x\ufffdy"}


def test_byte_order_mark_is_no_part_of_the_first_record() -> None:
    assert [line.data for line in lines_of(io.BytesIO(b'\xef\xbb\xbf{"a":1}\n').read)] == [b'{"a":1}']


def test_only_line_feeds_end_lines() -> None:
    data = "a\r\nb\x0c\u2028\u0085\rc\nd".encode()

    assert [line.number for line in lines_of(io.BytesIO(data).read)] == [1, 2, 3]


@pytest.mark.parametrize("before", [0, 100, MEBIBYTE - 30])
def test_line_of_base64_costs_no_memory_and_leaves_a_mark(tmp_path: Path, before: int) -> None:
    path = tmp_path / "s.jsonl"
    data = "iVBORw0KGgo+" * MEBIBYTE
    image = f'{{"type":"image","data":"{data}","mimeType":"image/png"}}'
    text = '{"type":"text","text":"what is this?"}'
    line = f'{{"type":"message","message":{{"role":"user","content":[{image},{text}]}}}}'
    path.write_text(f"{user('x' * before)}\n{line}\n{user('after')}\n")

    tracemalloc.start()
    session = read_file("openclaw", str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [message.text for message in session.messages][-2:] == ["what is this?", "after"]
    assert session.messages[-1].line_start == 3
    assert peak < 10 * MEBIBYTE


def test_line_beyond_the_limit_is_named_and_left_out(tmp_path: Path) -> None:
    words = "kiln and ramp " * (LONGEST_LINE // 14 + 1)
    session = read(tmp_path / "s.jsonl", user("one"), user(words), user("two"))

    assert [message.text for message in session.messages] == ["one", "two"]
    assert [(bad.line, bad.why) for bad in session.bad_lines] == [(2, "longer than 16 MiB")]


def test_base64_in_a_text_becomes_a_mark() -> None:
    line = next(lines_of(io.BytesIO(b'{"text":"see ' + b"QUJD" * 100_000 + b' there"}\n').read))

    assert line.data == f'{{"text":"see {BASE64_MARK} there"}}'.encode()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            st.sampled_from([b" ", b'","', b"\\n", b"a"]),
            st.builds(lambda count: b"Q" * count, st.sampled_from([1024, 2047, 2048, 2049])),
            st.binary(max_size=6),
        ),
        max_size=6,
    )
)
def test_runs_of_base64_are_cut_out_whole_and_nothing_else(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    expected = re.sub(rb"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{2048,}", BASE64_MARK.encode(), data)

    assert cut_base64(data) == expected


def test_packed_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.zst"
    plain.write_text("".join(f"{user(str(number))}\n" for number in range(1000)))
    half = plain.read_bytes()[:9000], plain.read_bytes()[9000:]
    packed.write_bytes(b"".join(zstandard.ZstdCompressor().compress(part) for part in half))

    with opened(str(plain)) as file, unpacked(str(packed)) as read_packed:
        assert list(lines_of(read_packed)) == list(lines_of(file.read))


def test_damaged_packed_file_is_an_error_of_that_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"junk" * 100)

    with pytest.raises(OSError, match="zstd"):
        read_file("codex", str(path))


def test_symlink_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text(user("one") + "\n")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")

    with pytest.raises(OSError, match=r"link\.jsonl"):
        read_file("openclaw", str(tmp_path / "link.jsonl"))
