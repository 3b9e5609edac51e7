"""Whether the parts of the index agree, and their repair from what the chunks and the cache say."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from core.errors import KeywordsDamaged, StoreCorrupt, SyncCancelled
from core.store.chunk_rows import STORED_COLUMNS, stored_from
from core.store.database import Database, id_array
from core.store.embedding_queue import EmbeddingQueue
from core.store.identity import Identities, IdentityRow
from core.store.keyword_rows import KEYWORD_TABLE, KEYWORD_TABLES, KeywordRows, keyword_row
from core.store.schema import KEYWORD_SETTINGS, TABLES, vector_table
from core.store.vector_rows import JOINED_VECTORS, VectorRows
from core.store.word_rows import WORD_TABLE, WordRows
from core.text.words import counted
from core.types import Finding

REMEDY = "memdeck doctor --repair"
_BATCH = 500
_ORPHANS = "SELECT id FROM chunks WHERE file_id NOT IN (SELECT id FROM files)"
_MISCOUNTED = "SELECT id FROM files WHERE chunks <> (SELECT count(*) FROM chunks WHERE chunks.file_id = files.id)"
_BAD_VECTORS = "SELECT id FROM embedding_cache WHERE dims < 1 OR length(vector) <> dims * 4"
_DEAD_QUEUE = "SELECT chunk_id FROM embedding_queue WHERE chunk_id NOT IN (SELECT id FROM chunks)"
_UNQUEUED = (
    "SELECT id FROM chunks WHERE id NOT IN (SELECT chunk_id FROM embedding_queue) AND NOT EXISTS "
    "(SELECT 1 FROM embedding_cache WHERE identity_id = ? AND hash = chunks.embed_hash)"
)


def check(database: Database) -> tuple[Finding, ...]:
    """Look at every part; writes nothing. Reads the whole file. Raises StoreError."""
    with database.snapshot():
        return (_file(database), _documents(database), *_keywords(database), _queue(database), *_vectors(database))


def repair(database: Database, cancel: threading.Event | None = None) -> tuple[str, ...]:
    """Bring the parts in step again, each in one transaction; what was done, in words.

    Chunks and cache are believed; documents whose chunks are in doubt are read again by the next sync. Raises
    SyncCancelled, StoreError; StoreCorrupt means that only setting aside and rebuilding helps.
    """
    if not (finding := _file(database)).ok and not _only_keywords(database):
        raise StoreCorrupt(finding.detail)
    done = [*_repair_documents(database), *_repair_keywords(database, cancel), *_repair_vectors(database)]
    return (*done, *_repair_queue(database))


def rows_agree(database: Database) -> bool:
    """Whether there are as many rows as chunks, and as words: a look that costs nothing, for every opening."""
    pairs = (("chunks", KEYWORD_TABLE), ("words", WORD_TABLE))
    return all(
        database.count(f"SELECT count(*) FROM {rows}") == database.count(f"SELECT count(*) FROM {table}_docsize")
        for rows, table in pairs
    )


def try_keywords(database: Database) -> None:
    """Ask both keyword tables for a word, which costs nothing. Raises KeywordsDamaged where searches would."""
    for table in KEYWORD_TABLES:
        database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH 'and' LIMIT 1")


def rebuild_keywords(database: Database, cancel: threading.Event | None = None) -> int:
    """Make both keyword tables anew from the chunks, in one transaction; the number of chunks.

    Raises SyncCancelled, StoreError.
    """
    with database.transaction():
        for table in ("chunks_fts_vocab", *KEYWORD_TABLES, "words"):
            database.run(f"DROP TABLE IF EXISTS {table}")
        database.rows(TABLES)
        database.rows(KEYWORD_SETTINGS)
        return _fill_keywords(database, database.numbers("SELECT id FROM chunks ORDER BY id"), cancel)


def _file(database: Database) -> Finding:
    try:
        problems = [str(row[0]) for row in database.rows("PRAGMA quick_check(3)")]
    except (StoreCorrupt, KeywordsDamaged) as error:
        problems = [str(error)]
    ok = problems == ["ok"]
    return Finding("index file", ok, "every page holds" if ok else "; ".join(problems), "" if ok else REMEDY)


def _only_keywords(database: Database) -> bool:
    """Whether every page that is no keyword table's holds."""
    plain = database.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'chunks_fts*' "
        "AND name NOT GLOB 'words_trigram*' AND name NOT GLOB 'chunks_vec*' AND name NOT GLOB 'sqlite_*'"
    )
    try:
        return all(database.value(f"PRAGMA quick_check({name!s})") == "ok" for (name,) in plain)
    except (StoreCorrupt, KeywordsDamaged):
        return False


def _documents(database: Database) -> Finding:
    orphans, miscounted = len(database.numbers(_ORPHANS)), len(database.numbers(_MISCOUNTED))
    ok = not orphans and not miscounted
    odd = counted(miscounted, "document")
    detail = f"{counted(orphans, 'chunk')} without a document, {odd} whose chunks do not add up"
    return Finding("documents", ok, "chunks and documents agree" if ok else detail, "" if ok else REMEDY)


def _keyword_difference(database: Database) -> tuple[list[int], list[int]]:
    """Chunks without a row in the keyword table, and rows without a chunk."""
    missing = database.numbers(f"SELECT id FROM chunks WHERE id NOT IN (SELECT id FROM {KEYWORD_TABLE}_docsize)")
    surplus = database.numbers(f"SELECT id FROM {KEYWORD_TABLE}_docsize WHERE id NOT IN (SELECT id FROM chunks)")
    return missing, surplus


def _missing_words(database: Database) -> set[str]:
    """The words of the chunks that are not in the table of words. Reads every text."""
    words = WordRows(database)
    ids = database.numbers("SELECT id FROM chunks ORDER BY id")
    missing: set[str] = set()
    for start in range(0, len(ids), _BATCH):
        rows = database.rows(
            "SELECT text FROM chunks WHERE id IN (SELECT value FROM carray(?))",
            (id_array(ids[start : start + _BATCH]),),
        )
        missing.update(words.missing(str(text) for (text,) in rows))
    return missing


def _keywords(database: Database) -> Iterable[Finding]:
    damage = _keyword_damage(database, KEYWORD_TABLE)
    missing, surplus = ([], []) if damage else _keyword_difference(database)
    odd = f"{counted(len(missing), 'chunk')} missing, {counted(len(surplus), 'row')} without a chunk"
    yield _keyword_finding("keyword index", damage, odd if missing or surplus else "")
    damage = _keyword_damage(database, WORD_TABLE)
    lacking, extra = ([], []) if damage else WordRows(database).difference()
    absent = set() if damage else _missing_words(database)
    odd = f"{counted(len(absent) + len(lacking), 'word')} missing, {counted(len(extra), 'row')} without a word"
    yield _keyword_finding("literal index", damage, odd if absent or lacking or extra else "")


def _keyword_finding(name: str, damage: str | None, odd: str) -> Finding:
    words = damage or odd
    return Finding(name, not words, words or "in step with the chunks", REMEDY if words else "")


def _keyword_damage(database: Database, table: str) -> str | None:
    try:
        found = database.value(f"PRAGMA quick_check({table})")
    except (KeywordsDamaged, StoreCorrupt) as error:
        return str(error)
    return None if found == "ok" else str(found)


def _queue(database: Database) -> Finding:
    dead, unqueued = len(database.numbers(_DEAD_QUEUE)), 0
    in_force = Identities(database).in_force()
    if in_force is not None:
        unqueued = len(database.numbers(_UNQUEUED, (in_force.id,)))
    ok = not dead and not unqueued
    detail = f"{counted(unqueued, 'chunk')} without a vector that wait for none, {counted(dead, 'row')} without a chunk"
    words = (
        f"{counted(EmbeddingQueue(database).waiting(), 'chunk waits', 'chunks wait')} for a vector" if ok else detail
    )
    return Finding("embedding queue", ok, words, "" if ok else REMEDY)


def _vectors(database: Database) -> Iterable[Finding]:
    bad = len(database.numbers(_BAD_VECTORS))
    yield Finding(
        "embedding cache",
        not bad,
        f"{counted(bad, 'vector')} of a wrong length" if bad else "sound",
        REMEDY if bad else "",
    )
    if database.vector_error is not None:
        yield Finding(
            "vector table", False, f"vec0 is missing: {database.vector_error}", "an exact scan answers instead"
        )
        return
    for row in Identities(database).live():
        missing, surplus = _vector_difference(database, row)
        ok = not missing and not surplus and not VectorRows(database).is_stale
        detail = f"{counted(missing, 'vector')} missing, {surplus:,} without a chunk or without a vector in the cache"
        words = f"in step with the cache ({row.identity})" if ok else detail
        yield Finding("vector table", ok, words, "" if ok else REMEDY)


def _vector_difference(database: Database, row: IdentityRow) -> tuple[int, int]:
    wanted = set(database.numbers(f"{JOINED_VECTORS} AND embedding_cache.dims = ?", (row.id, row.identity.dims)))
    found: set[int] = set()
    if row.id in VectorRows(database).tables():
        found = set(database.numbers(f"SELECT rowid FROM {vector_table(row.id)}_rowids"))
    return len(wanted - found), len(found - wanted)


def _repair_documents(database: Database) -> Iterable[str]:
    with database.transaction():
        orphans, miscounted = database.numbers(_ORPHANS), database.numbers(_MISCOUNTED)
        if orphans:
            WordRows(database).doubt(orphans)
            VectorRows(database).delete(orphans)
            EmbeddingQueue(database).drop(orphans)
            database.run_many("DELETE FROM chunks WHERE id = ?", [(chunk_id,) for chunk_id in orphans])
        # A build that nothing is made with has the next sync read the file again.
        database.run_many(
            "UPDATE files SET build = '', chunks = (SELECT count(*) FROM chunks WHERE file_id = files.id) WHERE id = ?",
            [(file_id,) for file_id in miscounted],
        )
    if orphans:
        yield f"{counted(len(orphans), 'chunk')} without a document taken out"
    if miscounted:
        yield f"{counted(len(miscounted), 'document')} will be read again"


def _repair_keywords(database: Database, cancel: threading.Event | None) -> Iterable[str]:
    if any(_keyword_damage(database, table) for table in KEYWORD_TABLES):
        yield f"the keyword tables were made anew from {counted(rebuild_keywords(database, cancel), 'chunk')}"
        return
    with database.transaction():
        missing, surplus = _keyword_difference(database)
        KeywordRows(database).delete_now(surplus)
        _fill_keywords(database, missing, cancel)
        words = WordRows(database).mend(_missing_words(database))
    if missing or surplus:
        yield f"{counted(len(missing), 'chunk')} put into the keyword table, {counted(len(surplus), 'row')} taken out"
    if words:
        yield f"{counted(words, 'word')} put in step with the chunks"


def _fill_keywords(database: Database, ids: list[int], cancel: threading.Event | None) -> int:
    keywords = KeywordRows(database)
    for start in range(0, len(ids), _BATCH):
        if cancel is not None and cancel.is_set():
            raise SyncCancelled("the repair was cancelled; nothing has changed")
        rows = database.rows(
            f"SELECT {STORED_COLUMNS} FROM carray(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value "
            "JOIN files ON files.id = chunks.file_id",
            (id_array(ids[start : start + _BATCH]),),
        )
        chunks = [stored_from(row) for row in rows]
        keywords.insert_now(
            [keyword_row(stored.id, stored.chunk.heading, stored.path, stored.chunk.text) for stored in chunks]
        )
    return len(ids)


def _repair_vectors(database: Database) -> Iterable[str]:
    with database.transaction():
        bad = database.numbers(_BAD_VECTORS)
        database.run_many("DELETE FROM embedding_cache WHERE id = ?", [(cache_id,) for cache_id in bad])
    if bad:
        yield f"{counted(len(bad), 'broken vector')} taken out of the cache"
    rows = VectorRows(database)
    if database.vector_error is not None:
        return
    for row in Identities(database).live():
        if row.identity.dims is None or (_vector_difference(database, row) == (0, 0) and not rows.is_stale):
            continue
        with database.transaction():
            count = rows.refill(row.id, row.identity.dims)
        yield f"the vector table was filled anew with {counted(count, 'vector')}"
    with database.transaction():
        rows.set_stale(False)


def _repair_queue(database: Database) -> Iterable[str]:
    in_force = Identities(database).in_force()
    with database.transaction():
        dead = database.numbers(_DEAD_QUEUE)
        EmbeddingQueue(database).drop(dead)
        unqueued = database.numbers(_UNQUEUED, (in_force.id,)) if in_force is not None else []
        EmbeddingQueue(database).put(unqueued)
    if dead or unqueued:
        odd = counted(len(dead), "row")
        yield f"{counted(len(unqueued), 'chunk')} queued for a vector, {odd} without a chunk taken out"
