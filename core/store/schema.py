"""The tables of the index file, and the one place that names them."""

from __future__ import annotations

SCHEMA_VERSION = 3
UPGRADES = {2: "ALTER TABLE chunks ADD COLUMN observed_from_ms INTEGER"}
"""What makes the next layout of an older one, in place."""
APPLICATION_ID = 0x6D656D64
"""`PRAGMA application_id` of an index file: "memd"."""

KEYWORD_TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Tokens of chunks_fts. Marks stay inside words, so that Hindi and the like keep whole words."""

TABLES = f"""
CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    absolute TEXT NOT NULL,
    hash TEXT NOT NULL,
    build TEXT NOT NULL,             -- hash of chunking, analysis and redaction: what the rows were made with
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    device INTEGER NOT NULL,
    scanned_ns INTEGER NOT NULL,     -- when the stat key was read
    indexed_ms INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    chunks INTEGER NOT NULL,         -- how many rows of chunks it has
    date_ms INTEGER,                 -- when a session began; the day of a note is in its name
    warning TEXT,                    -- e.g. bytes that were not UTF-8
    dialect TEXT,
    title TEXT,
    details TEXT,                    -- JSON of what only a dialect knows (cwd, started, messages…)
    UNIQUE (source, path)
) STRICT;

CREATE TABLE IF NOT EXISTS file_errors (
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT,                       -- why it is skipped (undecodable…); NULL: it failed and is tried again
    error TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (source, path)
) WITHOUT ROWID, STRICT;

CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL REFERENCES files (id),
    ordinal INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    heading TEXT NOT NULL,           -- JSON array
    text TEXT NOT NULL,
    embed_hash BLOB NOT NULL,        -- sha256 of exactly what the embedder gets
    line_map TEXT,                   -- JSON array, NULL: start_line + i
    observed_ms INTEGER,             -- when it was said last; NULL: only the document knows
    observed_from_ms INTEGER         -- and first; NULL: at the same time
) STRICT;
CREATE INDEX IF NOT EXISTS chunks_by_file ON chunks (file_id, ordinal);
CREATE INDEX IF NOT EXISTS chunks_by_embed_hash ON chunks (embed_hash);

-- Words: head is the heading path and the words of the document's path. rowid = chunks.id.
CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts USING fts5(
    head, body, content='', contentless_delete=1, tokenize="{KEYWORD_TOKENIZER}"
);
CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts_vocab USING fts5vocab(chunks_fts, 'row');

-- Every word of the chunks' texts once, folded: a part of a word is looked for here, and then the words that have it.
CREATE TABLE IF NOT EXISTS words (
    id INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE,
    doubtful INTEGER NOT NULL DEFAULT 0   -- 1: a chunk that had it is gone, perhaps the last one
) STRICT;
CREATE INDEX IF NOT EXISTS words_doubtful ON words (id) WHERE doubtful;
-- rowid = words.id
CREATE VIRTUAL TABLE IF NOT EXISTS words_trigram USING fts5(
    word, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1'
);

CREATE TABLE IF NOT EXISTS embedding_identities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,               -- EmbeddingIdentity.key
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    recipe TEXT NOT NULL,
    dims INTEGER,                    -- NULL until the first vector
    -- active: complete, or the first; building: in force, vectors still being made; retired: only cache rows are left
    state TEXT NOT NULL CHECK (state IN ('active', 'building', 'retired'))
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS embedding_identities_by_key ON embedding_identities (key, ifnull(dims, 0));
-- The vectors of identity N stand in the vec0 table chunks_vec_N (rowid = chunks.id), made with its first vector.

CREATE TABLE IF NOT EXISTS embedding_cache (
    id INTEGER PRIMARY KEY,
    identity_id INTEGER NOT NULL,
    hash BLOB NOT NULL,
    dims INTEGER NOT NULL,
    vector BLOB NOT NULL,            -- float32, little-endian, L2 norm 1
    updated_ms INTEGER NOT NULL,
    UNIQUE (identity_id, hash)
) STRICT;

-- Chunks that wait for a vector of the identity in force; newest documents first.
CREATE TABLE IF NOT EXISTS embedding_queue (
    chunk_id INTEGER PRIMARY KEY,
    newest_ns INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    retry_ms INTEGER NOT NULL DEFAULT 0,
    error TEXT                       -- set: refused by the provider or a bad vector
) STRICT;
CREATE INDEX IF NOT EXISTS embedding_queue_order ON embedding_queue (newest_ns DESC, chunk_id);

-- What the vector matrices of other connections must follow; reset: load all anew.
CREATE TABLE IF NOT EXISTS changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id INTEGER NOT NULL,
    op TEXT NOT NULL CHECK (op IN ('vector', 'delete', 'reset'))
) STRICT;

-- n, Σv and Σvvᵀ of the vectors of one identity, beyond 10,000 of an even sample: mean and deviation of a query's
-- cosines without a scan.
CREATE TABLE IF NOT EXISTS vector_stats (
    identity_id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,            -- changes.seq up to which they count
    count INTEGER NOT NULL,
    total BLOB NOT NULL,             -- float64[dims]
    outer BLOB                       -- float64[dims * dims]; NULL above 1024 dims
) STRICT;

CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,              -- sync, forget
    payload TEXT NOT NULL,           -- JSON
    asked_by INTEGER NOT NULL,       -- pid
    asked_ms INTEGER NOT NULL,
    done_ms INTEGER,
    outcome TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS tombstones (
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (source, path)
) WITHOUT ROWID, STRICT;
"""

KEYWORD_SETTINGS = """
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('automerge', 64);
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('crisismerge', 256);
INSERT INTO words_trigram (words_trigram, rank) VALUES ('automerge', 64);
INSERT INTO words_trigram (words_trigram, rank) VALUES ('crisismerge', 256);
"""
"""Settings that FTS5 keeps in the file: it merges little while writing, and never all within one commit.

Quiet moments join the segments. Of thirty that are not joined, a search of a word costs a tenth of a millisecond more.
"""


def vector_table(identity_id: int) -> str:
    """Name of the vec0 table of one embedding identity."""
    return f"chunks_vec_{identity_id}"
