"""A search from end to end: read the query, gather candidates, rank them, and make the page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from time import perf_counter
from typing import TYPE_CHECKING

import apsw

from core.errors import BadVector, SearchCancelled
from core.records import record
from core.search import classic, fusion
from core.search.decay import decay_factor
from core.search.diversity import diversify
from core.search.facts import FactsKeeper
from core.search.fusion import Candidate
from core.search.literal import Literals
from core.search.page import fill_page, keep_memory, make_hit
from core.search.query import Query, parse_query
from core.search.retrieval import Meaning, Retrieval
from core.search.rows import FoldedTexts, Rows
from core.search.scope import allowed_chunks
from core.search.semantic import Matrix, SemanticHits
from core.search.snippet import find_match
from core.search.terms import TINY_INDEX, Terms, Tokenizer, Vocabulary
from core.store.database import Database
from core.store.failures import translated
from core.types import SearchMode, SearchRequest, SearchResult

if TYPE_CHECKING:
    from core.embedding.base import Embedder, ModelProfile, Vector
    from core.settings.model import Settings

DEFAULT_FLOOR = 0.4
LEAST_DIVERSE_POOL = 20


def local_today() -> date:
    """The user's local day."""
    return datetime.now().astimezone().date()


@record(slots=True)
class _Ranking:
    """Candidates in order, best first, and what was known when they were ranked."""

    candidates: list[Candidate]
    rows: Rows
    query: Query
    terms: Terms
    mode: SearchMode
    milliseconds: dict[str, float]
    warning: str | None = None


class Searcher:
    """Searches one index over one connection, from the one thread that the connection belongs to.

    `embedder` tells which vectors are the query's kind and what its model is like (`profile` wins over the embedder's
    own); `matrix` holds the vectors in memory, without it the index file is asked. `today` is the user's local day.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        profile: ModelProfile | None = None,
        matrix: Matrix | None = None,
        today: Callable[[], date] = local_today,
    ) -> None:
        self._database = database
        self._options = settings.query
        self._embedder = embedder
        self._profile = profile or (embedder.profile if embedder is not None else None)
        self._matrix = matrix
        self._today = today
        self._tokenizer: Tokenizer | None = None
        self._folded = FoldedTexts()
        self._facts = FactsKeeper(database)

    def search(
        self, request: SearchRequest, query_vector: Vector | None = None, cancel: threading.Event | None = None
    ) -> SearchResult:
        """The page of hits, best first; without `query_vector` by words alone, whatever the mode asked for.

        Raises SearchCancelled, StoreError.
        """
        started = perf_counter()
        query = parse_query(request.query, today=self._today)
        found = SearchResult(request.query, mode=self._mode(request, query_vector), filters=query.typed_filters)
        if query.blank:
            return replace(found, warning="filters alone find nothing: add a word") if query.filters else found
        with self._reading(cancel):
            ranking = self._rank(request, query, query_vector, cancel)
            if ranking is None:
                return found
            _look_at(cancel)
            page_started = perf_counter()
            count = self._page_size(request)
            places = fill_page(ranking.candidates, ranking.rows, count)
            places = keep_memory(places, ranking.candidates, ranking.rows)
            hits = tuple(make_hit(place, ranking.rows, query, ranking.terms) for place in places)
            pending = self._pending()
        finished = perf_counter()
        times = {
            **ranking.milliseconds,
            "snippet": (finished - page_started) * 1000,
            "total": (finished - started) * 1000,
        }
        return replace(
            found,
            hits=hits,
            mode=ranking.mode,
            warning=ranking.warning or _weakness(ranking, hits_found=bool(hits)),
            pending=pending,
            terms=tuple(dict.fromkeys([*query.phrases, *(term.word for term in ranking.terms.asked)])),
            candidates=len(ranking.candidates),
            milliseconds=times,
        )

    @contextmanager
    def _reading(self, cancel: threading.Event | None) -> Iterator[None]:
        try:
            with (
                translated(self._database.path, self._database.connection),
                self._database.cancelled_by(cancel),
                self._database.snapshot(),
            ):
                yield
        except apsw.InterruptError as error:
            raise SearchCancelled("the search was cancelled") from error

    def _mode(self, request: SearchRequest, vector: Vector | None) -> SearchMode:
        if vector is None or request.mode == "keyword":
            return "keyword"
        return "semantic" if request.mode == "semantic" or not self._options.hybrid.enabled else "hybrid"

    def _page_size(self, request: SearchRequest) -> int:
        return max(1, request.max_results if request.max_results is not None else self._options.max_results)

    def _pending(self) -> int:
        return self._facts.current().pending if self._embedder else 0

    def _text_weight(self, default: float) -> float:
        """The share of words in 0..1: the settings' weights divided by their sum, else `default`."""
        vector, text = self._options.hybrid.vector_weight, self._options.hybrid.text_weight
        if vector is None and text is None:
            return default
        vector = 1.0 - (text or 0.0) if vector is None else vector
        text = 1.0 - vector if text is None else text
        return text / (vector + text) if vector + text > 0 else default

    def _rank(
        self, request: SearchRequest, query: Query, vector: Vector | None, cancel: threading.Event | None
    ) -> _Ranking | None:
        connection = self._database.connection
        facts = self._facts.current()
        counts = facts.chunks
        chunks = sum(counts.values())
        allowed = allowed_chunks(connection, query.filters, request.sources)
        if not chunks or (allowed is not None and not allowed):
            return None
        if self._tokenizer is None:
            self._tokenizer = Tokenizer(connection)
        vocabulary = Vocabulary(connection, self._tokenizer, facts.words)
        terms = vocabulary.terms(query.text, chunks=chunks)
        self._folded.keep_at_most(chunks)
        rows = Rows(connection, self._folded)
        literals = Literals(connection, vocabulary, rows, allowed)
        required, warning = query.phrases, None
        if query.phrases:
            holding = literals.with_phrases(query.phrases)
            if holding is not None and not holding:
                if query.only_phrases:
                    return None
                required, warning = (), "no text holds the quoted phrase; these hits hold other words of the query"
            elif holding is not None:
                allowed = holding
        _look_at(cancel)
        ranking = _Ranking([], rows, query, terms, self._mode(request, vector), {}, warning)
        meaning = None
        if vector is not None and ranking.mode != "keyword" and self._embedder is not None:
            meaning = Meaning(vector, self._embedder.identity, self._matrix)
        retrieval = Retrieval(
            self._database, literals, rows, query, terms, allowed=allowed, required=required, counts=counts
        )
        try:
            self._gather(ranking, retrieval, meaning, request, allowed, cancel)
        except BadVector as error:
            ranking.mode = "keyword"
            ranking.warning = f"keyword hits only: {error}"
            self._gather(ranking, retrieval, None, request, allowed, cancel)
        return ranking

    def _gather(
        self,
        ranking: _Ranking,
        retrieval: Retrieval,
        meaning: Meaning | None,
        request: SearchRequest,
        allowed: Sequence[int] | None,
        cancel: threading.Event | None,
    ) -> None:
        """Fill `ranking` by the rule in force, then let age, least score and diversity have their say."""
        with_words = ranking.mode != "semantic"
        is_classic = self._options.rule == "classic"
        if is_classic:
            limit = classic.pool_size(self._page_size(request), self._options.candidate_multiplier)
            candidates, semantic = classic.gather(
                self._database,
                ranking.terms,
                meaning,
                limit=limit,
                allowed=allowed,
                vector_weight=1.0 - self._text_weight(classic.TEXT_WEIGHT),
                with_words=with_words,
            )
            ranking.rows.fetch(candidate.chunk_id for candidate in candidates)
            candidates = [candidate for candidate in candidates if candidate.chunk_id in ranking.rows]
        else:
            found = retrieval.gather(meaning, with_words=with_words)
            ranking.milliseconds.update(found.milliseconds)
            candidates, semantic = found.candidates, found.semantic
        if semantic is None:
            ranking.mode = "keyword"
        _look_at(cancel)
        started = perf_counter()
        ranking.rows.fetch_files(ranking.rows[candidate.chunk_id].file_id for candidate in candidates)
        if not is_classic:
            candidates = self._fuse(candidates, semantic, ranking)
        self._age(candidates, ranking.rows)
        least = request.min_score if request.min_score is not None else self._options.min_score
        if least is None:
            least = classic.MIN_SCORE if is_classic else 0.0
        candidates = [candidate for candidate in candidates if candidate.score >= least or candidate.has_words]
        ranking.candidates = self._spread(sorted(candidates, key=_order(ranking.rows)), ranking.rows, request)
        ranking.milliseconds["rank"] = (perf_counter() - started) * 1000

    def _fuse(
        self, candidates: Sequence[Candidate], semantic: SemanticHits | None, ranking: _Ranking
    ) -> list[Candidate]:
        """The candidates that qualify, by a word or by their cosine, with fused evidence and scores."""
        floor = self._profile.floor if self._profile is not None else DEFAULT_FLOOR
        weight = self._text_weight(self._profile.text_weight if self._profile else fusion.DEFAULT_TEXT_WEIGHT)
        if ranking.mode == "semantic":
            weight = 0.0
        elif semantic is None:
            weight = 1.0
        if ranking.terms.chunks < TINY_INDEX:
            fusion.fuse_tiny(candidates)
        else:
            fusion.fuse(
                candidates,
                chunks=ranking.terms.chunks,
                text_weight=weight,
                mean=semantic.mean if semantic is not None else 0.0,
                deviation=semantic.deviation if semantic is not None else 0.0,
            )
            fusion.lift_complete(candidates)
        qualified = [
            candidate
            for candidate in candidates
            if candidate.has_words or (candidate.cosine is not None and candidate.cosine >= floor)
        ]
        if qualified:
            first = max(qualified, key=lambda candidate: candidate.fused)
            if semantic is not None and ranking.terms.chunks >= TINY_INDEX:
                floor = max(floor, semantic.mean + fusion.OUTSTANDING * semantic.deviation)
            fusion.score(qualified, self._strength(first, ranking, floor))
        return qualified

    def _strength(self, first: Candidate, ranking: _Ranking, floor: float) -> float:
        row = ranking.rows[first.chunk_id]
        if ranking.mode == "semantic" or not first.has_words:
            return fusion.strength(0.0, first.cosine, floor)
        held = find_match(
            f"{row.text}\n{' '.join(row.heading)} {ranking.rows.file(row.id).path}", ranking.query, ranking.terms
        )
        worth = ranking.terms.worth
        whole = sum(worth.values())
        coverage = sum(worth[word] for word in held.matched) / whole if whole else 0.0
        if ranking.terms.is_unspaced:
            coverage = min(1.0, fusion.PAIRS_COVER * coverage)
        if first.literal or (first.identifiers and not whole):
            coverage = 1.0
        return fusion.strength(coverage, first.cosine, floor)

    def _age(self, candidates: Sequence[Candidate], rows: Rows) -> None:
        decay = self._options.temporal_decay
        if not decay.enabled:
            return
        today = self._today()
        for candidate in candidates:
            row = rows[candidate.chunk_id]
            candidate.decay = decay_factor(
                rows.file(row.id), row.observed_ms, today=today, half_life_days=decay.half_life_days
            )
            candidate.score *= candidate.decay

    def _spread(self, ranked: list[Candidate], rows: Rows, request: SearchRequest) -> list[Candidate]:
        """The list with its head made diverse, where that is asked for; scores never rise along it."""
        mmr = self._options.mmr
        if not mmr.enabled:
            return ranked
        count = self._page_size(request)
        pool = max(LEAST_DIVERSE_POOL, classic.pool_size(count, self._options.candidate_multiplier))
        head = ranked[:pool]
        order = diversify(
            [candidate.score for candidate in head],
            [rows[candidate.chunk_id].text for candidate in head],
            lambda_=mmr.lambda_,
            count=count,
        )
        spread = [*(head[position] for position in order), *ranked[pool:]]
        highest = 1.0
        for candidate in spread:
            candidate.diversity = max(0.0, candidate.score - highest)
            highest = candidate.score = min(highest, candidate.score)
        return spread


def _order(rows: Rows) -> Callable[[Candidate], tuple[float, float, str, int]]:
    """Best score first; equals by fused evidence, then by path and place, so that the order is always the same."""

    def key(candidate: Candidate) -> tuple[float, float, str, int]:
        row = rows[candidate.chunk_id]
        return (-candidate.score, -candidate.fused, rows.file(row.id).path, row.ordinal)

    return key


def _look_at(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise SearchCancelled("the search was cancelled")


def _weakness(ranking: _Ranking, *, hits_found: bool) -> str | None:
    if hits_found and ranking.candidates[0].score < fusion.WEAK_SCORE:
        return "only weak matches: little of the query stands in them"
    return None
