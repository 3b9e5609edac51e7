"""Candidates: what the keyword leg, exact text and the semantic leg find, with all that is known of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from time import perf_counter
from typing import TYPE_CHECKING

from core.records import record
from core.search.evidence import TextEvidence
from core.search.fusion import Candidate
from core.search.keyword import affordable, best_by_words, match_all, match_any, match_nearly, quoted, those_with
from core.search.literal import Literals, holds
from core.search.query import Query
from core.search.rows import Rows
from core.search.scope import chunks_of_source
from core.search.semantic import Matrix, SemanticHits, nearest
from core.search.terms import TINY_INDEX, Terms
from core.store.database import Database
from core.text.analysis import fold
from core.types import Source

if TYPE_CHECKING:
    from core.search.semantic import Vector
    from core.types import EmbeddingIdentity

BEST_BY_WORDS = 100
BEST_BY_MEANING = 100
BEST_WHOLE = 50
"""Chunks with all words of a query of few that are looked for by themselves."""
RESCUED = 10
"""Memory chunks that are looked for by themselves when transcripts alone fill the candidates."""


@record(frozen=True, slots=True)
class Meaning:
    """The query's vector and what it is compared with."""

    vector: Vector
    identity: EmbeddingIdentity
    matrix: Matrix | None


@record(slots=True)
class Found:
    """The candidates of one search; `semantic` is None without a vector or vectors. `milliseconds`: keyword, vector."""

    candidates: list[Candidate]
    semantic: SemanticHits | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)


class Retrieval:
    """Gathers candidates inside one read transaction: among `allowed` chunks, with every `required` phrase.

    `counts` says how many chunks each source has.
    """

    def __init__(
        self,
        database: Database,
        literals: Literals,
        rows: Rows,
        query: Query,
        terms: Terms,
        *,
        allowed: Sequence[int] | None,
        required: Sequence[str],
        counts: Mapping[Source, int],
    ) -> None:
        self._database = database
        self._literals = literals
        self._rows = rows
        self._query = query
        self._terms = terms
        self._allowed = allowed
        self._required = tuple(map(fold, required))
        self._asked = affordable(terms.asked)
        self._counts = counts

    @property
    def is_tiny(self) -> bool:
        return self._terms.chunks < TINY_INDEX

    def by_words(self) -> tuple[dict[int, float], dict[int, float], list[int], dict[int, float]]:
        """r = −bm25 of the best chunks, of those with all words of few, the literal hits, the identifier evidence."""
        expression = match_any(self._asked)
        connection = self._database.connection
        words = best_by_words(connection, expression, limit=BEST_BY_WORDS, allowed=self._allowed)
        literal = [*self._literals.of_query(self._query), *self._literals.of_name(self._query)]
        identifiers = self._literals.identifier_evidence(self._query, self._terms)
        whole = self._with_all_words(expression)
        words |= whole
        found = [*words, *literal, *identifiers]
        if found and self._is_crowded(found):
            memory = self._memory_only()
            words |= best_by_words(connection, expression, limit=RESCUED, allowed=memory)
        return words, whole, literal, identifiers

    def _with_all_words(self, expression: str) -> dict[int, float]:
        """Of chunks that hold all words of a query of few the best; long ones rank far below those with one word."""
        required = self._terms.required
        if not required:
            return {}
        connection = self._database.connection
        best = best_by_words(connection, match_all(required), limit=BEST_WHOLE, allowed=self._allowed)
        if best and {term.tokens for term in required} != {term.tokens for term in self._asked}:
            # By other words than are asked r is another one.
            return best_by_words(connection, expression, limit=BEST_WHOLE, allowed=sorted(best))
        return best

    def _complete(self, known: Mapping[int, float], ids: Sequence[int]) -> Collection[int]:
        """Which of `ids` hold all words of a query of few; `known` are the best of those that do."""
        if len(known) < BEST_WHOLE:
            return known.keys()
        return those_with(self._database.connection, match_all(self._terms.required), ids)

    def by_meaning(self, meaning: Meaning, also: Sequence[int]) -> SemanticHits | None:
        """The nearest chunks, and the cosines of `also`."""
        found = self._nearest(meaning, BEST_BY_MEANING, self._allowed, also)
        if found is not None and found.best and self._is_crowded([*found.best, *also]):
            memory = self._nearest(meaning, RESCUED, self._memory_only(), ())
            if memory is not None:
                return SemanticHits(found.best | memory.best, found.known, found.mean, found.deviation)
        return found

    def _nearest(
        self, meaning: Meaning, limit: int, allowed: Sequence[int] | None, also: Sequence[int]
    ) -> SemanticHits | None:
        return nearest(
            self._database, meaning.identity, meaning.matrix, meaning.vector, limit=limit, allowed=allowed, also=also
        )

    def _is_crowded(self, ids: Sequence[int]) -> bool:
        """Whether transcripts alone were found in an index that holds memory too."""
        if not all(self._counts.get(source) for source in ("memory", "sessions")):
            return False
        self._rows.fetch(ids)
        self._rows.fetch_files(self._rows[chunk_id].file_id for chunk_id in ids if chunk_id in self._rows)
        return all(self._rows.file(chunk_id).source == "sessions" for chunk_id in ids if chunk_id in self._rows)

    def _memory_only(self) -> list[int]:
        memory = chunks_of_source(self._database.connection, "memory")
        if self._allowed is None:
            return memory
        allowed = frozenset(self._allowed)
        return [chunk_id for chunk_id in memory if chunk_id in allowed]

    def gather(self, meaning: Meaning | None, *, with_words: bool = True) -> Found:
        """All candidates with their evidence; without `with_words` those of the semantic leg alone."""
        words: dict[int, float] = {}
        whole: dict[int, float] = {}
        literal: list[int] = []
        identifiers: dict[int, float] = {}
        started = perf_counter()
        if with_words:
            words, whole, literal, identifiers = self.by_words()
        exact = dict.fromkeys([*words, *literal, *identifiers])
        by_words = perf_counter()
        semantic = self.by_meaning(meaning, list(exact)) if meaning is not None else None
        by_meaning = perf_counter()
        ids = list(dict.fromkeys([*exact, *(semantic.best if semantic is not None else ())]))
        self._rows.fetch(ids)
        ids = [chunk_id for chunk_id in ids if chunk_id in self._rows and self._holds_phrases(chunk_id)]
        literally = frozenset(literal)
        kin = self._kin(words)
        complete = self._complete(whole, ids)
        candidates = [
            Candidate(
                chunk_id,
                words=words.get(chunk_id, 0.0),
                identifiers=identifiers.get(chunk_id, 0.0),
                cosine=semantic.cosine(chunk_id) if semantic is not None else None,
                literal=chunk_id in literally,
                kin=chunk_id in kin,
                complete=chunk_id in complete,
            )
            for chunk_id in ids
        ]
        if with_words:
            self._weigh(candidates)
        times = {"keyword": (by_words - started) * 1000}
        if meaning is not None:
            times["vector"] = (by_meaning - by_words) * 1000
        return Found(candidates, semantic, times)

    def _weigh(self, candidates: Sequence[Candidate]) -> None:
        if self.is_tiny:
            self._count_words(candidates)
            return
        evidence = TextEvidence(
            lambda: [self._rows.folded(candidate.chunk_id) for candidate in candidates], self._terms.chunks
        )
        for candidate, part in zip(candidates, evidence.parts(self._terms) or (), strict=False):
            candidate.parts = part
        for candidate, pair in zip(candidates, evidence.pairs(self._terms) or (), strict=False):
            candidate.pairs = pair

    def _kin(self, words: Mapping[int, float]) -> frozenset[int]:
        """Which of the chunks found by words hold none of them, nor a near form of one."""
        if not any(term.beginning for term in self._asked):
            return frozenset()
        return frozenset(words) - those_with(self._database.connection, match_nearly(self._asked), list(words))

    def _count_words(self, candidates: Sequence[Candidate]) -> None:
        by_id = {candidate.chunk_id: candidate for candidate in candidates}
        for term in self._terms.asked:
            for chunk_id in those_with(self._database.connection, quoted(term.word), list(by_id)):
                by_id[chunk_id].distinct += 1

    def _holds_phrases(self, chunk_id: int) -> bool:
        return all(holds(self._rows.folded(chunk_id), phrase) for phrase in self._required)
