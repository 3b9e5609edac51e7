"""memdeck's core: what remembers and finds. These names are its public face; everything else is its own affair."""

from __future__ import annotations

from core.errors import (
    BackendError,
    EmbeddingError,
    MemdeckError,
    NotAllowed,
    SearchCancelled,
    SettingsError,
    StoreError,
    SyncCancelled,
    Undecodable,
    WorkspaceError,
)
from core.memory import Memory, close_all, open_memory
from core.text.lines import LineSource
from core.text.visible import visible
from core.types import (
    Citation,
    Finding,
    GetResult,
    Hit,
    IndexedDocument,
    Progress,
    ScoreParts,
    SearchMode,
    SearchRequest,
    SearchResult,
    Source,
    Status,
    SyncReason,
    SyncReport,
)

__all__ = [
    "BackendError",
    "Citation",
    "EmbeddingError",
    "Finding",
    "GetResult",
    "Hit",
    "IndexedDocument",
    "LineSource",
    "MemdeckError",
    "Memory",
    "NotAllowed",
    "Progress",
    "ScoreParts",
    "SearchCancelled",
    "SearchMode",
    "SearchRequest",
    "SearchResult",
    "SettingsError",
    "Source",
    "Status",
    "StoreError",
    "SyncCancelled",
    "SyncReason",
    "SyncReport",
    "Undecodable",
    "WorkspaceError",
    "close_all",
    "open_memory",
    "visible",
]
