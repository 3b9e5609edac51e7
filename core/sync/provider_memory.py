"""What is remembered of the providers beside the index: whether the fallback is in force, and what went wrong last."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from core.embedding.fallback import Failover, is_final
from core.embedding.select import Selection
from core.errors import EmbeddingError
from core.records import record
from core.store.database import Database
from core.store.embedding_cache import EmbeddingCache
from core.store.identity import Identities
from core.store.meta_texts import MetaTexts
from core.types import EmbeddingIdentity

_TROUBLE = "trouble"


@record(frozen=True, slots=True)
class Trouble:
    """Why the provider's last answer was none; `needs_user` when waiting alone does not help, `remedy` what does."""

    error: str
    remedy: str = ""
    needs_user: bool = False

    @classmethod
    def of(cls, error: EmbeddingError) -> Trouble:
        return cls(str(error), error.remedy, is_final(error))


def provider_texts(database: Database) -> MetaTexts:
    """Where it is remembered. Only the writer may put and delete."""
    return MetaTexts(database, "provider:")


def failover_of(database: Database | None, selection: Selection, *, clock: Callable[[], float] = time.time) -> Failover:
    """Which embedder is in force, as the index of `database` tells; without an index, as the selection alone does.

    Raises StoreError.
    """
    if database is None:
        return Failover(selection, clock=clock)
    identities = Identities(database)
    made = identities.active() or identities.in_force()
    active = made.identity if made is not None and EmbeddingCache(database).has_any(made.id) else None
    return Failover(selection, store=provider_texts(database), active=active, clock=clock)


def has_vectors(database: Database, identity: EmbeddingIdentity) -> bool:
    """Whether there are vectors of this identity to search. Raises StoreError."""
    row = Identities(database).find(identity)
    return row is not None and row.state != "retired" and EmbeddingCache(database).has_any(row.id)


def remember_trouble(texts: MetaTexts, identity: EmbeddingIdentity, trouble: Trouble) -> None:
    """Keep what went wrong, for processes that only look. Raises StoreError."""
    value = {
        "identity": identity.key,
        "error": trouble.error,
        "remedy": trouble.remedy,
        "needs_user": trouble.needs_user,
    }
    texts.put(_TROUBLE, json.dumps(value))


def forget_trouble(texts: MetaTexts) -> None:
    """The provider answered. Raises StoreError."""
    texts.delete(_TROUBLE)


def recall_trouble(texts: MetaTexts, identity: EmbeddingIdentity) -> Trouble | None:
    """What went wrong when the embedder with this identity was asked last. Raises StoreError."""
    try:
        value = json.loads(texts.get(_TROUBLE) or "null")
        if value["identity"] == identity.key:
            return Trouble(str(value["error"]), str(value["remedy"]), bool(value["needs_user"]))
    except (TypeError, ValueError, KeyError):
        pass
    return None
