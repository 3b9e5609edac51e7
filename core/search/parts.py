"""Parts of words: what to ask the keyword table, so that it finds every chunk whose text may hold a piece of text."""

from __future__ import annotations

import re
from itertools import product
from string import ascii_lowercase
from typing import NamedTuple

import apsw

from core.regexes import late_regex
from core.search.keyword import quoted
from core.search.terms import Vocabulary
from core.store.word_rows import WORD_TABLE
from core.text.analysis import Script, blank_signs, spell, split_scripts

MOST_WORDS = 1000
"""Words that a part may belong to; one of more tells little."""
MOST_TRIGRAMS = 24
SHORTEST_PART = 3
"""A piece of text all of whose runs have fewer letters and digits is not looked for within words."""
_VERSION = late_regex(r"[0-9]{1,2}(?:\.[0-9]{1,2})+")
_BEFORE_VERSION = tuple(map("".join, (*ascii_lowercase, *product(ascii_lowercase, repeat=2))))
_RUN = re.compile(r"[^ ]+")
_LAST = "\U0010ffff"


class TooMany(Exception):
    """What is looked for belongs to too many words to tell anything."""


class _Run(NamedTuple):
    """A run of one way of writing; whether it begins or ends its text, and may there be a part of a longer word.

    `is_of_version`: whether it is of a version, whose first number may stand behind a letter or two.
    """

    text: str
    script: Script
    is_first: bool
    is_last: bool
    is_part: bool
    is_of_version: bool = False

    @property
    def is_half_a_pair(self) -> bool:
        """Whether the index may have it in pairs alone."""
        return self.script == "unspaced" and len(self.text) == 1 and (self.is_first or self.is_last)


class Parts:
    """Finds the words of an index that a piece of text may be cut from."""

    def __init__(self, connection: apsw.Connection, vocabulary: Vocabulary) -> None:
        self._connection = connection
        self._vocabulary = vocabulary

    def expression(self, needle: str, *, whole_words: bool) -> str | None:
        """What to ask chunks_fts for the folded `needle`; unless `whole_words`, its ends may be parts of longer words.

        "" where no chunk can hold it, None where its words do not tell. Raises TooMany.
        """
        conditions: list[str] = []
        phrase: list[str] = []
        for run in _runs(needle):
            is_part = run.is_part and not whole_words
            if not is_part and self._is_told(run):
                phrase.append(spell(run.text))
                continue
            conditions += _phrase(phrase)
            phrase = []
            condition = self._any_word_with(run) if is_part else None
            if condition == "":
                return ""
            if condition is not None:
                conditions.append(condition)
        conditions += _phrase(phrase)
        return f"body : ({' AND '.join(conditions)})" if conditions else None

    def _is_told(self, run: _Run) -> bool:
        """Whether the index knows this run by itself."""
        return not run.is_half_a_pair and (run.script == "cjk" or bool(self._vocabulary.tokens(run.text)))

    def _any_word_with(self, run: _Run) -> str | None:
        """What to ask for the words that a run may be a part of; "" for none, None where they do not tell.

        Raises TooMany.
        """
        found = self._words_with(run)
        if found is None:
            return None
        if len(found) > MOST_WORDS:
            if run.is_first and run.is_last:
                raise TooMany
            return None
        if not all(map(self._vocabulary.tokens, found)):
            return None
        return f"({' OR '.join(map(quoted, found))})" if found else ""

    def _words_with(self, run: _Run) -> list[str] | None:
        """Words that begin or end with a run, or hold it, up to one more than the most; None where none can tell."""
        if not run.is_first:
            return self._select("word >= ?1 AND word < ?2", run.text, run.text + _LAST)
        if run.is_of_version:
            lettered = [f'"{letters}{run.text}"' for letters in _BEFORE_VERSION]
            return self._select("word IN (SELECT value FROM json_each(?1))", f"[{','.join(lettered)}]")
        if len(run.text) < SHORTEST_PART:
            return None
        trigrams = list(dict.fromkeys(run.text[start : start + 3] for start in range(len(run.text) - 2)))
        step = -(-len(trigrams) // MOST_TRIGRAMS)
        known = f"id IN (SELECT rowid FROM {WORD_TABLE} WHERE {WORD_TABLE} MATCH ?2)"
        place = "instr(word, ?1)" if run.is_last else "substr(word, -length(?1)) = ?1"
        return self._select(f"{known} AND {place}", run.text, " AND ".join(map(quoted, trigrams[::step])))

    def _select(self, condition: str, *values: str) -> list[str]:
        found = self._connection.execute(f"SELECT word FROM words WHERE {condition} LIMIT {MOST_WORDS + 1}", values)
        return [str(word) for (word,) in found]


def parts_of(needle: str) -> tuple[bool, bool]:
    """Whether the beginning and the end of a folded text are looked for as parts of longer words."""
    parts = [run for run in _runs(needle) if run.is_part]
    return any(run.is_first for run in parts), any(run.is_last for run in parts)


def is_version(needle: str) -> bool:
    """Whether a folded text is a version of short numbers, as `2.0.1`, which texts may write as `v2.0.1`."""
    return _VERSION.fullmatch(needle) is not None


def has_half_a_pair(needle: str) -> bool:
    """Whether an end of a folded text is a character of a script that the index knows in pairs only."""
    return not needle.isascii() and any(run.is_half_a_pair for run in _runs(needle))


def _phrase(texts: list[str]) -> list[str]:
    return [quoted(" ".join(texts))] if texts else []


def _runs(needle: str) -> list[_Run]:
    """The runs of a folded text that the index has words for."""
    found: list[tuple[str, Script, bool, bool]] = []
    offset = 0
    for piece, script in split_scripts(needle):
        plain = blank_signs(piece) if script == "word" else piece
        for run in _RUN.finditer(plain):
            start, end = offset + run.start(), offset + run.end()
            found.append((run[0], script, start == 0, end == len(needle)))
        offset += len(piece)
    has_parts = any(script != "word" or len(text) >= SHORTEST_PART for text, script, _, _ in found)
    version = is_version(needle)
    return [
        _Run(
            text,
            script,
            first,
            last,
            (has_parts and script == "word" and (first or last)) or (version and first),
            version,
        )
        for text, script, first, last in found
    ]
