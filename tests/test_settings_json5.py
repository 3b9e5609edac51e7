"""The JSON5 of an openclaw.json is read as json5 reads it."""

from __future__ import annotations

import json
from pathlib import Path

import json5
from hypothesis import given
from hypothesis import strategies as st

from core.settings.openclaw import parse

# json5 reads an escaped surrogate pair as two characters, so texts stay in the basic plane.
TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=("Cs",)), max_size=12)
NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
GAPS = st.sampled_from(["", " ", "\n", "/* , } */", "// ] : {\n", "\t"])


@st.composite
def json5_documents(draw: st.DrawFn) -> str:
    """A value written with comments, bare keys, single quotes and last commas."""

    def written(value: object) -> str:
        gap = draw(GAPS)
        if isinstance(value, dict):
            items = [f"{key(name)}{draw(GAPS)}:{written(inner)}" for name, inner in value.items()]
            return gap + "{" + ",".join(items) + last(items) + draw(GAPS) + "}" + draw(GAPS)
        if isinstance(value, list):
            items = [written(inner) for inner in value]
            return gap + "[" + ",".join(items) + last(items) + draw(GAPS) + "]" + draw(GAPS)
        return gap + (text(value) if isinstance(value, str) else json.dumps(value)) + draw(GAPS)

    def last(items: list[str]) -> str:
        return draw(st.sampled_from(["", ","])) if items else ""

    def text(value: str) -> str:
        single = "'" + json.dumps(value)[1:-1].replace("'", "\\'") + "'"
        return draw(st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False), single]))

    def key(name: str) -> str:
        bare = name.isascii() and name.isidentifier()
        return draw(st.sampled_from([name, text(name)])) if bare else text(name)

    return written(draw(st.dictionaries(TEXT, JSON, max_size=4)))


@given(json5_documents())
def test_reading_agrees_with_json5(document: str) -> None:
    expected = json5.loads(document)
    assert parse(Path("x"), document.encode()).values == expected
