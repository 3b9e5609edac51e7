"""JSON on the screen: coloured by its tokens, in the preview and in raw records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from core import LineSource
from tests.costs import costs_at_most
from tests.test_tui_preview import previewing
from tui.widgets.json_style import json_styles
from tui.widgets.page import LINE_LIMIT, kind_of
from tui.widgets.preview import Page
from tui.widgets.record_view import Raw, RecordView


def parts(text: str) -> list[tuple[str, str]]:
    return [(text[start:end], kind) for start, end, kind in json_styles(text)]


def test_each_token_has_its_kind() -> None:
    assert parts('{"a": "b\\"c", "n" : -1.5e3, "t": [true, null, 12]}') == [
        ('"a"', "key"),
        ('"b\\"c"', "string"),
        ('"n"', "key"),
        ("-1.5e3", "digits"),
        ('"t"', "key"),
        ("true", "literal"),
        ("null", "literal"),
        ("12", "digits"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"cut": "in the mid', [('"cut"', "key"), ('"in the mid', "string")]),
        ('"ends with \\', [('"ends with ', "string")]),
        ("v1.2 x86 truest 12abc", []),
        ("", []),
    ],
)
def test_what_is_no_json_is_left_as_it_is(text: str, expected: list[tuple[str, str]]) -> None:
    assert parts(text) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.booleans())
def test_all_of_a_record_but_its_punctuation_is_coloured(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    rest = list(text)
    for start, end, _ in json_styles(text):
        rest[start:end] = [""] * (end - start)
    assert set("".join(rest)) <= set("[]{}:, ")


@pytest.mark.parametrize("piece", ['"', "\\", '"\\', "1", "-", '"a" ', "1.", "true", '" :'])
def test_the_time_grows_with_the_text_alone(piece: str) -> None:
    short, long = (piece * count for count in (8_000, 80_000))
    costs_at_most(40, lambda: list(json_styles(long)), lambda: list(json_styles(short)))


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a/b.jsonl", "json"), ("x.JSON", "json"), ("n.md", "markdown"), ("log.txt", "plain"), ("json", "json")],
)
def test_a_document_is_known_by_its_name(path: str, kind: str) -> None:
    assert kind_of(path) == kind


async def test_lines_of_json_are_coloured_and_long_ones_cut_before() -> None:
    long = json.dumps({"role": "user", "n": 7, "text": "x" * (12 << 20)})
    source = LineSource.from_text(f'{{"role": "user", "ok": true}}\n{long}\n{{"after": "\x1b[2J\u202e"}}\n')
    asked: list[int | None] = []
    line = source.line
    source.line = lambda number, *, width=None: asked.append(width) or line(number, width=width)
    async with previewing((80, 60)) as (preview, _):
        preview.show(Page(source, "log.jsonl", kind="json"))
        strips = [preview.render_line(y) for y in range(60)]
    assert set(asked) == {LINE_LIMIT + 1}
    colours = {segment.text: segment.style.color.get_truecolor() for segment in strips[0] if segment.style.color}
    assert (colours['"role"'], colours['"user"']) == ((0, 0, 255), (0, 255, 0))
    text = "".join(strip.text for strip in strips)
    assert "bytes in this line" in text
    assert '"␛[2J⟦U+202E⟧"' in text


class Records(App[None]):
    CSS = "RecordView { height: 1fr; scrollbar-size: 0 0; } RecordView > .record--string { color: #00ff00; }"

    def compose(self) -> ComposeResult:
        yield RecordView()


@pytest.mark.parametrize("width", [24, 60, 120])
async def test_a_wrapped_string_of_a_record_is_one_string(width: int) -> None:
    said = " ".join(f"word{n}" for n in range(40))
    text = json.dumps({"role": "user", "text": said}, indent=2)
    async with Records().run_test(size=(width, 40)) as pilot:
        view = pilot.app.query_one(RecordView)
        view.show([Raw(3, text)])
        await pilot.pause()
        strips = [view.render_line(y) for y in range(40)]
    green = "".join(
        segment.text
        for strip in strips
        for segment in strip
        if segment.style and segment.style.color and segment.style.color.get_truecolor() == (0, 255, 0)
    )
    assert "".join(green.split()) == "".join(f'"user""{said}"'.split())


async def test_a_record_that_is_no_json_has_no_colours() -> None:
    async with Records().run_test(size=(60, 10)) as pilot:
        view = pilot.app.query_one(RecordView)
        view.show([Raw(3, '#### say "hello" 12 times')])
        await pilot.pause()
        assert [row.parts for _, _, row in view.in_view()] == [()]
