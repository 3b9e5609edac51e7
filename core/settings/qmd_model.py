"""The settings of the QMD backend."""

from __future__ import annotations

from typing import Annotated, Literal

from core.settings.group import Group, Item
from core.settings.kinds import Duration, Flag, Milliseconds, Positive, Range, Seconds, Text, seconds


class QmdPath(Item):
    """A folder that becomes a collection of its own."""

    path: Text
    name: Text | None = None
    pattern: Text | None = None


class ScopeMatch(Item):
    """What a session must be for a rule to hold; what is not said matches all."""

    channel: Text | None = None
    chat_type: Literal["direct", "group", "channel", "thread"] | None = None
    key_prefix: Text | None = None


class ScopeRule(Item):
    """One rule of `qmd.scope.rules`; the first that matches decides."""

    action: Literal["allow", "deny"]
    match: ScopeMatch = ScopeMatch()


class QmdUpdate(Group):
    interval: Duration = "5m"
    """Time between two `qmd update`; "0" is never."""
    debounce_ms: Milliseconds = 15_000
    """Milliseconds that must lie between two updates."""
    on_boot: Flag = True
    """Update at the start."""
    wait_for_boot_sync: Flag = False
    """Let the start wait for that update."""
    embed_interval: Duration = "60m"
    """Time between two `qmd embed`; "0" is never."""
    command_timeout_ms: Milliseconds = 30_000
    """Milliseconds that a collection command may take."""
    update_timeout_ms: Milliseconds = 120_000
    """Milliseconds that `qmd update` may take."""
    embed_timeout_ms: Milliseconds = 120_000
    """Milliseconds that `qmd embed` may take."""

    @property
    def interval_seconds(self) -> float:
        return seconds(self.interval)

    @property
    def embed_interval_seconds(self) -> float:
        return seconds(self.embed_interval)


class QmdLimits(Group):
    max_results: Annotated[int, Range(1, 200)] = 6
    """Hits asked of qmd."""
    max_snippet_chars: Positive = 700
    """Characters of one snippet."""
    max_injected_chars: Positive = 4000
    """Characters of all snippets of an answer to an agent."""
    timeout_ms: Milliseconds = 4000
    """Milliseconds that a search may take before the built-in index answers."""


class QmdSessions(Group):
    enabled: Flag = False
    """Export transcripts, masked, as Markdown for qmd."""
    export_dir: Text | None = None
    """Where they are written; without it a folder beside the index. A relative path begins in the home folder."""
    retention_days: Positive | None = None
    """Days after which an export is removed; without it never."""


DIRECT_CHATS = (ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),)


class QmdScope(Group):
    default: Literal["allow", "deny"] = "deny"
    """What holds for sessions that no rule matches."""
    rules: tuple[ScopeRule, ...] = DIRECT_CHATS
    """Rules {action, match {channel, chat_type, key_prefix}}; the first that matches decides."""


class QmdMcporter(Group):
    enabled: Flag = False
    """OpenClaw's switch to ask qmd through the `mcporter` daemon; has no effect here, qmd is run directly."""
    server_name: Text = "qmd"
    """Name of the server in mcporter's configuration; has no effect here."""
    start_daemon: Flag = True
    """Start the daemon when it is not running; has no effect here."""


class Qmd(Group):
    command: Text = "qmd"
    """The program: a name on PATH, or a path."""
    search_mode: Literal["search", "vsearch", "query"] = "search"
    """Words, vectors, or both with expansion and reranking."""
    include_default_memory: Flag = True
    """Make collections of MEMORY.md and memory/."""
    paths: tuple[QmdPath, ...] = ()
    """Further collections {path, name, pattern}."""
    cooldown_seconds: Seconds = 60.0
    """Seconds after a failure before qmd is tried again."""
    update: QmdUpdate = QmdUpdate()
    limits: QmdLimits = QmdLimits()
    sessions: QmdSessions = QmdSessions()
    scope: QmdScope = QmdScope()
    mcporter: QmdMcporter = QmdMcporter()
