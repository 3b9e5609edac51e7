"""Turns what was asked into what qmd understands: plain words, never its syntax, and looser lines where all words
together find nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from core.search.query import Query
from core.text.analysis import fold, split_scripts, words
from core.text.stopwords import stop_words

MOST_WORDS = 24
MOST_LINES = 16

_PHRASE = re.compile(r'["“„]([^"“”„]*)["”]')
_SIGNS = re.compile(r"[\"“”„*^]|(?<!\S)-+")


def all_words(query: Query) -> str:
    """The query for a search that wants every word: phrases quoted, the rest without stop words and without signs that
    qmd would act on; empty if no word is left."""
    phrases = [f'"{" ".join(phrase.split())}"' for phrase in query.phrases]
    return " ".join([*phrases, *_asked(query)])


def any_words(query: Query) -> str:
    """The query as typed lines, one for each pair of neighbours and each word, whose finds qmd adds up; empty for less
    than two words, and where a phrase is asked for."""
    if query.phrases:
        return ""
    asked = _pieces(_asked(query))
    if len(asked) < 2:
        return ""
    pairs = [f"{first} {second}" for first, second in pairwise(asked)]
    lines = list(dict.fromkeys([*pairs[: MOST_LINES // 2], *asked]))[:MOST_LINES]
    return "\n".join(f"lex: {line}" for line in lines)


def _asked(query: Query) -> list[str]:
    """The words outside of phrases as typed, without stop words unless there are no others."""
    rest = _SIGNS.sub(" ", _PHRASE.sub(" ", query.text))
    typed = [word for word in rest.split() if words(fold(word))][:MOST_WORDS]
    stopped = stop_words(part for word in typed for part in words(fold(word)))
    kept = [word for word in typed if not all(part in stopped for part in words(fold(word)))]
    return kept or ([] if query.phrases else typed)


def _pieces(asked: Sequence[str]) -> list[str]:
    """Words one by one; runs of scripts without blanks as pairs of characters."""
    pieces: list[str] = []
    for word in asked:
        for run, script in split_scripts(fold(word)):
            if script == "word":
                pieces += words(run)
            else:
                pieces += [first + second for first, second in pairwise(run)] or [run]
    return list(dict.fromkeys(pieces))
