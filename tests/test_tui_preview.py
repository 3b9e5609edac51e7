"""The preview: lines of real files, drawn row by row, with the cited ones marked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from core import LineSource, read_outline
from tui.widgets.markdown_style import line_styles
from tui.widgets.page import LINE_LIMIT
from tui.widgets.preview import Page, Preview


class PreviewApp(App[None]):
    CSS = """
    Preview { height: 1fr; scrollbar-size: 0 0; }
    Preview > .preview--key { color: #0000ff; }
    Preview > .preview--string { color: #00ff00; }
    """

    def compose(self) -> ComposeResult:
        yield Preview()


@asynccontextmanager
async def previewing(size: tuple[int, int] = (60, 12)) -> AsyncIterator[tuple[Preview, Pilot[None]]]:
    app = PreviewApp()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app.query_one(Preview), pilot


def rows(preview: Preview) -> list[str]:
    return [preview.render_line(y).text.rstrip() for y in range(preview.size.height)]


@pytest.fixture
def source_of(tmp_path: Path) -> Callable[[str | bytes], LineSource]:
    def make(text: str | bytes) -> LineSource:
        path = tmp_path / "note.md"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return LineSource.open(path)

    return make


Make = Callable[[str | bytes], LineSource]


async def test_the_cited_lines_are_marked_and_others_are_not(source_of: Make) -> None:
    source = source_of("".join(f"line {n}\n" for n in range(1, 41)))
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md", 20, 22, 21))
        marked = [row.split()[0].lstrip("▌") for row in rows(preview) if row.startswith("▌")]
        numbers = [row[1:4].strip() for row in rows(preview) if row.startswith("▌")]
    assert numbers == ["20", "21", "22"]
    assert len(marked) == 3


async def test_a_shown_line_is_the_line_of_that_number_in_the_file(source_of: Make) -> None:
    source = source_of("one\r\ntwo\x0cstill two\u2028still two\r\nthree\r\n")
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md"))
        shown = rows(preview)
    assert [row[1:4].strip() for row in shown[:3]] == ["1", "2", "3"]
    assert shown[2].endswith("three")


async def test_a_long_line_is_wrapped_and_every_character_can_be_reached(source_of: Make) -> None:
    words = " ".join(f"word{n}" for n in range(300))
    source = source_of(f"before\n{words}\nafter\n")
    seen: list[str] = []
    async with previewing((40, 6)) as (preview, _):
        preview.show(Page(source, "note.md"))
        for _ in range(200):
            seen += [word for row in rows(preview) for word in row.split()]
            preview.move("page_down")
    assert {f"word{n}" for n in range(220)} <= set(seen)
    assert "after" in seen


async def test_going_down_and_up_again_comes_back_to_the_same_rows(source_of: Make) -> None:
    source = source_of("".join(f"{'word ' * (n % 60)}{n}\n" for n in range(300)))
    async with previewing((50, 9)) as (preview, _):
        preview.show(Page(source, "note.md"))
        pages = [rows(preview)]
        for _ in range(12):
            preview.move("page_down")
            pages.append(rows(preview))
        for expected in reversed(pages[:-1]):
            preview.move("page_up")
            assert rows(preview) == expected


async def test_the_last_page_ends_with_the_last_line(source_of: Make) -> None:
    source = source_of("".join(f"line {n}\n" for n in range(1, 501)))
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md"))
        preview.move("last")
        preview.move("down")
        assert rows(preview)[-1].endswith("line 500")
        assert preview.percent == 100


async def test_without_wrapping_a_line_takes_one_row_and_scrolls_sideways(source_of: Make) -> None:
    source = source_of("a" * 30 + "b" * 100 + "\nnext\n")
    async with previewing((40, 6)) as (preview, _):
        preview.wrap = False
        preview.show(Page(source, "note.md"))
        assert rows(preview)[1].endswith("next")
        for _ in range(5):
            preview.move("right")
        assert set(rows(preview)[0][5:]) == {"b"}


async def test_the_best_line_of_a_tall_citation_is_in_view(source_of: Make) -> None:
    source = source_of("".join(f"{'long words here ' * 10}{n}\n" for n in range(1, 200)))
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md", 50, 90, 85))
        assert preview.current_line == 85


async def test_a_line_of_a_megabyte_is_cut_and_says_so(source_of: Make) -> None:
    source = source_of("x" * 1_000_000 + "\nend\n")
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md"))
        preview.move("last")
        shown = "".join(rows(preview))
    assert "1,000,001 bytes in this line" in shown
    assert len(shown) < LINE_LIMIT


async def test_control_characters_are_marks(source_of: Make) -> None:
    source = source_of("a\x1b[2Jb\x07c\u202ed\x9be\tf\n")
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md"))
        text = rows(preview)[0]
    assert all(character.isprintable() for character in text)
    assert "␛[2J" in text


async def test_markup_in_a_file_is_text(source_of: Make) -> None:
    lines = ["[/]", "[/x]", "- [x] done", "[red]boo[/red]", "[@click=app.quit]x[/]", "array[0] = x[y]"]
    source = source_of("\n".join(lines))
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md"))
        assert [row[5:] for row in rows(preview)[: len(lines)]] == lines


async def test_wide_characters_fill_exactly_the_width(source_of: Make) -> None:
    source = source_of("日本語のテキスト👩‍👩‍👧 e\u0301 ทดสอบ " * 40)
    async with previewing((33, 8)) as (preview, _):
        preview.show(Page(source, "note.md"))
        assert {preview.render_line(y).cell_length for y in range(8)} == {33}


async def test_a_file_that_shrinks_under_the_preview_is_no_error(source_of: Make, tmp_path: Path) -> None:
    source = source_of("".join(f"line {n}\n" for n in range(500)))
    async with previewing() as (preview, _):
        preview.show(Page(source, "note.md"))
        (tmp_path / "note.md").write_text("short\n")
        preview.go_to(400)
        assert len(rows(preview)) == 12
        assert source.changed()


async def test_the_same_citation_of_a_changed_file_leaves_the_place(source_of: Make) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 200))
    async with previewing() as (preview, _):
        preview.show(Page(source_of(text), "note.md", 20, 22, 21))
        preview.move("page_down")
        top = preview.top_line
        preview.show(Page(source_of(text + "more\n"), "note.md", 20, 22, 21))
        assert preview.top_line == top
        assert preview.page.source.line_count == 200
        preview.show(Page(source_of(text), "note.md", 80, 82, 81))
        assert preview.current_line == 81


async def resized(pilot: Pilot[None], *sizes: tuple[int, int]) -> None:
    for size in sizes:
        await pilot.resize_terminal(*size)
        await pilot.pause()


async def test_a_resize_keeps_the_top_line(source_of: Make) -> None:
    source = source_of("".join(f"{'words ' * 30}{n}\n" for n in range(300)))
    async with previewing((80, 20)) as (preview, pilot):
        preview.show(Page(source, "note.md"))
        preview.go_to(150)
        top = preview.top_line
        await resized(pilot, (30, 6), (1, 1), (5, 3), (80, 20))
        assert preview.top_line == top


async def test_the_top_line_comes_back_after_a_size_at_which_everything_fits(source_of: Make) -> None:
    source = source_of("".join(f"line {n}\n" for n in range(60)))
    async with previewing((80, 20)) as (preview, pilot):
        preview.show(Page(source, "note.md"))
        preview.go_to(30)
        top = preview.top_line
        assert top > 1
        await resized(pilot, (200, 100), (80, 20))
        assert preview.top_line == top
        preview.move("down")
        await resized(pilot, (200, 100), (80, 20))
        assert preview.top_line == top + 1
        await resized(pilot, (200, 100))
        preview.move("first")
        await resized(pilot, (80, 20))
        assert preview.top_line == 1


async def test_an_empty_file_shows_nothing(source_of: Make) -> None:
    async with previewing() as (preview, _):
        preview.show(Page(source_of(b""), "note.md"))
        for where in ("down", "last", "page_up", "first"):
            preview.move(where)
        assert set(rows(preview)) == {""}


async def test_without_a_document_there_is_nowhere_to_go() -> None:
    async with previewing() as (preview, _):
        for where in ("down", "up", "page_down", "page_up", "last", "first", "left", "right"):
            preview.move(where)
        preview.go_to(3)
        preview.point_at(3)
        preview.select(1, 2)
        assert set(rows(preview)) == {""}


async def test_of_a_hundred_thousand_lines_only_those_near_the_view_are_read(
    source_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of("".join(f"- item {n} {'日本 text ' * (n % 12)}\n" for n in range(100_000)))
    asked: list[int] = []
    line = source.line
    monkeypatch.setattr(source, "line", lambda number, **kw: asked.append(number) or line(number, **kw))
    async with previewing((100, 40)) as (preview, _):
        preview.show(Page(source, "note.md", 500, 510, 505))
        preview.go_to(90_000)
        assert "item 89999 " in " ".join(rows(preview))
    assert len(asked) < 300


def test_what_a_fence_holds_is_code(source_of: Make) -> None:
    outline = read_outline(source_of("text\n```python\n# no heading\n```\n# heading\n"))
    assert list(line_styles("# no heading", outline.in_fence(3))) == [(0, 12, "code")]
    assert [kind for _, _, kind in line_styles("# heading", outline.in_fence(5))] == ["heading"]


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("- a `b` and **c**", ["marker", "code", "bold"]),
        ("see [x](y.md) https://z.org", ["link", "link"]),
        ("1. first", ["marker"]),
        ("a [b=c] d", []),
        ("`" * 2000, []),
    ],
)
def test_one_line_of_markdown_is_coloured_by_its_parts(line: str, kinds: list[str]) -> None:
    assert [kind for _, _, kind in line_styles(line, False)] == kinds
