"""Every setting: its name, kind and default, with its documentation under it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal

from core.settings.group import Group, Item
from core.settings.kinds import (
    CLOUD,
    After,
    BaseUrl,
    Bytes,
    Count,
    FallbackProvider,
    Filled,
    Flag,
    Headers,
    Ids,
    Milliseconds,
    Patterns,
    Positive,
    Provider,
    Range,
    Seconds,
    SecretText,
    Share,
    Text,
    Texts,
    is_loopback,
    once,
)
from core.settings.qmd_model import Qmd
from core.settings.secret import Secret
from core.types import CitationMode, Source


class Multimodal(Group):
    enabled: Flag = False
    """Index images and audio that lie inside `extra_paths`; needs Gemini's multimodal model."""
    modalities: Annotated[tuple[Literal["image", "audio"], ...], After(once)] = ("image", "audio")
    """Which kinds of files."""
    max_file_bytes: Bytes = 10_485_760
    """Larger files are skipped. Bytes, or text like "10MiB"."""


class Batch(Group):
    enabled: Flag = False
    """Use the provider's asynchronous batch API (openai, gemini) where many texts wait."""
    wait: Flag = True
    """Wait for a batch to end before the sync counts as done."""
    concurrency: Annotated[int, Range(1, 64)] = 2
    """Batches under way at once."""
    poll_interval_ms: Annotated[int, Range(100, 3_600_000)] = 2000
    """Milliseconds between two looks at a batch."""
    timeout_minutes: Annotated[int, Range(1, 1440)] = 60
    """Minutes after which a batch is given up."""


class Endpoint(Group):
    api_key: SecretText | None = None
    """The provider's own key; without it `remote.api_key`, then the provider's usual variable."""
    base_url: BaseUrl | None = None
    """The provider's own address; without it `remote.base_url`, then its public one."""
    model: Text | None = None
    """The provider's own model; without it `model`, then the provider's default."""


class Remote(Group):
    allow: Flag = False
    """Let `provider = "auto"` choose a remote provider whose key is set, and openclaw.json name one."""
    base_url: BaseUrl | None = None
    """Address of the chosen provider's API."""
    api_key: SecretText | None = None
    """Key of the chosen provider."""
    headers: Headers = field(default_factory=dict)
    """Further HTTP headers for the chosen provider, name = value."""
    timeout_seconds: Seconds = 60.0
    """Seconds that one request for a query may take."""
    batch_timeout_seconds: Seconds = 120.0
    """Seconds that one request for documents may take."""
    batch: Batch = Batch()
    open_ai: Endpoint = Endpoint()
    gemini: Endpoint = Endpoint()
    voyage: Endpoint = Endpoint()
    mistral: Endpoint = Endpoint()

    def header_values(self) -> dict[str, str]:
        """The headers as they are sent, secrets open."""
        return {name: value.get_secret_value() for name, value in self.headers.items()}


class Ollama(Group):
    base_url: BaseUrl = "http://127.0.0.1:11434"
    """Where Ollama listens."""
    model: Text | None = None
    """Ollama's own model; without it `model`, then nomic-embed-text."""


class Local(Group):
    model_path: Text | None = None
    """Folder of an ONNX model with its tokenizer, used in place of `model`. A GGUF file cannot be used."""
    model_cache_dir: Text | None = None
    """Where downloaded models lie; without it the user's cache folder."""
    threads: Annotated[int, Range(1, 256)] | None = None
    """Threads of the local model; without it one for each core."""
    context_size: Positive | None = None
    """OpenClaw's context of a GGUF model; has no effect on the ONNX models used here."""
    ollama: Ollama = Ollama()


class VectorStore(Group):
    enabled: Flag = True
    """Use the vec0 table; false searches by an exact scan."""
    extension_path: Text | None = None
    """A sqlite-vec library to load in place of the installed one."""


class FullText(Group):
    tokenizer: Literal["unicode61", "trigram"] = "unicode61"
    """OpenClaw's switch; has no effect here, where words, CJK characters and parts of words are all found."""


class Store(Group):
    driver: Literal["sqlite"] = "sqlite"
    """The only driver there is."""
    path: Text | None = None
    """The index file; `{agentId}` is replaced. Without it a file per agent and workspace in the user's data folder."""
    vector: VectorStore = VectorStore()
    fts: FullText = FullText()


class Chunking(Group):
    tokens: Annotated[int, Range(1, 8192)] = 400
    """Tokens that a chunk of memory holds at most, overlap included."""
    overlap: Annotated[int, Range(0, 8191)] = 80
    """Tokens that a chunk repeats of the one before it."""


class SessionChunking(Group):
    tokens: Annotated[int, Range(1, 8192)] = 200
    """Tokens that a chunk of a transcript holds at most, overlap included."""
    overlap: Annotated[int, Range(0, 8191)] = 40
    """Tokens that a chunk repeats of the one before it."""


class Sessions(Group):
    agents: Texts = ()
    """Whose transcripts are read (openclaw, claude-code, codex, pi…); empty reads none."""
    paths: Texts = ()
    """Further folders or files with transcripts."""
    include_tools: Flag = False
    """Index tool calls and their results."""
    include_thinking: Flag = False
    """Index thinking."""
    keep_deleted: Flag = False
    """Keep the text of transcripts that are gone searchable and readable, marked "source gone"; `forget` removes it."""
    redact_patterns: Patterns = ()
    """Regular expressions for further secrets; the last group that matched, or the whole match, is masked."""
    chunking: SessionChunking = SessionChunking()


class SessionSync(Group):
    delta_bytes: Count = 100_000
    """Bytes that a transcript grows by before it is synced; 0 takes any growth."""
    delta_messages: Count = 50
    """Messages that a transcript grows by before it is synced; 0 takes any growth."""
    post_compaction_force: Flag = True
    """Sync a transcript after its compaction, whatever its growth."""
    post_index_sync: Literal["off", "async", "await"] = "async"
    """Whether the caller waits for the sync that follows a compaction."""


class Sync(Group):
    on_session_start: Flag = True
    """Sync at the first use of a session key."""
    on_search: Flag = True
    """Sync at a search when files have changed; the search does not wait."""
    watch: Flag = True
    """Follow file events."""
    watch_debounce_ms: Milliseconds = 1500
    """Milliseconds of quiet before changed files are read."""
    interval_minutes: Annotated[int, Range(0, 525_600)] = 0
    """Minutes between syncs by the clock; 0 is off."""
    sessions: SessionSync = SessionSync()


class Indexing(Group):
    concurrency: Annotated[int, Range(1, 64)] | None = None
    """Embedding requests at once; without it 4 for remote providers, 2 for local, 1 for ollama."""


class Hybrid(Group):
    enabled: Flag = True
    """Search words and meaning together; false uses meaning alone where there are vectors."""
    vector_weight: Share | None = None
    """Share of meaning in the score; without it the model's own. Both weights are divided by their sum."""
    text_weight: Share | None = None
    """Share of words in the score; without it the model's own."""


class Mmr(Group):
    enabled: Flag = False
    """Prefer hits that differ from each other (maximal marginal relevance)."""
    lambda_: Share = 0.7
    """1 is relevance alone, 0 is difference alone."""


class TemporalDecay(Group):
    enabled: Flag = False
    """Let dated text lose score with age."""
    half_life_days: Annotated[float, Range(1, 36_500)] = 30
    """Days after which the score is halved."""


class Query(Group):
    max_results: Annotated[int, Range(1, 200)] = 6
    """Hits that a search returns at most."""
    min_score: Share | None = None
    """Score below which a hit without a word of the query is left out; without it 0, or 0.35 with rule "classic"."""
    candidate_multiplier: Annotated[int, Range(1, 20)] = 4
    """Candidates looked at for each hit returned, 200 at most."""
    rule: Literal["standard", "classic"] = "standard"
    """How words and meaning are fused: "standard" measured best, "classic" is OpenClaw's own."""
    deadline_ms: Annotated[int, Range(0, 600_000)] = 3000
    """Milliseconds that command line and tools wait for the query's vector before they answer by words."""
    matrix_mb: Annotated[int, Range(0, 65_536)] = 512
    """Megabytes that a long-lived process may hold as vectors in memory; beyond it vec0 answers."""
    hybrid: Hybrid = Hybrid()
    mmr: Mmr = Mmr()
    temporal_decay: TemporalDecay = TemporalDecay()


class Cache(Group):
    enabled: Flag = True
    """Keep vectors of text that is no longer in the index."""
    max_entries: Count = 50_000
    """How many of those are kept."""


class Experimental(Group):
    session_memory: Flag | None = None
    """OpenClaw's old switch: true adds "sessions" to `sources`, false takes it away."""


class Flush(Group):
    enabled: Flag = True
    """Whether `memdeck flush --due` ever says that a flush is due."""
    context_window: Positive = 200_000
    """Tokens of the agent's context window, where the caller does not say."""
    reserve_tokens_floor: Count = 20_000
    """Tokens kept free below the context window."""
    soft_threshold_tokens: Count = 4000
    """Tokens before that reserve at which a flush is due."""
    force_flush_transcript_bytes: Bytes = 2_097_152
    """Size of a transcript at which a flush is due. Bytes, or text like "2MiB"."""
    prompt: Text | None = None
    """What the agent is asked at a flush, in place of the built-in text."""
    system_prompt: Text | None = None
    """System text of that turn, in place of the built-in text."""
    model: Text | None = None
    """Model that the agent should use for that turn."""


class Excerpt(Group):
    messages: Annotated[int, Range(1, 10_000)] = 15
    """Last user and assistant messages that a saved excerpt of a session holds."""


class Appearance(Group):
    theme: Text | None = None
    """Name of the theme; without it TEXTUAL_THEME, then memdeck's own."""
    animations: Flag = False
    """Animate scrolling and changes; costs much over slow links."""
    mouse: Flag = True
    """React to the mouse."""


class Settings(Group):
    """All settings, merged and checked; immutable."""

    enabled: Flag = True
    """False gives agents no tools."""
    preset: Literal["classic", "frugal", "private", "production"] | None = None
    """A named set of values below config.toml."""
    workspace: Text | None = None
    """The workspace to open when none is given; a relative path begins in the home folder."""
    sources: Annotated[tuple[Source, ...], Filled(), After(once)] = ("memory",)
    """What is indexed: "memory", "sessions"."""
    extra_paths: Texts = ()
    """Further files or folders with Markdown; `~` and paths relative to the workspace are allowed."""
    multimodal: Multimodal = Multimodal()
    provider: Provider = "auto"
    """Who makes the vectors; "auto" is local unless `remote.allow` is true."""
    model: Text | None = None
    """The embedding model; without it the provider's default."""
    output_dimensionality: Annotated[int, Range(1, 65_536)] | None = None
    """Length of the vectors, for models that can choose."""
    input_type: Text | None = None
    """`input_type` sent with every request, for openai-compatible providers that want one."""
    query_input_type: Text | None = None
    """`input_type` sent with queries."""
    document_input_type: Text | None = None
    """`input_type` sent with documents."""
    fallback: FallbackProvider = "none"
    """Provider used after the chosen one failed for good; it means another index identity."""
    remote: Remote = Remote()
    local: Local = Local()
    store: Store = Store()
    chunking: Chunking = Chunking()
    sessions: Sessions = Sessions()
    sync: Sync = Sync()
    indexing: Indexing = Indexing()
    query: Query = Query()
    cache: Cache = Cache()
    citations: CitationMode = "auto"
    """Whether hits carry a citation; "auto" leaves it out in group and channel sessions."""
    backend: Literal["builtin", "qmd"] = "builtin"
    """Who answers searches."""
    qmd: Qmd = Qmd()
    flush: Flush = Flush()
    excerpt: Excerpt = Excerpt()
    experimental: Experimental = Experimental()
    appearance: Appearance = Appearance()
    keymap: Ids = field(default_factory=dict)
    """Keys of the app: binding id = keys, as `memdeck keys` lists them."""

    @property
    def remote_chosen(self) -> bool:
        """Whether these settings let text leave this machine at all.

        Loaded settings hold a remote `provider`, `fallback` or address only if memdeck's own settings chose it, so that
        False forbids every request with text to another machine.
        """
        named = {self.provider, self.fallback}
        if self.remote.allow or named & CLOUD:
            return True
        base_url = self.remote.base_url or ""
        here = is_loopback(base_url)
        if "ollama" in named and not (is_loopback(self.local.ollama.base_url) and (here or not base_url)):
            return True
        return "openai-compatible" in named and not here

    def fingerprint(self) -> str:
        """The same text for equal settings, and for these only; sha256 hex, which tells nothing of the secrets."""

        def plain(value: object) -> object:
            if isinstance(value, Secret):
                return value.get_secret_value()
            if isinstance(value, Item):
                return {name: plain(inner) for name, inner in vars(value).items()}
            if isinstance(value, Mapping):
                return {str(key): plain(inner) for key, inner in value.items()}
            return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value

        text = json.dumps(plain(self), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
