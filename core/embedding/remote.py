"""Embedding by requests: texts packed within limits, halved where they are too much, each with vector or error."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from core.embedding.asking import Asker
from core.embedding.base import EmbedderLimits, ModelProfile, Vector, normalised
from core.embedding.failures import BadReply, Rejected
from core.embedding.http import Request
from core.embedding.threads import raise_if_cancelled
from core.errors import BadVector, EmbeddingError, InputTooLarge
from core.records import record
from core.types import EmbeddingIdentity

QUERY_PATIENCE_SECONDS = 5.0
DOCUMENT_PATIENCE_SECONDS = 60.0
REPLY_BYTES = 1 << 20
REPLY_BYTES_FOR_EACH = 1 << 18
"""Room for one vector in a reply: 4,096 numbers of 64 characters."""
SMALLEST_PIECE_BYTES = 512
"""A text that is too large even below this is not cut further."""
KEPT = 1024
"""Vectors kept of calls that failed in the middle."""
PROBE = "ping"


class Wire(Protocol):
    """A provider's own language."""

    def documents(self, texts: Sequence[str]) -> Request: ...

    def query(self, text: str) -> Request: ...

    def rows(self, reply: object, count: int) -> list[object]:
        """The `count` rows of a reply's JSON in the order of the request. Raises BadReply."""
        ...


@record(frozen=True, slots=True)
class Seconds:
    """How long one request may take."""

    query: float
    documents: float


class RemoteEmbedder:
    """An embedder over HTTP; every provider is one of these with its own wire.

    A text beyond `limits.item_bytes`, or too long for the provider, is embedded in pieces: its vector is their mean,
    weighted by length.
    """

    def __init__(
        self,
        identity: EmbeddingIdentity,
        wire: Wire,
        asker: Asker,
        *,
        limits: EmbedderLimits,
        profile: ModelProfile,
        seconds: Seconds,
    ) -> None:
        self.identity = identity
        self.limits = limits
        self.profile = profile
        self.wire = wire
        self.asker = asker
        self.seconds = seconds
        self._lock = threading.Lock()
        self._dims = identity.dims
        self._room = _Room(limits.batch_items)
        self._kept: OrderedDict[str, Vector] = OrderedDict()

    def embed_documents(
        self, texts: Sequence[str], cancel: threading.Event | None = None
    ) -> list[Vector | EmbeddingError]:
        raise_if_cancelled(cancel)
        cleaned = [sound(text) for text in texts]
        made: dict[str, Vector | EmbeddingError] = dict(self._take_kept(cleaned))
        made.update((text, EmbeddingError("a blank text has no vector")) for text in cleaned if not text.strip())
        call = _Call(cancel)
        try:
            for group in self._groups(text for text in dict.fromkeys(cleaned) if text not in made):
                made.update(zip(group, self._embed(group, call), strict=True))
        except EmbeddingError:
            self._keep({**call.made, **made})
            raise
        return [made[text] for text in cleaned]

    def embed_query(self, text: str, cancel: threading.Event | None = None) -> Vector:
        raise_if_cancelled(cancel)
        query = sound(text)
        if not query.strip():
            raise BadVector("a blank query has no vector")
        query = next(iter(_pieces(query, self.limits.item_bytes)))
        try:
            rows = self.asker.ask(
                self.wire.query(query),
                lambda reply: self.wire.rows(reply, 1),
                timeout=self.seconds.query,
                most_bytes=REPLY_BYTES + REPLY_BYTES_FOR_EACH,
                patience=QUERY_PATIENCE_SECONDS,
                cancel=cancel,
            )
        except Rejected as error:
            raise (InputTooLarge(str(error)) if error.about_size else error) from None
        return normalised(rows[0], self._dims)

    def close(self) -> None:
        self.asker.close()

    # -- one request and its halves

    def _groups(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Texts packed within the limits, in order; one that is too long stands alone."""
        group: list[str] = []
        size = 0
        for text in texts:
            cost = len(text.encode())
            full = self.limits.batch_bytes is not None and size + cost > self.limits.batch_bytes
            alone = self._is_long(text)
            if group and (full or alone or len(group) >= self._room.items):
                yield group
                group, size = [], 0
            group.append(text)
            size += cost
            if alone:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _is_long(self, text: str) -> bool:
        return self.limits.item_bytes is not None and len(text.encode()) > self.limits.item_bytes

    def _embed(self, texts: Sequence[str], call: _Call) -> list[Vector | EmbeddingError]:
        if len(texts) == 1 and self._is_long(texts[0]):
            return [self._in_pieces(list(_pieces(texts[0], self.limits.item_bytes)), call)]
        try:
            vectors = self._ask(texts, call)
        except (Rejected, BadReply) as error:
            return [self._alone(texts[0], error, call)] if len(texts) == 1 else self._halved(texts, call)
        call.answered = True
        call.made.update(zip(texts, vectors, strict=True))
        self._room.held(len(texts))
        return vectors

    def _halved(self, texts: Sequence[str], call: _Call) -> list[Vector | EmbeddingError]:
        call.halved = True
        middle = (len(texts) + 1) // 2
        outcomes = self._embed(texts[:middle], call) + self._embed(texts[middle:], call)
        if not any(isinstance(outcome, EmbeddingError) for outcome in outcomes):
            self._room.shrink(middle)  # each was good: it was only too many of them
        return outcomes

    def _alone(self, text: str, error: Rejected | BadReply, call: _Call) -> Vector | EmbeddingError:
        """What becomes of one text that the provider does not take: pieces, or the error that is its own."""
        size = len(text.encode())
        too_large = isinstance(error, Rejected) and error.about_size
        if too_large and size > SMALLEST_PIECE_BYTES:
            return self._in_pieces(list(_pieces(text, max(SMALLEST_PIECE_BYTES, (size + 1) // 2))), call)
        if not call.answered:
            self._raise_if_none_is_taken(error, call)
        return InputTooLarge(str(error)) if too_large else EmbeddingError(str(error))

    def _raise_if_none_is_taken(self, error: Rejected | BadReply, call: _Call) -> None:
        """Not the text may be wrong but what is asked: a short word that any model takes tells."""
        try:
            self._ask([PROBE], call)
        except (Rejected, BadReply):
            message = f"{self.asker.to.name} takes no text at all: {error}"
            raise EmbeddingError(message, remedy=self.asker.to.model_remedy) from None
        call.answered = True

    def _in_pieces(self, pieces: list[str], call: _Call) -> Vector | EmbeddingError:
        total: Vector | None = None
        for group in self._groups(piece for piece in pieces if piece.strip()):
            for piece, outcome in zip(group, self._embed(group, call), strict=True):
                if isinstance(outcome, EmbeddingError):
                    return outcome
                weighted = outcome * len(piece)
                total = weighted if total is None else total + weighted
        try:
            return normalised(total, self._dims)
        except BadVector as error:
            return error

    def _ask(self, texts: Sequence[str], call: _Call) -> list[Vector | EmbeddingError]:
        """One request. Raises Rejected, BadReply, and EmbeddingError for what concerns the whole."""
        count = len(texts)

        def read(reply: object) -> list[object]:
            try:
                return self.wire.rows(reply, count)
            except BadReply as error:
                if call.halved or call.misread:
                    raise
                call.misread = True  # once it may be an accident
                raise EmbeddingError(str(error), retryable=True) from None

        rows = self.asker.ask(
            self.wire.documents(texts),
            read,
            timeout=self.seconds.documents,
            most_bytes=REPLY_BYTES + count * REPLY_BYTES_FOR_EACH,
            patience=DOCUMENT_PATIENCE_SECONDS,
            cancel=call.cancel,
        )
        return self.vectors(rows)

    def vectors(self, rows: Sequence[object]) -> list[Vector | EmbeddingError]:
        """A vector, or why it is none, for each row of one reply.

        While the model's length is not known, it is the most common one. Raises EmbeddingError when all of several are
        bad: then the model is, not a text.
        """
        with self._lock:
            dims = self._dims
        if dims is None:
            lengths = Counter(len(row) for row in rows if isinstance(row, list) and row)
            dims = lengths.most_common(1)[0][0] if lengths else None
        outcomes: list[Vector | EmbeddingError] = []
        for row in rows:
            try:
                outcomes.append(normalised(row, dims))
            except BadVector as error:
                outcomes.append(error)
        good = next((outcome for outcome in outcomes if not isinstance(outcome, EmbeddingError)), None)
        if good is None and len(outcomes) > 1:
            raise self._no_vectors(rows, dims, outcomes)
        if good is not None:
            with self._lock:
                self._dims = self._dims or len(good)
        return outcomes

    def _no_vectors(
        self, rows: Sequence[object], dims: int | None, outcomes: Sequence[Vector | EmbeddingError]
    ) -> EmbeddingError:
        lengths = {len(row) for row in rows if isinstance(row, list)}
        name = f"{self.asker.to.name}/{self.identity.model}"
        if len(lengths) == 1 and dims is not None and lengths != {dims}:
            message = f"{name} gives vectors of {lengths.pop()} numbers where {dims} were expected"
            wanted = self.identity.dims is not None
            return EmbeddingError(message, remedy="unset output_dimensionality" if wanted else "run index --force")
        return EmbeddingError(f"{name} gives no usable vectors: {outcomes[0]}", remedy=self.asker.to.model_remedy)

    # -- what a failed call had already made

    def _keep(self, made: Mapping[str, Vector | EmbeddingError]) -> None:
        with self._lock:
            for text, outcome in made.items():
                if not isinstance(outcome, EmbeddingError):
                    self._kept[text] = outcome
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def _take_kept(self, texts: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            return {text: self._kept.pop(text) for text in dict.fromkeys(texts) if text in self._kept}


@record(slots=True)
class _Call:
    """One call of `embed_documents`: what it has made, whether anything was answered yet, and what was tried."""

    cancel: threading.Event | None
    made: dict[str, Vector | EmbeddingError] = field(default_factory=dict)
    answered: bool = False
    halved: bool = False
    misread: bool = False


class _Room:
    """How many texts a request may hold: less after a refusal, twice as many after 32 full requests that went well."""

    GROWS_AFTER = 32

    def __init__(self, most: int) -> None:
        self._most = most
        self._good = 0
        self._lock = threading.Lock()
        self.items = most

    def shrink(self, items: int) -> None:
        with self._lock:
            self.items = min(self.items, max(1, items))
            self._good = 0

    def held(self, items: int) -> None:
        with self._lock:
            if items < self.items or self.items == self._most:
                return
            self._good += 1
            if self._good >= self.GROWS_AFTER:
                self.items, self._good = min(self._most, self.items * 2), 0


def _pieces(text: str, most_bytes: int | None) -> Iterator[str]:
    """The text in pieces of at most so many bytes, cut between words where there are any; together the whole text."""
    if most_bytes is None:
        yield text
        return
    data = text.encode()
    start = 0
    while len(data) - start > most_bytes:
        end = start + most_bytes
        blank = max(data.rfind(b" ", start + most_bytes // 2, end), data.rfind(b"\n", start + most_bytes // 2, end))
        if blank > start:
            end = blank + 1
        else:
            while end > start + 1 and data[end] & 0xC0 == 0x80:  # inside a character
                end -= 1
        yield data[start:end].decode()
        start = end
    yield data[start:].decode()


def sound(text: str) -> str:
    """Without lone surrogates and NULs, which no JSON reader likes."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
