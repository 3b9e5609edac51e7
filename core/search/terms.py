"""A query's words as the keyword index knows them: tokens, how many chunks hold them, which carry no meaning."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import apsw

from core.records import record
from core.search.evidence import beginning, rarity
from core.store.schema import KEYWORD_TOKENIZER
from core.text.analysis import Script, fold, split_scripts, words
from core.text.stopwords import is_stop_pair, stop_words

COMMON_SHARE = 0.25
"""A word that more than this share of the chunks hold tells nothing about any of them."""
COMMON_WORTH = 0.05
TINY_INDEX = 50
"""Below so many chunks statistics mean nothing."""
SHORTEST_INFLECTED = 6
"""Words of so many letters are looked for by their beginning when they are nowhere in the index."""
FEW_WORDS = 3
"""A query of up to so many words means all of them; a longer one is a question, of which some may be missing."""
MAX_TERMS = 64
"""Words of a query that are looked up; of a pasted page the first ones."""


@record(frozen=True, slots=True)
class Term:
    """One word of a query.

    `word` is folded text (a pair of characters where the script has no blanks), `tokens` what the index calls it,
    `frequency` how many chunks hold its rarest token, `stop` whether it is a stop word of the query's language. For a
    word that is nowhere, `beginning` is what is looked for in its place, and `beginning_frequency` what that costs.
    """

    word: str
    script: Script
    tokens: tuple[str, ...]
    frequency: int
    stop: bool
    beginning: str = ""
    beginning_frequency: int = 0


@record(frozen=True)
class Terms:
    """All terms in the query's order, those to search by (each once), the runs without blanks, and the chunk count."""

    all: tuple[Term, ...]
    asked: tuple[Term, ...]
    unspaced_runs: tuple[str, ...]
    chunks: int

    @cached_property
    def worth(self) -> Mapping[str, float]:
        """How much each word that is asked tells: its rarity, and a little for being there."""
        return {term.word: rarity(term.frequency, self.chunks) + COMMON_WORTH for term in self.asked}

    @property
    def is_unspaced(self) -> bool:
        """Whether most of what is asked are pairs of characters."""
        return sum(term.script != "word" for term in self.asked) * 2 > len(self.asked)

    @cached_property
    def required(self) -> tuple[Term, ...]:
        """The words that a text needs to have all: of a query of few words those that are in the index, if several."""
        once = {term.tokens: term for term in self.all if not term.stop}
        known = tuple(term for term in once.values() if term.frequency)
        return known if len(once) <= FEW_WORDS and len(known) > 1 else ()

    @cached_property
    def neighbours(self) -> tuple[tuple[Term, Term], ...]:
        """Pairs of words that stand side by side in the query, not both stop words."""
        return tuple(
            (first, second)
            for first, second in pairwise(self.all)
            if first.script == second.script == "word" and not (first.stop and second.stop)
        )


class Tokenizer:
    """The keyword index's own tokenizer, kept for the life of a connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        name, *arguments = shlex.split(KEYWORD_TOKENIZER)
        self._tokenizer = connection.fts5_tokenizer(name, arguments)

    def tokens(self, word: str) -> tuple[str, ...]:
        """What the index calls `word`: usually one token, several for `snake_case`, none for signs alone."""
        found = self._tokenizer(word.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return tuple(str(colocated[0]) for colocated in found)


class Vocabulary:
    """What the index knows of words, counted at most once while the index stays as it is.

    `counts` holds what was counted, and is shared by the searches of one state of the index.
    """

    def __init__(self, connection: apsw.Connection, tokenizer: Tokenizer, counts: dict[str, int] | None = None) -> None:
        self._connection = connection
        self._tokenizer = tokenizer
        self._counts = {} if counts is None else counts

    def frequency(self, token: str) -> int:
        """How many chunks hold `token`."""
        known = self._counts.get(token)
        if known is None:
            row = self._connection.execute("SELECT doc FROM chunks_fts_vocab WHERE term = ?", (token,)).fetchone()
            known = self._counts[token] = int(row[0]) if row else 0
        return known

    def tokens(self, word: str) -> tuple[str, ...]:
        """What the index calls `word`."""
        return self._tokenizer.tokens(word)

    def word_frequency(self, word: str) -> int:
        """How many chunks hold the rarest token of `word`; 0 for signs alone."""
        return min(map(self.frequency, self._tokenizer.tokens(word)), default=0)

    def terms(self, text: str, *, chunks: int) -> Terms:
        """The terms of a query's text. Stop words, and words of a quarter of a large index, are asked only if alone."""
        folded = fold(text)
        pieces = list(_pieces(folded))[:MAX_TERMS]
        stopped = stop_words(word for word, script in pieces if script == "word")
        stopped |= {pair for pair, script in pieces if script == "cjk" and is_stop_pair(pair)}
        if all(word in stopped for word, _ in pieces):
            stopped = frozenset()
        terms = []
        for word, script in pieces:
            tokens = self._tokenizer.tokens(word)
            if tokens:
                terms.append(self._term(word, script, tokens, stop=word in stopped, chunks=chunks))
        once = {term.tokens: term for term in reversed(terms) if not term.stop}
        meaningful = list(once.values())[::-1]
        asked = [term for term in meaningful if term.frequency <= _most_common(chunks)] or meaningful
        runs = tuple(dict.fromkeys(run for run, script in split_scripts(folded) if script == "unspaced"))
        return Terms(tuple(terms), tuple(asked), runs, chunks)

    def _term(self, word: str, script: Script, tokens: tuple[str, ...], *, stop: bool, chunks: int) -> Term:
        frequency = 0 if stop else self.word_frequency(word)
        if frequency or stop or script != "word" or len(tokens) > 1 or len(word) < SHORTEST_INFLECTED:
            return Term(word, script, tokens, frequency, stop)
        start = beginning(word)
        known = self.beginning_frequency(start)
        if not known or known > _most_common(chunks):
            return Term(word, script, tokens, 0, stop)
        return Term(word, script, tokens, 0, stop, start, known)

    def beginning_frequency(self, start: str) -> int:
        """How many postings the words that begin like this have together."""
        tokens = self._tokenizer.tokens(start)
        if len(tokens) != 1:
            return 0
        row = self._connection.execute(
            "SELECT sum(doc) FROM chunks_fts_vocab WHERE term >= ? AND term < ?", (tokens[0], tokens[0] + "\U0010ffff")
        ).fetchone()
        return int(row[0]) if row and row[0] else 0


def _most_common(chunks: int) -> float:
    """In how many chunks a word may be and still tell something."""
    return chunks * COMMON_SHARE if chunks >= TINY_INDEX else chunks


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
