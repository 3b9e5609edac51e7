"""memdeck's core: what remembers and finds. These names are its public face; everything else is its own affair.

Each is loaded when it is first asked for, so that a command pays only for what it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.agent_tools import get_json as get_json
    from core.agent_tools import search_json as search_json
    from core.capture import Excerpt as Excerpt
    from core.capture import Written as Written
    from core.errors import BackendError as BackendError
    from core.errors import EmbeddingError as EmbeddingError
    from core.errors import MemdeckError as MemdeckError
    from core.errors import NotAllowed as NotAllowed
    from core.errors import NotIndexed as NotIndexed
    from core.errors import SearchCancelled as SearchCancelled
    from core.errors import SettingsError as SettingsError
    from core.errors import StoreError as StoreError
    from core.errors import SyncCancelled as SyncCancelled
    from core.errors import Undecodable as Undecodable
    from core.errors import WorkspaceError as WorkspaceError
    from core.logbook import start_log as start_log
    from core.mcp_server import serve_mcp as serve_mcp
    from core.memory import Memory as Memory
    from core.offers import Offer as Offer
    from core.offers import Promises as Promises
    from core.offers import SourceOffers as SourceOffers
    from core.opening import close_all as close_all
    from core.opening import open_memory as open_memory
    from core.records import record as record
    from core.regexes import late_regex as late_regex
    from core.rereading import Reindexed as Reindexed
    from core.rereading import reindex as reindex
    from core.search.query import parse_query as parse_query
    from core.settings.keys import key_of as key_of
    from core.settings.layers import load_settings as load_settings
    from core.settings.loaded import LoadedSettings as LoadedSettings
    from core.settings.loaded import field_docs as field_docs
    from core.settings.paths import resolve_workspace as resolve_workspace
    from core.settings.paths import user_data_dir as user_data_dir
    from core.settings.paths import user_state_dir as user_state_dir
    from core.settings.paths import workspace_file as workspace_file
    from core.settings.trust import distrust_workspace_file as distrust_workspace_file
    from core.settings.trust import trust_workspace_file as trust_workspace_file
    from core.sources.transcripts.places import agent_problems as agent_problems
    from core.sources.transcripts.view import SessionView as SessionView
    from core.spare_memory import give_back_free_pages as give_back_free_pages
    from core.spare_memory import share_heap as share_heap
    from core.status import status_json as status_json
    from core.sync.session_list import SessionInfo as SessionInfo
    from core.text.headings import Outline as Outline
    from core.text.headings import read_outline as read_outline
    from core.text.lines import LineSource as LineSource
    from core.text.lines import Piece as Piece
    from core.text.visible import visible as visible
    from core.text.words import counted as counted
    from core.text.words import skip_words as skip_words
    from core.tool_guide import guide as guide
    from core.tool_guide import guide_json as guide_json
    from core.types import Citation as Citation
    from core.types import FileFailure as FileFailure
    from core.types import Finding as Finding
    from core.types import GetResult as GetResult
    from core.types import Hit as Hit
    from core.types import IndexedDocument as IndexedDocument
    from core.types import Progress as Progress
    from core.types import ScoreParts as ScoreParts
    from core.types import SearchMode as SearchMode
    from core.types import SearchRequest as SearchRequest
    from core.types import SearchResult as SearchResult
    from core.types import SkippedPath as SkippedPath
    from core.types import Source as Source
    from core.types import SourceCount as SourceCount
    from core.types import Status as Status
    from core.types import SyncReason as SyncReason
    from core.types import SyncReport as SyncReport

_PLACES = {
    "BackendError": "core.errors",
    "Citation": "core.types",
    "EmbeddingError": "core.errors",
    "Excerpt": "core.capture",
    "FileFailure": "core.types",
    "Finding": "core.types",
    "GetResult": "core.types",
    "Hit": "core.types",
    "IndexedDocument": "core.types",
    "LineSource": "core.text.lines",
    "LoadedSettings": "core.settings.loaded",
    "MemdeckError": "core.errors",
    "Memory": "core.memory",
    "NotAllowed": "core.errors",
    "NotIndexed": "core.errors",
    "Offer": "core.offers",
    "Outline": "core.text.headings",
    "Piece": "core.text.lines",
    "Progress": "core.types",
    "Promises": "core.offers",
    "Reindexed": "core.rereading",
    "ScoreParts": "core.types",
    "SearchCancelled": "core.errors",
    "SearchMode": "core.types",
    "SearchRequest": "core.types",
    "SearchResult": "core.types",
    "SessionInfo": "core.sync.session_list",
    "SessionView": "core.sources.transcripts.view",
    "SettingsError": "core.errors",
    "SkippedPath": "core.types",
    "Source": "core.types",
    "SourceCount": "core.types",
    "SourceOffers": "core.offers",
    "Status": "core.types",
    "StoreError": "core.errors",
    "SyncCancelled": "core.errors",
    "SyncReason": "core.types",
    "SyncReport": "core.types",
    "Undecodable": "core.errors",
    "WorkspaceError": "core.errors",
    "Written": "core.capture",
    "agent_problems": "core.sources.transcripts.places",
    "close_all": "core.opening",
    "counted": "core.text.words",
    "distrust_workspace_file": "core.settings.trust",
    "field_docs": "core.settings.loaded",
    "get_json": "core.agent_tools",
    "give_back_free_pages": "core.spare_memory",
    "guide": "core.tool_guide",
    "guide_json": "core.tool_guide",
    "key_of": "core.settings.keys",
    "late_regex": "core.regexes",
    "load_settings": "core.settings.layers",
    "open_memory": "core.opening",
    "parse_query": "core.search.query",
    "read_outline": "core.text.headings",
    "record": "core.records",
    "reindex": "core.rereading",
    "resolve_workspace": "core.settings.paths",
    "search_json": "core.agent_tools",
    "serve_mcp": "core.mcp_server",
    "share_heap": "core.spare_memory",
    "skip_words": "core.text.words",
    "start_log": "core.logbook",
    "status_json": "core.status",
    "trust_workspace_file": "core.settings.trust",
    "user_data_dir": "core.settings.paths",
    "user_state_dir": "core.settings.paths",
    "visible": "core.text.visible",
    "workspace_file": "core.settings.paths",
}
"""The module that makes each name."""

__all__ = list(_PLACES)


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(place), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
