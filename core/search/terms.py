"""A query's words as the keyword index knows them: tokens, how many chunks hold them, which carry no meaning."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import apsw

from core.store.schema import KEYWORD_TOKENIZER
from core.text.analysis import Script, fold, split_scripts, words
from core.text.stopwords import stop_words

COMMON_SHARE = 0.25
"""A word that more than this share of the chunks hold tells nothing about any of them."""
MAX_TERMS = 64
"""Words of a query that are looked up; of a pasted page the first ones."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query.

    `word` is folded text (a pair of characters where the script has no blanks), `tokens` what the index calls it,
    `frequency` how many chunks hold its rarest token, `stop` whether it is a stop word of the query's language.
    """

    word: str
    script: Script
    tokens: tuple[str, ...]
    frequency: int
    stop: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """All terms in the query's order, those to search by (each once), the runs without blanks, and the chunk count."""

    all: tuple[Term, ...]
    asked: tuple[Term, ...]
    unspaced_runs: tuple[str, ...]
    chunks: int

    @property
    def neighbours(self) -> Iterator[tuple[Term, Term]]:
        """Pairs of words that stand side by side in the query, not both stop words."""
        for first, second in pairwise(self.all):
            if first.script == second.script == "word" and not (first.stop and second.stop):
                yield first, second


class Vocabulary:
    """The keyword index's own tokenizer and its counts, over one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        name, *arguments = shlex.split(KEYWORD_TOKENIZER)
        self._tokenizer = connection.fts5_tokenizer(name, arguments)

    def tokens(self, word: str) -> tuple[str, ...]:
        """What the index calls `word`: usually one token, several for `snake_case`, none for signs alone."""
        found = self._tokenizer(word.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return tuple(str(colocated[0]) for colocated in found)

    def frequency(self, token: str) -> int:
        """How many chunks hold `token`."""
        row = self._connection.execute("SELECT doc FROM chunks_fts_vocab WHERE term = ?", (token,)).fetchone()
        return int(row[0]) if row else 0

    def chunk_count(self) -> int:
        """How many chunks are indexed."""
        return sum(int(count) for (count,) in self._connection.execute("SELECT sum(chunks) FROM files") if count)

    def terms(self, text: str, *, chunks: int) -> Terms:
        """The terms of a query's text. Stop words are not counted; they and common words are asked only if alone."""
        pieces = list(_pieces(fold(text)))[:MAX_TERMS]
        stopped = stop_words(word for word, script in pieces if script == "word")
        counts: dict[str, int] = {}
        terms = []
        for word, script in pieces:
            tokens = self.tokens(word)
            if not tokens:
                continue
            stop = word in stopped
            if not stop:
                for token in tokens:
                    if token not in counts:
                        counts[token] = self.frequency(token)
            terms.append(Term(word, script, tokens, 0 if stop else min(counts[t] for t in tokens), stop))
        once = list({term.tokens: term for term in reversed(terms)}.values())[::-1]
        meaningful = [term for term in once if not term.stop]
        asked = [term for term in meaningful if term.frequency <= chunks * COMMON_SHARE] or meaningful or once
        runs = tuple(dict.fromkeys(run for run, script in split_scripts(fold(text)) if script == "unspaced"))
        return Terms(tuple(terms), tuple(asked), runs, chunks)


def _pieces(folded: str) -> Iterator[tuple[str, Script]]:
    for run, script in split_scripts(folded):
        if script == "word":
            for word in words(run):
                yield word, script
        elif len(run) == 1:
            yield run, script
        else:
            for first, second in pairwise(run):
                yield first + second, script
