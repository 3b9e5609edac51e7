"""Text of several lines as rows of a width in terminal cells, quickly: long texts are wrapped while one scrolls."""

from __future__ import annotations

from rich.cells import cell_len


def wrapped(text: str, cells: int) -> list[str]:
    """The rows of `text`: broken at blanks where there are any, elsewhere at the last cell; no row is wider."""
    cells = max(cells, 2)
    rows: list[str] = []
    for line in text.split("\n"):
        if len(line) * 2 <= cells:
            rows.append(line)
        elif line.isascii():
            _break_ascii(line, cells, rows)
        else:
            _break_wide(line, cells, rows)
    return rows


def _break_ascii(line: str, cells: int, rows: list[str]) -> None:
    start = 0
    while len(line) - start > cells:
        end = line.rfind(" ", start + 1, start + cells + 1)
        if end <= start + cells // 3 or line[start:end].isspace():
            end = start + cells
        rows.append(line[start:end].rstrip(" "))
        start = end + 1 if line[end] == " " else end
    rows.append(line[start:])


def _break_wide(line: str, cells: int, rows: list[str]) -> None:
    start = 0
    while start < len(line):
        end = min(len(line), start + cells)
        while end > start + 1 and (over := cell_len(line[start:end]) - cells) > 0:
            end -= max(over // 2, 1)
        if end < len(line):
            blank = line.rfind(" ", start + 1, end + 1)
            if blank > start + (end - start) // 3 and not line[start:blank].isspace():
                rows.append(line[start:blank].rstrip(" "))
                start = blank + 1
                continue
        rows.append(line[start:end])
        start = end
