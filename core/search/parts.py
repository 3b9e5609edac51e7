"""Parts of words: what to ask the keyword table, so that it finds every chunk whose text may hold a piece of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import apsw

from core.search.keyword import quoted
from core.search.terms import Vocabulary
from core.store.word_rows import WORD_TABLE
from core.text.analysis import Script, blank_signs, spell, split_scripts

MOST_WORDS = 1000
"""Words that a part may belong to; one of more tells little."""
MOST_TRIGRAMS = 24
SHORTEST_PART = 3
"""A piece of text all of whose runs have fewer letters and digits is not looked for within words."""
_RUN = re.compile(r"[^ ]+")
_LAST = "\U0010ffff"


class TooMany(Exception):
    """What is looked for belongs to too many words to tell anything."""


class _Run(NamedTuple):
    """A run of one way of writing, and whether it begins and ends the text that it is from."""

    text: str
    script: Script
    is_first: bool
    is_last: bool

    @property
    def is_end(self) -> bool:
        """Whether a longer word may hold it."""
        return self.script == "word" and (self.is_first or self.is_last)

    @property
    def tells(self) -> bool:
        """Whether few texts hold it, be it in a word."""
        return self.script != "word" or len(self.text) >= SHORTEST_PART


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
        is_common = False
        runs = list(_runs(needle))
        has_parts = not whole_words and any(run.tells for run in runs)
        for run in runs:
            is_open = has_parts and run.is_end
            if not is_open and self._is_told(run):
                phrase.append(spell(run.text))
                continue
            conditions += _phrase(phrase)
            phrase = []
            found = self._words_with(run) if is_open else None
            if found is not None and len(found) <= MOST_WORDS and all(map(self._vocabulary.tokens, found)):
                if not found:
                    return ""
                conditions.append(f"({' OR '.join(map(quoted, found))})")
            is_common |= found is not None and len(found) > MOST_WORDS and run.text == needle
        conditions += _phrase(phrase)
        if is_common:
            raise TooMany
        return f"body : ({' AND '.join(conditions)})" if conditions else None

    def _is_told(self, run: _Run) -> bool:
        """Whether the index knows this run by itself."""
        if run.script == "unspaced" and len(run.text) == 1 and (run.is_first or run.is_last):
            return False  # it may be in pairs only
        return run.script == "cjk" or bool(self._vocabulary.tokens(run.text))

    def _words_with(self, run: _Run) -> list[str] | None:
        """Words that begin or end with a run, or hold it, up to one more than the most; None where none can tell."""
        if not run.is_first:
            return self._select("word >= ?1 AND word < ?2", run.text, run.text + _LAST)
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
    runs = list(_runs(needle))
    if not any(run.tells for run in runs):
        return False, False
    return any(run.is_end and run.is_first for run in runs), any(run.is_end and run.is_last for run in runs)


def _phrase(texts: list[str]) -> list[str]:
    return [quoted(" ".join(texts))] if texts else []


def _runs(needle: str) -> Iterator[_Run]:
    """The runs of a folded text that the index has words for."""
    offset = 0
    for piece, script in split_scripts(needle):
        plain = blank_signs(piece) if script == "word" else piece
        for found in _RUN.finditer(plain):
            start, end = offset + found.start(), offset + found.end()
            yield _Run(found[0], script, start == 0, end == len(needle))
        offset += len(piece)
