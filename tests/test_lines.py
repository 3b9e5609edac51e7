"""One line rule everywhere: a cited line is the line that `sed -n 'Np'` prints."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from core.errors import Undecodable
from core.text.lines import LineSource, decode, line_count, scrub, split_lines

PIECES = st.sampled_from(
    [
        b"a", b"word ", b"\n", b"\n", b"\r\n", b"\r", b"\x0c", b"\x0b", b"\x1c", b"\x1e", b"\t", b"\0",
        "\u2028".encode(), "\u2029".encode(), "\u0085".encode(), "\ufeff".encode(), "é会👩‍💻".encode(),
        b"\xff", b"\xe4", b"\xed\xa0\x80", b"\x85", b"x" * 3000,
    ]
)  # fmt: skip
FILE_BYTES = st.lists(PIECES | st.binary(max_size=6), max_size=60).map(b"".join)

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def decoded_lines(data: bytes) -> list[str]:
    try:
        return split_lines(decode(data).text)
    except Undecodable:
        assume(False)
        raise


def as_shown(line: bytes) -> str:
    """What a line of a file is as text: without its line end, with marks for what is no text."""
    return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace").replace("\0", "\ufffd")


@settings(in_one_folder, max_examples=60)
@given(FILE_BYTES)
def test_a_line_is_what_sed_prints(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    assume(not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")))
    lines = decoded_lines(data)
    path = tmp_path_factory.getbasetemp() / "sed.md"
    path.write_bytes(data)

    def sed(script: str) -> bytes:
        return subprocess.run(
            ["sed", "-n", script, path], capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"}
        ).stdout

    assert len(lines) == int(sed("$=") or b"0")
    for number in sorted({1, len(lines) // 2, len(lines)}):
        if 1 <= number <= len(lines):
            printed = sed(f"{number}p")
            if number == len(lines) and not data.endswith(b"\n"):
                printed += b"\n" if not printed.endswith(b"\n") else b""
                assert lines[-1] == printed.removesuffix(b"\n").decode("utf-8", "replace").replace("\0", "\ufffd")
            else:
                assert lines[number - 1] == as_shown(printed)


@pytest.mark.parametrize(
    ("data", "number"),
    [
        ("one\x0ctwo\nthree \u2028 x\nfour \u0085 y\rlone\nTARGET\n".encode(), 4),
        (b"a\r\nb\r\nTARGET\r\n", 3),
        (b"\xef\xbb\xbfTARGET", 1),
        (b"\n\n\r\nTARGET\n\n", 4),
    ],
)
def test_only_lf_ends_a_line(data: bytes, number: int) -> None:
    assert split_lines(decode(data).text).index("TARGET") == number - 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("a\rb\x0bc\x0c", ["a\rb\x0bc\x0c"])],
)
def test_a_final_lf_makes_no_line(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
    assert line_count(text) == len(lines)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_its_mark_is_text(encoding: str) -> None:
    decoded = decode(("\ufeff" + "Prod host orion-db-7\r\nзима 会\n").encode(encoding))
    assert decoded.text == "Prod host orion-db-7\nзима 会\n"
    assert decoded.warning is None


@pytest.mark.parametrize(
    "data",
    [
        "Prod host orion-db-7\r\n".encode("utf-16-le"),
        "Prod host orion-db-7\r\n".encode("utf-16-be"),
        bytes(range(256)),
        "кодировка windows".encode("cp1251") * 4,
        "\ufeffutf-32".encode("utf-32-le"),
        "\ufeffutf-32".encode("utf-32-be"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(data)


def test_a_bad_byte_is_replaced_with_one_warning() -> None:
    decoded = decode(b"first\nW\xfcrkner needle-w\n\x80 and more\nlast\n")
    assert decoded.text == "first\nW\ufffdrkner needle-w\n\ufffd and more\nlast\n"
    assert decoded.warning == "2 places not valid UTF-8, the first on line 2: shown as U+FFFD"


def test_the_warning_names_nul_characters_too() -> None:
    decoded = decode(b"clean line\nmore text, then a\0 b\n\xff\n")
    assert decoded.text == "clean line\nmore text, then a\ufffd b\n\ufffd\n"
    assert decoded.warning == (
        "1 place not valid UTF-8, the first on line 3; 1 NUL character, the first on line 2: shown as U+FFFD"
    )


def test_a_replacement_character_of_the_file_is_no_warning() -> None:
    assert decode("a \ufffd b".encode()).warning is None


def test_lone_surrogates_become_replacements() -> None:
    half = b"\x3d\xd8"
    decoded = decode(b"\xff\xfe" + "ab\n".encode("utf-16-le") + half + "\nc\n".encode("utf-16-le"))
    assert decoded.text == "ab\n\ufffd\nc\n"
    assert scrub("a\ud83d\0b") == "a\ufffd\ufffdb"


@given(FILE_BYTES)
def test_decoded_text_holds_nothing_that_sqlite_refuses(data: bytes) -> None:
    text = "".join(decoded_lines(data))
    assert "\0" not in text
    text.encode()


@settings(in_one_folder, max_examples=150)
@given(
    FILE_BYTES | st.text().map(lambda text: b"\xff\xfe" + text.encode("utf-16-le", "surrogatepass")),
    st.lists(st.tuples(st.integers(-3, 70), st.integers(0, 70)), max_size=4),
)
@example(b"\xff\xfe\n\0\x0a", [(1, 9)])
@example(b"\xfe\xff" + "a\r\n\u0a00\u000a\ud800".encode("utf-16-be", "surrogatepass"), [(2, 2)])
def test_a_source_gives_the_lines_of_the_decoded_file(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, windows: list[tuple[int, int]]
) -> None:
    lines = decoded_lines(data)
    path = tmp_path_factory.getbasetemp() / "source.md"
    path.write_bytes(data)
    with LineSource.open(path) as source:
        assert (source.line_count, source.size) == (len(lines), len(data))
        for start, count in [*windows, (1, len(lines))]:
            expected = [lines[i - 1] for i in range(max(1, start), min(len(lines), start + count - 1) + 1)]
            assert source.lines(start, count) == expected
            assert source.lines(start, count, width=2) == [line[:2] for line in expected]
        assert [source.line(number) for number in range(len(lines) + 2)] == ["", *lines, ""]


@given(st.text(alphabet=st.characters(blacklist_categories=())))
def test_a_source_of_text_gives_its_lines(text: str) -> None:
    source = LineSource.from_text(text)
    expected = split_lines(scrub(text).replace("\r\n", "\n"))
    assert source.lines(1, source.line_count) == expected
    assert source.line_count == len(expected)
    assert not source.changed()


def test_windows_meet_without_a_seam(tmp_path: Path) -> None:
    path = tmp_path / "long.md"
    lines = [f"line {number} {'é' * (number % 50)}" for number in range(1, 1001)]
    path.write_text("\r\n".join(lines))
    with LineSource.open(path) as source:
        assert source.lines(1, 2000) == lines
        assert source.lines(120, 20) == lines[119:139]
        assert [source.line(number) for number in (1000, 1, 500)] == [lines[999], lines[0], lines[499]]


def test_a_huge_line_is_read_only_as_far_as_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.md"
    path.write_text("before\n" + "会" * 3_000_000 + "\nafter\n")
    with LineSource.open(path) as source:
        taken: list[int] = []
        reading = os.pread
        monkeypatch.setattr(os, "pread", lambda *args: taken.append(args[1]) or reading(*args))
        assert source.lines(1, 3, width=80) == ["before", "会" * 80, "after"]
        assert sum(taken) < 10_000
        assert source.line_bytes(2) == 9_000_001
        assert source.line(2) == "会" * 3_000_000


def test_an_edit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one\n")
    with LineSource.open(path) as source, LineSource.from_descriptor(os.open(path, os.O_RDONLY)) as nameless:
        assert not source.changed()
        assert not nameless.changed()
        replacement = tmp_path / "new.md"
        replacement.write_text("two\n")
        replacement.replace(path)
        assert source.changed()
        assert nameless.changed()
        assert source.line(1) == "one"
        path.unlink()
        assert source.changed()


def test_a_file_cut_short_still_gives_every_line(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one\ntwo\nthree\n")
    with LineSource.open(path) as source:
        os.truncate(path, 5)
        assert source.lines(1, 3) == ["one", "t", ""]


def test_a_closed_source_gives_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one\n")
    source = LineSource.open(path)
    source.close()
    source.close()
    assert source.lines(1, 1) == [""]


def test_only_regular_files_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "real.md").write_text("x")
    (tmp_path / "link.md").symlink_to("real.md")
    for name in ("fifo", ".", "link.md", "missing.md"):
        with pytest.raises(OSError, match=r"regular|symbolic|directory"):
            LineSource.open(tmp_path / name)
    before = len(list(Path("/proc/self/fd").iterdir()))
    (tmp_path / "bin.md").write_bytes(bytes(range(256)))
    with pytest.raises(Undecodable):
        LineSource.open(tmp_path / "bin.md")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 10_000])
def test_pieces_together_are_the_whole_text(tmp_path: Path, encoding: str, size: int) -> None:
    text = "one\r\n\n日本語のテキスト😀 e\u0301\nthree three three\nlast without end"
    path = tmp_path / "x.txt"
    path.write_bytes(("\ufeff" + text).encode(encoding) if encoding == "utf-16-be" else text.encode(encoding))
    with LineSource.open(path) as source:
        pieces = list(source.pieces(size=max(size, 2)))
        whole = split_lines("".join(piece.text for piece in pieces).replace("\r\n", "\n"))
        assert whole == source.lines(1, source.line_count)
        assert sum(piece.size for piece in pieces) == source.span_bytes(1, source.line_count)
        assert all(piece.size <= max(size, 2) for piece in pieces)


def test_pieces_begin_and_end_where_they_are_asked_to() -> None:
    source = LineSource.from_text("".join(f"line {n}\n" for n in range(1, 100)))
    assert "".join(piece.text for piece in source.pieces(3, 4)) == "line 3\nline 4\n"
    assert list(source.pieces(100)) == []
    assert list(source.pieces(5, 4)) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_part_of_a_line_begins_with_a_character(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(f"before\n{'aé語😀' * 500}\nafter\n".encode(encoding))
    with LineSource.open(path) as source:
        line = source.line(2)
        for characters in (0, 1, 2, 3, 997, 1998):
            offset = source.offset_of(2, 0, characters)
            assert source.part(2, offset, 5) == line[characters : characters + 5]
        assert source.part(2, 1 << 40, 5) == ""
