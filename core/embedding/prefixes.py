"""What a model wants before queries and documents, by its name; from the model cards."""

from __future__ import annotations

from typing import NamedTuple


class Prefixes(NamedTuple):
    """Text that goes before a query and before a document; empty for most models."""

    query: str = ""
    document: str = ""

    def __str__(self) -> str:
        return f"prefixes {self.query!r} {self.document!r}" if self.query or self.document else ""


NONE = Prefixes()

_SEARCHING = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

FAMILIES: tuple[tuple[str, Prefixes], ...] = (
    ("nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    ("mxbai-embed", Prefixes(_SEARCHING)),
    ("qwen3-embedding", Prefixes(_INSTRUCT)),
    ("embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
    ("snowflake-arctic-embed2", Prefixes("query: ")),
    ("arctic-embed-l-v2", Prefixes("query: ")),
    ("arctic-embed-m-v2", Prefixes("query: ")),
    ("snowflake-arctic-embed", Prefixes(_SEARCHING)),
    ("bge-small-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    ("bge-base-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    ("bge-large-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    ("bge-m3", NONE),
    ("bge-small", Prefixes(_SEARCHING)),
    ("bge-base", Prefixes(_SEARCHING)),
    ("bge-large", Prefixes(_SEARCHING)),
    ("e5-mistral", Prefixes(_INSTRUCT.replace("\nQuery:", "\nQuery: "))),
    ("multilingual-e5-large-instruct", Prefixes(_INSTRUCT.replace("\nQuery:", "\nQuery: "))),
    ("multilingual-e5", Prefixes("query: ", "passage: ")),
    ("e5-small", Prefixes("query: ", "passage: ")),
    ("e5-base", Prefixes("query: ", "passage: ")),
    ("e5-large", Prefixes("query: ", "passage: ")),
)
"""Parts of lower-case names, the first that is found decides."""


def prefixes_of(model: str) -> Prefixes:
    """The prefixes of a model under any of the names that servers give it: with a publisher, a size, a tag."""
    name = model.lower().replace("_", "-")
    return next((prefixes for part, prefixes in FAMILIES if part in name), NONE)
