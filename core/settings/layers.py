"""The layers of settings, read from files, variables and flags, and merged: later wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from core.errors import SettingsError
from core.records import record
from core.settings import openclaw
from core.settings.entries import Raw, read_entries, settle, settle_one
from core.settings.files import SettingsFile, Unreadable, parse_toml, read_bytes
from core.settings.group import Group
from core.settings.keys import (
    ENVIRONMENT_PREFIX,
    NO_SETTINGS,
    find_key,
    find_variable,
    fold,
    leaves,
    nearest,
    nearest_key,
    variable_of,
)
from core.settings.loaded import LoadedSettings, Origin
from core.settings.model import Settings
from core.settings.paths import check_agent, config_file, openclaw_file, workspace_file
from core.settings.policy import (
    Entry,
    Layer,
    Report,
    fit_overlap,
    join_sessions,
    keep_text_here,
    refuse_gguf,
    refuse_openclaws_files,
    top,
    weigh_something,
)
from core.settings.presets import PRESETS
from core.settings.trust import is_free, is_trusted, was_trusted
from core.settings.values import from_text, leaf_kind, printable, wrong


def load_settings(
    *,
    workspace: Path | None,
    agent: str,
    environ: Mapping[str, str],
    home: Path,
    flags: Mapping[str, object] | None = None,
    config_dir: Path | None = None,
    strict: bool = True,
) -> LoadedSettings:
    """Read and merge all layers: openclaw.json, preset, config.toml, .memdeck.toml, MEMDECK_* variables, flags.

    `flags` are by dotted name; None is no flag. `workspace` None leaves its file out. Raises SettingsError with one
    line for each wrong value of memdeck's own settings, all at once; with `strict=False` they are in `problems` instead
    and what lies below them counts. Wrong values in openclaw.json are warnings.
    """
    check_agent(agent)
    report = Report()
    config = config_file(environ, home, config_dir)
    files: list[Path] = []
    foreign = _read_openclaw(openclaw_file(environ, home), agent, environ, report, files)
    own = _read_config(config, agent, environ, report, files)
    local = _read_workspace(workspace, agent, environ, home, report, files)
    variables = _read_environment(environ, report)
    options = _read_flags(flags or {}, report)
    named = top([own, local, variables, options], "preset")
    preset = _preset(named[1]) if named is not None and named[1].value is not None else Layer("preset:")
    layers = [foreign, preset, own, local, variables, options]

    refuse_gguf(layers, report)
    refuse_openclaws_files(layers, report, workspace or home, home)
    keep_text_here(layers, report, config)
    weigh_something(layers, report)
    values, origins = _merge(layers, report)
    if report.problems and strict:
        raise SettingsError(list(report.problems))
    return LoadedSettings(
        settings=_build(values),
        origins=origins,
        problems=tuple(report.problems),
        warnings=tuple(report.warnings),
        files=tuple(files),
        held=report.held,
    )


def settings_of(values: Mapping[str, object]) -> Settings:
    """Settings of nested tables in any spelling, checked, without any file, variable or rule between layers.

    A `chunking` without an overlap gets one that fits. Raises SettingsError.
    """
    report, layer = Report(), Layer("values")
    settle(layer, read_entries(SettingsFile(Path("values"), values), "main", layer, report), None, report)
    held = {key: entry.value for key, entry in layer.entries.items()}
    _fit_overlaps([layer], report, held)
    if report.problems:
        raise SettingsError(list(report.problems))
    return _build(held)


def _read_openclaw(path: Path, agent: str, environ: Mapping[str, str], report: Report, files: list[Path]) -> Layer:
    layer = Layer("openclaw.json", foreign=True)
    file = _parse(path, openclaw.parse, report.warn, files)
    if file is None:
        return layer
    raws = []
    for raw in read_entries(file, agent, layer, report):
        if raw.leaf.key in openclaw.NEVER:
            report.warn(f"{raw.written}: does not count in openclaw.json ({raw.where})")
        elif raw.leaf.key not in openclaw.SILENT:
            adapted = openclaw.adapt(raw.leaf.key, raw.value, environ)
            raws.append(Raw(raw.leaf, adapted, raw.path, raw.where, raw.override))
    settle(layer, raws, environ, report)
    openclaw.move_ollama(layer.entries)
    return layer


def _read_config(path: Path, agent: str, environ: Mapping[str, str], report: Report, files: list[Path]) -> Layer:
    layer = Layer("config.toml")
    file = _parse(path, parse_toml, report.problem, files)
    if file is not None:
        settle(layer, read_entries(file, agent, layer, report), environ, report)
    return layer


def _read_workspace(
    workspace: Path | None, agent: str, environ: Mapping[str, str], home: Path, report: Report, files: list[Path]
) -> Layer:
    layer = Layer("workspace")
    if workspace is None:
        return layer
    path = workspace_file(workspace)
    trusted = False

    def parse(path: Path, data: bytes) -> SettingsFile:
        nonlocal trusted
        trusted = is_trusted(path, data, environ=environ, home=home)
        return parse_toml(path, data)

    file = _parse(path, parse, report.problem, files, follow=False)
    if file is None:
        return layer
    raws = read_entries(file, agent, layer, report)
    if trusted:
        settle(layer, raws, environ, report)
        return layer
    held = list(dict.fromkeys(raw.written for raw in raws if not is_free(raw.leaf.key)))
    if held:
        if was_trusted(path, environ=environ, home=home):
            report.held = tuple(raw.leaf.key for raw in raws if not is_free(raw.leaf.key))
        report.warn(
            f"{path} is not trusted: {printable(', '.join(held))} held back; "
            "read it, then run `memdeck trust` to let its present content count"
        )
    settle(layer, [raw for raw in raws if is_free(raw.leaf.key)], None, report)
    return layer


def _parse(
    path: Path,
    parse: Callable[[Path, bytes], SettingsFile],
    tell: Callable[[str], None],
    files: list[Path],
    *,
    follow: bool = True,
) -> SettingsFile | None:
    try:
        data = read_bytes(path, follow=follow)
        if data is None:
            return None
        files.append(path)
        return parse(path, data)
    except Unreadable as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        tell(printable(f"{place} {error.reason}; none of its settings count", 400))
        return None


def _read_environment(environ: Mapping[str, str], report: Report) -> Layer:
    layer = Layer("environment")
    for name in sorted(environ):
        text = environ[name]
        if not name.startswith(ENVIRONMENT_PREFIX) or not text or name.removeprefix(ENVIRONMENT_PREFIX) in NO_SETTINGS:
            continue
        leaf = find_variable(name)
        if leaf is None:
            hint = nearest(name, [variable_of(known) for known in leaves().values()])
            report.warn(f"{printable(name)}: no such setting (environment){f'; did you mean {hint}?' if hint else ''}")
            continue
        value = from_text(text, leaf_kind(leaf))
        settle_one(layer, leaf, value, name, "environment", report, origin=name)
    return layer


def _read_flags(flags: Mapping[str, object], report: Report) -> Layer:
    layer = Layer("flag")
    for key, value in flags.items():
        if value is None:
            continue
        leaf = find_key(key)
        if leaf is None:
            report.problem(
                wrong(key, value, "no such setting", "command line", hint=nearest_key((fold(key),)), name=key)
            )
            continue
        given = from_text(value, leaf_kind(leaf)) if isinstance(value, str) else value
        settle_one(layer, leaf, given, key, "command line", report, origin="command line")
    return layer


def _preset(named: Entry) -> Layer:
    name = str(named.value)
    known = leaves()
    entries = {key: Entry(known[key], value, key, named.where) for key, value in PRESETS[name].items()}
    return Layer(f"preset:{name}", entries)


def _merge(layers: list[Layer], report: Report) -> tuple[dict[str, object], dict[str, Origin]]:
    """The winning values by dotted name, and the origin of every setting."""
    sessions = join_sessions(layers)
    origins = {key: Origin("default") for key in leaves()}
    values: dict[str, object] = {}
    keymap: dict[str, object] = {}
    for layer in layers:
        for key, entry in layer.entries.items():
            values[key] = entry.value
            origins[key] = Origin(layer.name, entry.where)
            if key == "keymap" and isinstance(entry.value, dict):
                keymap.update(entry.value)
                values[key] = dict(keymap)
    if sessions is not None:
        values["sources"], decided = sessions
        if decided is not None:
            origins["sources"] = origins[decided.leaf.key]
    for group in _fit_overlaps(layers, report, values):
        origins[f"{group}.overlap"] = origins[f"{group}.tokens"]
    return values, origins


def _fit_overlaps(layers: list[Layer], report: Report, values: dict[str, object]) -> list[str]:
    """Put in the overlaps that follow from the tokens; the groups where one is not the default."""
    fitted = []
    for group in ("chunking", "sessions.chunking"):
        overlap = fit_overlap(layers, report, group)
        if overlap is not None:
            values[f"{group}.overlap"] = overlap
            if overlap != leaves()[f"{group}.overlap"].default:
                fitted.append(group)
    return fitted


def _build(values: Mapping[str, object]) -> Settings:
    """The settings of values that are checked already."""
    tree: dict[str, object] = {}
    for key, value in values.items():
        *above, last = leaves()[key].names
        node = tree
        for name in above:
            inner = node.setdefault(name, {})
            node = inner if isinstance(inner, dict) else {}
        node[last] = _Value(value)
    built = _construct(Settings(), tree)
    return built if isinstance(built, Settings) else Settings()


@record(frozen=True, slots=True)
class _Value:
    """Tells a value that is a table from a group of values."""

    value: object


def _construct(group: Group, tree: Mapping[str, object]) -> Group:
    values: dict[str, object] = {}
    for name, node in tree.items():
        inner = getattr(group, name)
        if isinstance(node, _Value):
            values[name] = node.value
        elif isinstance(node, dict) and isinstance(inner, Group):
            values[name] = _construct(inner, node)
    return replace(group, **values)
