"""Which values may count together: nothing in openclaw.json sends text out, and keys stay with their provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from core.records import record
from core.settings.keys import Leaf, leaves
from core.settings.kinds import CLOUD, is_loopback
from core.settings.openclaw import is_gguf
from core.settings.paths import is_openclaws
from core.settings.values import wrong

# What was written for one provider and means nothing, or harm, to another.
BOUND = (
    "model",
    "output_dimensionality",
    "input_type",
    "query_input_type",
    "document_input_type",
    "remote.base_url",
    "remote.api_key",
    "remote.headers",
)


@record(frozen=True, slots=True)
class Entry:
    """One value of a layer, checked: as the model holds it, the key as it was written, and where."""

    leaf: Leaf
    value: object
    written: str
    where: str


@record(slots=True)
class Layer:
    """The values of one layer by dotted name. `foreign` marks openclaw.json, which is not memdeck's own."""

    name: str
    entries: dict[str, Entry] = field(default_factory=dict)
    foreign: bool = False


@record(slots=True)
class Report:
    """What is wrong, and what does not count; one line each, no line twice.

    `held` names the settings of a workspace file that was trusted until it changed.
    """

    problems: dict[str, None] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    held: tuple[str, ...] = ()

    def problem(self, line: str) -> None:
        self.problems[line] = None

    def warn(self, line: str) -> None:
        self.warnings[line] = None

    def about(self, layer: Layer, line: str) -> None:
        """A wrong value: a problem in memdeck's own settings, a warning in openclaw.json."""
        if layer.foreign:
            self.warn(f"ignored: {line}")
        else:
            self.problem(line)


def top(layers: Sequence[Layer], key: str) -> tuple[int, Entry] | None:
    """The entry that wins, and the position of its layer."""
    for position in range(len(layers) - 1, -1, -1):
        if key in layers[position].entries:
            return position, layers[position].entries[key]
    return None


def value(layers: Sequence[Layer], key: str) -> object:
    """The value that wins, or the default."""
    found = top(layers, key)
    return found[1].value if found is not None else leaves()[key].default


def refuse_gguf(layers: Sequence[Layer], report: Report) -> None:
    """A GGUF model runs in OpenClaw alone."""
    local = value(layers, "provider") in ("auto", "local")
    for layer in layers:
        for key in ("local.model_path", "model") if local else ("local.model_path",):
            entry = layer.entries.get(key)
            if entry is None or not is_gguf(entry.value):
                continue
            if layer.foreign:
                line = wrong(entry.written, entry.value, "a GGUF model cannot be used here", entry.where)
                report.warn(f"{line}; the default local model is used")
            else:
                must = "must be an ONNX model, a GGUF file cannot be used"
                report.problem(wrong(entry.written, entry.value, must, entry.where))
            del layer.entries[key]


def refuse_openclaws_files(layers: Sequence[Layer], report: Report, workspace: Path, home: Path) -> None:
    """An index among OpenClaw's own files would overwrite one of them."""
    for layer in layers:
        entry = layer.entries.get("store.path")
        if entry is not None and isinstance(entry.value, str) and is_openclaws(entry.value, workspace, home):
            report.problem(wrong(entry.written, entry.value, "must not lie among OpenClaw's own files", entry.where))
            del layer.entries["store.path"]


def keep_text_here(layers: Sequence[Layer], report: Report, config: Path) -> None:
    """Take from openclaw.json whatever would send text to another machine, unless memdeck's settings chose that.

    `provider` and `fallback` count from there only if text stays on this machine with them or `remote.allow` is true;
    an address elsewhere only for a cloud provider that memdeck's settings chose.
    """
    foreign, own = layers[0], layers[1:]
    asked = foreign.entries.get("provider")
    if value(own, "remote.allow") is not True:
        for key in ("provider", "fallback"):
            entry = foreign.entries.get(key)
            if entry is None or not _leaves(str(entry.value), layers):
                continue
            del foreign.entries[key]
            if top(own, key) is None:
                must = "sends text to another machine, which openclaw.json alone may not"
                line = wrong(entry.written, entry.value, must, entry.where)
                report.warn(f'{line}; to use it, set {key} = "{entry.value}" or remote.allow = true in {config}')
        chosen = {str(value(layers, "provider")), str(value(layers, "fallback"))}
        for key in ("local.ollama.base_url", "remote.base_url"):
            entry = foreign.entries.get(key)
            users = {"ollama"} if key == "local.ollama.base_url" else {"ollama", "openai-compatible"}
            if entry is None or not chosen & users or is_loopback(str(entry.value)):
                continue
            del foreign.entries[key]
            if top(own, key) is None:
                must = "another machine, where openclaw.json alone may not send text"
                line = wrong(entry.written, entry.value, must, entry.where)
                report.warn(f"{line}; to use it, set {key} in {config}")
    _keep_with_provider(layers, report, str(asked.value) if asked else "auto")


def _leaves(provider: str, layers: Sequence[Layer]) -> bool:
    """Whether text leaves this machine with that provider."""
    base_url = value(layers, "remote.base_url")
    if provider == "openai-compatible":
        return not is_loopback(str(base_url or ""))
    if provider == "ollama":
        return not all(is_loopback(str(url)) for url in (base_url, value(layers, "local.ollama.base_url")) if url)
    return provider in CLOUD


def _keep_with_provider(layers: Sequence[Layer], report: Report, asked: str) -> None:
    """Drop keys, addresses and models of a layer whose provider a later layer replaced by another."""
    final = str(value(layers, "provider"))
    allowed = value(layers, "remote.allow") is True
    dropped: dict[tuple[int, str], list[Entry]] = {}
    for key in BOUND:
        while (found := top(layers, key)) is not None:
            position, entry = found
            layer = layers[position]
            meant = asked if layer.foreign else str(value(layers[: position + 1], "provider"))
            if layer.foreign and meant == "auto":
                fits = final in ("openai", "openai-compatible") or (final == "auto" and allowed)
            else:
                fits = meant in (final, "auto")
            if fits:
                break
            dropped.setdefault((position, meant), []).append(entry)
            del layer.entries[key]
    for (position, meant), entries in dropped.items():
        layer = layers[position]
        told = layer.foreign and final in ("auto", "local")
        if told or layer.name.startswith("preset:"):
            continue
        names = ", ".join(entry.written for entry in entries)
        report.warn(f"{names}: written for provider {meant}, not used with {final} ({entries[0].where})")


def join_sessions(layers: Sequence[Layer]) -> tuple[tuple[str, ...], Entry | None] | None:
    """`sources` as the switches for sessions leave them, and the entry that decided; None if nothing changes them.

    OpenClaw counts "sessions" only with experimental.sessionMemory. In memdeck's own settings that switch adds or takes
    away "sessions", and `sessions.agents` and `sessions.paths` add it, each unless `sources` is set in the same layer
    or later.
    """
    foreign = layers[0].entries
    listed = foreign.get("sources")
    if listed is not None and isinstance(listed.value, tuple) and "sessions" in listed.value:
        switch = foreign.get("experimental.session_memory")
        if switch is None or switch.value is not True:
            kept = tuple(source for source in listed.value if source != "sessions")
            foreign["sources"] = Entry(listed.leaf, kept or ("memory",), listed.written, listed.where)
    found = top(layers, "sources")
    position, current = (found[0], found[1].value) if found is not None else (-1, ("memory",))
    sources = tuple(str(source) for source in current) if isinstance(current, tuple) else ("memory",)
    decided: Entry | None = None
    switched = top(layers[1:], "experimental.session_memory")
    if switched is not None:
        if switched[1].value is False and switched[0] + 1 >= position and "sessions" in sources:
            sources, decided = tuple(s for s in sources if s != "sessions") or ("memory",), switched[1]
        elif switched[1].value is True and switched[0] + 1 > position and "sessions" not in sources:
            sources, decided = (*sources, "sessions"), switched[1]
    for named in (top(layers, "sessions.agents"), top(layers, "sessions.paths")):
        if named is not None and named[1].value and named[0] > position and "sessions" not in sources:
            sources, decided = (*sources, "sessions"), named[1]
    return (sources, decided) if decided is not None else None


def fit_overlap(layers: Sequence[Layer], report: Report, group: str) -> int | None:
    """The overlap of `chunking` or `sessions.chunking` where it follows from the tokens; None where it stands as set.

    Without one it is at most a fifth of the tokens; one of another layer that does not fit becomes that, with a
    warning; one that does not fit the tokens of its own layer is a problem.
    """
    tokens, overlap = top(layers, f"{group}.tokens"), top(layers, f"{group}.overlap")
    size = value(layers, f"{group}.tokens")
    size = size if isinstance(size, int) else 1
    if overlap is None:
        default = leaves()[f"{group}.overlap"].default
        return min(default if isinstance(default, int) else 0, size // 5)
    position, entry = overlap
    if isinstance(entry.value, int) and entry.value < size:
        return None
    line = wrong(entry.written, entry.value, f"must be less than {group}.tokens, which is {size}", entry.where)
    if tokens is None or tokens[0] == position:
        report.about(layers[position], line)
    else:
        report.warn(f"{line}; {size // 5} is used")
    return size // 5


def weigh_something(layers: Sequence[Layer], report: Report) -> None:
    """Two weights of 0 weigh nothing: both become the model's own."""
    keys = ("query.hybrid.vector_weight", "query.hybrid.text_weight")
    if all(value(layers, key) == 0 for key in keys):
        found = top(layers, keys[0])
        report.warn(f"{keys[0]} and {keys[1]} are both 0 ({found[1].where if found else ''}); the model's own are used")
        for layer in layers:
            for key in keys:
                layer.entries.pop(key, None)
