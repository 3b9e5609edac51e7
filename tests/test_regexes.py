"""Regular expressions that are compiled at their first use behave like compiled ones."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.regexes import late_regex

ROOT = Path(__file__).resolve().parents[1]


def test_it_does_what_a_compiled_one_does() -> None:
    word, wanted = late_regex(r"(?P<a>x)y", re.I), re.compile(r"(?P<a>x)y", re.I)
    assert word.sub("-", "aXYxyz") == wanted.sub("-", "aXYxyz")
    assert [found.span("a") for found in word.finditer("aXYxyz")] == [(1, 2), (3, 4)]
    assert word.fullmatch("x") is None
    assert (word.pattern, word.flags, word.groupindex) == (wanted.pattern, wanted.flags, wanted.groupindex)


def test_a_wrong_one_is_found_at_its_first_use() -> None:
    with pytest.raises(re.error):
        late_regex("(").match("x")


def test_it_has_nothing_that_a_compiled_one_has_not() -> None:
    with pytest.raises(AttributeError):
        _ = late_regex("x").nothing  # type: ignore[attr-defined]
    assert copy.copy(late_regex("x")).match("x")


def test_declaring_one_compiles_nothing() -> None:
    code = (
        "import re\n"
        "from core.regexes import late_regex\n"
        "seen, run = [], re.compile\n"
        "re.compile = lambda *given: (seen.append(given), run(*given))[1]\n"
        "word = late_regex('[a-z]+')\n"
        "assert not seen, seen\n"
        "assert word.match('abc') and word.match('x') and word.search('1x')\n"
        "assert len(seen) == 1, seen\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_what_a_search_declares_is_right() -> None:
    code = (
        "import re, sys, core\n"
        "from core.regexes import late_regex\n"
        "for name in core.__all__:\n"
        "    getattr(core, name)\n"
        "found = [thing for name, module in sys.modules.items() if name.startswith('core.')\n"
        "         for thing in vars(module).values() if type(thing) is late_regex]\n"
        "for each in found:\n"
        "    each.pattern\n"
        "print(len(found))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(ended.stdout) > 20
