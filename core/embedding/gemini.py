"""Google's Gemini API: `embedContent` and `batchEmbedContents`, with task types or, for newer models, task prompts."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from core.embedding.base import EmbedderLimits
from core.embedding.failures import BadReply, details
from core.embedding.http import Request
from core.embedding.openai import body
from core.embedding.prefixes import Prefixes
from core.records import record

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
MODEL = "gemini-embedding-001"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
LIMITS = EmbedderLimits(batch_items=64, batch_bytes=60_000, item_bytes=6000, concurrency=4)
"""100 inputs a request; 2,048 tokens an input."""
LIMITS_2 = EmbedderLimits(batch_items=64, batch_bytes=60_000, item_bytes=24_000, concurrency=4)
"""The same with 8,192 tokens an input."""
QUERY_TASK, DOCUMENT_TASK = "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"
PROMPTS = Prefixes("task: search result | query: ", "title: none | text: ")
"""What gemini-embedding-2 wants in place of a task type."""


@record(frozen=True, slots=True)
class GeminiWire:
    """Model names are given without "models/"."""

    model: str
    dims: int | None = None

    @property
    def prompts(self) -> Prefixes:
        return PROMPTS if is_second_generation(self.model) else Prefixes()

    @property
    def place(self) -> str:
        """The path of the model; a method follows with a colon."""
        return f"/models/{quote(self.model, safe='')}"

    def documents(self, texts: Sequence[str]) -> Request:
        return Request(f"{self.place}:batchEmbedContents", body({"requests": [self.document(text) for text in texts]}))

    def document(self, text: str) -> dict[str, object]:
        """The EmbedContentRequest of one document."""
        return self.request([{"text": self.prompts.document + text}], DOCUMENT_TASK)

    def query(self, text: str) -> Request:
        value = self.request([{"text": self.prompts.query + text}], QUERY_TASK)
        return Request(f"{self.place}:embedContent", body(value))

    def request(self, parts: list[dict[str, object]], task: str) -> dict[str, object]:
        """An EmbedContentRequest of text and media."""
        value: dict[str, object] = {"model": f"models/{self.model}", "content": {"parts": parts}}
        if not is_second_generation(self.model):
            value["taskType"] = task
        if self.dims is not None:
            value["outputDimensionality"] = self.dims
        return value

    def rows(self, reply: object, count: int) -> list[object]:
        if not isinstance(reply, dict):
            raise BadReply("the reply holds no vectors")
        embeddings = reply.get("embeddings")
        if embeddings is None and "embedding" in reply:
            embeddings = [reply["embedding"]]
        if not isinstance(embeddings, list):
            raise BadReply("the reply holds no list of vectors")
        if len(embeddings) != count:
            raise BadReply(f"{len(embeddings)} vectors came back for {count} texts")
        return [item.get("values") if isinstance(item, dict) else None for item in embeddings]


def is_second_generation(model: str) -> bool:
    """Whether a model takes task prompts in place of task types, and images and sound."""
    return model.startswith("gemini-embedding-2")


def model_name(model: str) -> str:
    """A model's name without the collection that some write before it."""
    return model.removeprefix("models/").removeprefix("google/")


def is_daily_quota(text: str, value: object) -> bool:
    """Whether a 429 means the day's quota: Google says "quota" of every limit, and names it in the details."""
    for detail in details(value):
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else ():
            if isinstance(violation, dict) and "PerDay" in str(violation.get("quotaId")):
                return True
    return False
