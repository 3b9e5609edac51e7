"""Headings and fences of Markdown, as a viewer knows them, agree with what chunks are told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import LineSource, read_outline
from core.text.headings import _BLOCK_LINES, heading_path

DOCUMENT = """---
title: no heading
---
# Title

text
## Section
```python
# no heading
```
### Sub ##
Setext
------
~~~
# open to the end
"""


def test_a_line_stands_under_its_headings_outermost_first() -> None:
    outline = read_outline(LineSource.from_text(DOCUMENT))
    trails = {line: outline.trail(line) for line in (2, 4, 6, 7, 9, 11, 12, 15)}
    assert trails == {
        2: (),
        4: ("Title",),
        6: ("Title",),
        7: ("Title", "Section"),
        9: ("Title", "Section"),
        11: ("Title", "Section", "Sub"),
        12: ("Title", "Setext"),
        15: ("Title", "Setext"),
    }


def test_fences_reach_from_their_opening_to_their_closing_or_the_end() -> None:
    outline = read_outline(LineSource.from_text(DOCUMENT))
    assert [line for line in range(1, 16) if outline.in_fence(line)] == [8, 9, 10, 14, 15]


@pytest.mark.parametrize("shift", range(4))
def test_nothing_is_lost_where_blocks_of_lines_meet(shift: int) -> None:
    head = "\n" * (_BLOCK_LINES - 2 - shift)
    outline = read_outline(LineSource.from_text(f"{head}Setext\n===\n```\n# no\n```\n# yes\n"))
    start = _BLOCK_LINES - 1 - shift
    assert [heading.line for heading in outline.headings] == [start, start + 5]
    assert (outline.opens, outline.closes) == ((start + 2,), (start + 4,))


LINES = st.lists(
    st.sampled_from(["# A", "## B", "### C", "#", "text", "", "---", "===", "```", "~~~", "a: 1", "- # x"])
)


@given(LINES)
def test_the_trail_of_every_line_is_the_path_that_citations_have(lines: list[str]) -> None:
    outline = read_outline(LineSource.from_text("".join(f"{line}\n" for line in lines)))
    setext = [n for n, line in enumerate(lines, 1) if line in ("---", "===")]
    for line in range(1, len(lines) + 1):
        if line + 1 not in setext:  # a path up to a title does not know yet that it is underlined
            assert outline.trail(line) == heading_path(lines, line)


def test_a_heading_with_a_megabyte_of_blanks_is_read_in_one_go() -> None:
    assert heading_path(["# a" + " " * 1_000_000 + "b #", "text"], 2)[0].startswith("a ")


def test_of_a_long_line_only_its_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.md"
    path.write_bytes(b"# Title\n" + b"x" * (12 << 20) + b"\n## Section\n# " + b"y" * (12 << 20) + b"\n")
    read: list[int] = []
    with LineSource.open(path) as source:
        pread = source._read
        source._read = lambda offset, length: read.append(length) or pread(offset, length)
        outline = read_outline(source)
    assert [heading.line for heading in outline.headings] == [1, 3, 4]
    assert sum(read) < 100_000


def test_reading_stops_when_asked() -> None:
    stop = threading.Event()
    stop.set()
    outline = read_outline(LineSource.from_text("# A\n"), stop)
    assert (outline.lines, outline.trail(1)) == (0, ())
