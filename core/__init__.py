"""memdeck's core: what remembers and finds. These names are its public face; everything else is its own affair."""

from __future__ import annotations

from core.agent_tools import get_json, search_json
from core.capture import Excerpt, Written
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
from core.logbook import start_log
from core.memory import Memory, close_all, open_memory
from core.settings import (
    LoadedSettings,
    distrust_workspace_file,
    field_docs,
    load_settings,
    resolve_workspace,
    trust_workspace_file,
    user_data_dir,
    workspace_file,
)
from core.status import to_json as status_json
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
    "Excerpt",
    "Finding",
    "GetResult",
    "Hit",
    "IndexedDocument",
    "LineSource",
    "LoadedSettings",
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
    "Written",
    "close_all",
    "distrust_workspace_file",
    "field_docs",
    "get_json",
    "load_settings",
    "open_memory",
    "resolve_workspace",
    "search_json",
    "start_log",
    "status_json",
    "trust_workspace_file",
    "user_data_dir",
    "visible",
    "workspace_file",
]
