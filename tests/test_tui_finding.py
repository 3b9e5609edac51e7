"""Looking for words in a document: what is found, in which order it is known, and what it takes of a large file."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import LineSource, Memory
from tests.test_tui_preview import previewing, rows
from tui.clipboard import OSC_52_LIMIT
from tui.finding import FOUND_LIMIT, HEAD, STRIDE, Finding, Place, look_through, needle_spans, plain
from tui.pages import bounded_text
from tui.text import folded
from tui.widgets.preview import Page

MEBIBYTE = 1 << 20


def found(source: LineSource, needle: str, start: int = 1) -> Finding:
    finding = Finding(source, needle, start)
    for seen in look_through(source, needle, start, threading.Event()):
        finding.add(seen)
    return finding


def places(source: LineSource, needle: str) -> list[Place]:
    return [place for seen in look_through(source, needle, 1, threading.Event()) for place in seen.places]


def lines(text: str, needle: str) -> list[int]:
    return [place.line for place in places(LineSource.from_text(text), needle)]


def test_words_are_found_without_case_and_accents_in_line_order() -> None:
    assert lines("Über\n\nx ÜBER über\nsober\n" + "a\n" * 300 + "u\u0308ber\n", "uber") == [1, 3, 305]
    assert needle_spans("x ÜBER über", "uber") == [(2, 6), (7, 11)]


@given(st.text())
def test_folding_quickly_gives_what_folding_does(text: str) -> None:
    assert plain(text) == folded(text)[0]


@given(st.lists(st.text("abAÄ \n", max_size=8)), st.text("abä", min_size=1, max_size=3), st.integers(1, 30))
def test_every_line_that_has_the_words_is_found_once(parts: list[str], needle: str, size: int) -> None:
    source = LineSource.from_text("".join(parts))
    whole = source.pieces
    source.pieces = lambda first, last: whole(first, last, size=size)
    expected = [n for n in range(1, source.line_count + 1) if plain(needle) in plain(source.line(n))]
    assert sorted({place.line for place in places(source, needle)}) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("letter", ["x", "é", "語", "😀"])
def test_matches_far_into_a_long_line_are_places_of_their_own(tmp_path: Path, letter: str, encoding: str) -> None:
    path = tmp_path / "long.txt"
    text = letter * 3000 + "needle" + letter * 300_000 + "Needle" + letter * 100 + "needle"
    path.write_bytes(f"needle\n{text}\nneedle\n".encode(encoding))
    with LineSource.open(path) as source:
        known = places(source, "needle")
        seen = [source.part(place.line, place.offset, 6) for place in known if place.offset]
    assert [place.line for place in known] == [1, 2, 2, 3]
    assert [part.lower() for part in seen] == ["needle", "needle"]


def test_matches_close_together_are_one_place() -> None:
    text = "a" * HEAD + " needle" * 40 + "b" * STRIDE + "needle\n"
    assert len(places(LineSource.from_text("needle needle\n" + text), "needle")) == 3


def test_what_stands_across_two_pieces_is_found() -> None:
    source = LineSource.from_text("x" * 131_069 + "needle" + "x" * 131_072 + "\n")
    assert len(places(source, "needle")) == 1


def test_finding_stops_when_asked() -> None:
    stop, seen = threading.Event(), []
    for one in look_through(LineSource.from_text("needle\n" + "a\n" * 500_000), "needle", 1, stop):
        seen.append(one)
        stop.set()
    assert [one.ended for one in seen] == [False]
    assert seen[0].share < 1


def test_a_search_that_takes_long_gives_way_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    source, rests = LineSource.from_text("a\n" * 500_000), []
    list(look_through(source, "needle", 1, threading.Event(), lambda: rests.append(1)))
    monkeypatch.setattr("tui.finding.RESTLESS_SECONDS", 0.0)
    before = len(rests)
    list(look_through(source, "needle", 1, threading.Event(), lambda: rests.append(1)))
    assert len(rests) - before == len(list(source.pieces()))


def test_matches_follow_each_other_around_the_ends() -> None:
    finding = found(LineSource.from_text("a\nb\na\n"), "a", start=2)
    assert [finding.step(Place(line), by) for line, by in ((1, 1), (3, 1), (1, -1), (2, 0))] == [
        (Place(3), False),
        (Place(1), True),
        (Place(3), True),
        (Place(3), False),
    ]
    assert finding.says(Place(3)) == "2/2 found"


def test_the_first_match_from_the_line_on_is_known_first() -> None:
    source = LineSource.from_text("needle\n" * 10 + "x\n" * 400_000 + "needle\n" + "x\n" * 400_000)
    first = next(seen for seen in look_through(source, "needle", 11, threading.Event()) if seen.places)
    assert first.places[0] == Place(400_011)
    assert not first.around


def test_a_step_over_what_was_not_looked_through_waits() -> None:
    source = LineSource.from_text("needle\nx\nneedle\nx\nneedle\n")
    finding = Finding(source, "needle", 3)
    steps = look_through(source, "needle", 3, threading.Event())
    finding.add(next(steps))
    assert finding.state == "looking"
    assert finding.step(Place(3), 0) == (Place(3), False)
    assert finding.step(Place(5), 1) is None
    assert finding.step(Place(3), -1) is None
    for seen in steps:
        finding.add(seen)
    assert finding.step(Place(5), 1) == (Place(1), True)
    assert finding.step(Place(3), -1) == (Place(1), False)


def test_very_many_matches_are_known_well_enough() -> None:
    finding = found(LineSource.from_text("a\n" * (FOUND_LIMIT + 5000)), "a")
    assert FOUND_LIMIT <= finding.count <= FOUND_LIMIT + 131_072
    assert "+ found" in finding.says(Place(0))


@pytest.fixture(scope="module", params=["many lines", "long lines"])
def huge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 MB: 100,000 lines and more, or lines of 12 MiB; the needle in the middle and at the end."""
    path = tmp_path_factory.mktemp("huge") / "huge.md"
    with path.open("wb") as out:
        if request.param == "many lines":
            block = ("# Größer\n" + "some words on a line, and some more, and so on\n" * 20_000).encode()
        else:
            block = b"word after word " * (12 * MEBIBYTE // 16) + b"\n"
        count = 200_000_000 // len(block) + 1
        for number in range(count):
            out.write(block)
            if number in (count // 2, count - 1):
                out.write(b"and the NEEDLE here\n")
    assert path.stat().st_size >= 200_000_000
    return path


def test_a_huge_file_is_never_held(huge: Path) -> None:
    with LineSource.open(huge) as source:
        tracemalloc.start()
        try:
            finding = found(source, "needle")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert finding.count == 2
    assert peak < 8 * MEBIBYTE


async def test_a_match_far_into_a_long_line_is_drawn(tmp_path: Path) -> None:
    text = "x " * 3_000_000 + "the needle \x1b[2J\u202e here" + " y" * 3_000_000
    source = LineSource.from_text(f"first\n{text}\nlast\n")
    async with previewing((60, 12)) as (preview, _):
        preview.show(Page(source, "long.md"))
        preview.mark_words("needle")
        preview.point_at(*places(source, "needle")[0])
        shown = rows(preview)
        assert "the needle ␛[2J⟦U+202E⟧ here" in " ".join(row[5:] for row in shown)
        assert any("(from byte 5,9" in row for row in shown)
        preview.point_at(1)
        assert not any("from byte" in row for row in rows(preview))


async def test_a_match_low_in_a_wrapped_line_comes_into_view() -> None:
    source = LineSource.from_text("first\n" + "word " * 350 + "needle\n" + "last\n" * 40)
    async with previewing((40, 8)) as (preview, _):
        preview.show(Page(source, "long.md"))
        preview.mark_words("needle")
        preview.point_at(2)
        assert any("needle" in row for row in rows(preview))


# On the screen


@pytest.fixture(scope="module")
def memory(shared_memory_of: Callable[..., Memory], huge: Path) -> Memory:
    """A note that grew to 200 MB after it was indexed."""
    memory = shared_memory_of({"memory/huge.md": "# Huge\n\nsmall yet\n", "memory/other.md": "# Other\n"})
    note = memory.workspace / "memory/huge.md"
    note.unlink()
    note.hardlink_to(huge)
    return memory


@pytest.fixture
def opened(deck: Any, memory: Memory) -> Callable[..., Any]:
    async def begin(running: Any) -> Any:
        await running.press("f5")
        screen = running.app.screen
        await running.until(lambda: screen.rows.current is not None)
        await running.press("l", "j", "enter")
        await running.until(lambda: screen.preview.page is not None and screen.preview.page.path == "memory/huge.md")
        return screen

    return begin


async def test_finding_in_a_huge_file_goes_to_the_first_match_and_says_when_it_wraps(
    deck: Any, memory: Memory, opened: Any
) -> None:
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("f", *"needle", "enter")
        await running.until(lambda: screen.preview.pointed > 1, 60)
        first = screen.preview.pointed
        assert any("NEEDLE" in row for row in running.lines())
        await running.until(lambda: any("1/2 found" in row for row in running.lines()), 60)
        await running.press("n")
        assert screen.preview.pointed > first
        await running.press("n")
        assert screen.preview.pointed == first
        assert any("on from the first line" in toast for toast in running.toasts)


async def test_escape_ends_a_search_and_a_new_one_ends_the_old(
    deck: Any, memory: Memory, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, cancels = threading.Event(), []

    def slowly(source: LineSource, needle: str, start: int, cancel: threading.Event, rest: Any) -> Any:
        cancels.append(cancel)
        for seen in look_through(source, needle, start, cancel, rest):
            yield seen
            gate.wait(0.05)

    monkeypatch.setattr("tui.screens.reading.look_through", slowly)
    async with deck(memory) as running:
        screen = await opened(running)
        await running.press("f", *"zzz", "enter")
        await running.until(lambda: any("looking" in row for row in running.lines()))
        await running.press("f", *"yyy", "enter")
        await running.until(lambda: len(cancels) == 2 and cancels[0].is_set())
        assert screen.preview.needle == "zzzyyy"
        await running.until(lambda: any("looking" in row for row in running.lines()))
        await running.press("escape")
        await running.until(cancels[1].is_set)
        assert screen.preview.needle == "zzzyyy"
        assert any("stopped after" in toast for toast in running.toasts)
        assert any("0 found, stopped" in row for row in running.lines())
        await running.press("n")
        await running.until(lambda: len(cancels) == 3)
        await running.press("escape", "escape")
        assert screen.preview.needle == ""
        assert screen.preview.has_focus


async def test_a_huge_file_opens_from_search_goes_to_any_line_and_is_copied_in_part(
    deck: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LineSource, "_load", _bounded(LineSource._load))
    async with deck(memory, query="small yet") as running:
        screen = running.app.screen
        await running.until(lambda: screen.preview.page is not None and screen.preview.page.source.size > 10**8)
        sent: list[str] = []
        running.app.copy_to_clipboard = sent.append
        count = screen.preview.page.source.line_count
        await running.press("tab", "enter", "number_sign", *str(count - 2), "enter")
        await running.until(lambda: screen.preview.pointed == count - 2)
        await running.press("v", "g")
        assert screen.preview.selection == (1, count - 2)
        await running.press("Y")
        await running.until(lambda: any("cut: the first 74,99" in toast for toast in running.toasts))
    assert len(sent) == 1
    assert OSC_52_LIMIT - 4 < len(sent[0].encode()) <= OSC_52_LIMIT


def _bounded(load: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Refuses to read more than a window of lines at once."""

    def checked(source: LineSource, first: int, last: int) -> list[str]:
        assert source.span_bytes(first, last) <= MEBIBYTE
        return load(source, first, last)

    return checked


def test_text_is_bounded_at_a_character_and_its_whole_size_is_told() -> None:
    source = LineSource.from_text("日本語\n" * 10)
    assert bounded_text(source, 2, 3, 1000) == ("日本語\n日本語", 19)
    assert bounded_text(source, 1, 10, 13) == ("日本語\n日", 100)
