"""From what a file holds to checked values: every setting found under any of its names, everything else reported."""

from __future__ import annotations

from collections.abc import Mapping

from core.records import record
from core.settings import openclaw
from core.settings.files import KeyPath, SettingsFile
from core.settings.keys import Folded, Leaf, canonical, find, fold, nearest_key
from core.settings.policy import Entry, Layer, Report
from core.settings.values import check, expand, from_text, in_style, leaf_kind, printable, wrong

# Keys of an entry of agents.list that name the agent.
_NAMING = frozenset({("agents", "list", name) for name in ("id", "name", "default")})
# So many unknown keys of a file get a hint; the search for one takes a millisecond.
HINTS = 20


@record(frozen=True, slots=True)
class Raw:
    """A value as it was written; `override` marks one of an agent's own."""

    leaf: Leaf
    value: object
    path: KeyPath
    where: str
    override: bool = False

    @property
    def written(self) -> str:
        return dotted(self.path)


def steps(name: str) -> Folded:
    """A key folded; a quoted one may hold several steps ("query.max_results")."""
    return tuple(fold(step) for step in name.split("."))


def dotted(path: KeyPath) -> str:
    """`agents.list[0].memorySearch` of a path."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def read_entries(file: SettingsFile, agent: str, layer: Layer, report: Report) -> list[Raw]:
    """Every setting that a file gives for an agent, its own last; whatever is no setting is reported."""
    found: list[Raw] = []
    unknown: list[Folded] = []

    def visit(node: object, path: KeyPath, names: Folded, override: bool) -> None:
        where = file.where(path)
        what = find(names)
        if layer.foreign and path[-1] == "$include":
            report.warn(f"ignored: {dotted(path)}: other files are not followed ({where})")
        elif isinstance(what, Leaf):
            found.append(Raw(what, node, path, where, override))
        elif what == "group" and isinstance(node, Mapping):
            for name, inner in node.items():
                visit(inner, (*path, name), (*names, *steps(name)), override)
        elif what == "group":
            if node is not None and (not layer.foreign or _inside(names)):
                report.about(layer, wrong(dotted(path), node, "must be a table", where, secret=isinstance(node, str)))
        elif names not in _NAMING and (not layer.foreign or _ought_to_be_known(names)):
            unknown.append(names)
            hint = nearest_key(names) if len(unknown) <= HINTS else None
            written = dotted(path)
            report.about(
                layer,
                wrong(
                    written,
                    None if isinstance(node, Mapping) else node,
                    "no such setting",
                    where,
                    hint=in_style(hint, written) if hint else None,
                    name=f"{path[-1]} {hint}",
                ),
            )

    def agents(node: Mapping[str, object], top_name: str) -> None:
        own: list[tuple[object, KeyPath]] = []
        for name, inner in node.items():
            if fold(name) == "list" and isinstance(inner, list):
                for position, item in enumerate(inner):
                    path: KeyPath = (top_name, name, position)
                    named = item.get("id") if isinstance(item, Mapping) else None
                    if _same_agent(named, agent):
                        own.append((item, path))
                    elif not isinstance(named, str) and not layer.foreign:
                        report.problem(wrong(f"{dotted(path)}.id", named, "must name an agent", file.where(path)))
            elif fold(name) == "entries" and isinstance(inner, Mapping):
                own.extend((item, (top_name, name, key)) for key, item in inner.items() if _same_agent(key, agent))
            else:
                visit(inner, (top_name, name), ("agents", fold(name)), False)
        for item, path in own:
            visit(item, path, ("agents", "list"), True)

    for name, node in file.values.items():
        if layer.foreign and fold(name) not in openclaw.BRANCHES and name != "$include":
            continue
        if fold(name) == "agents" and isinstance(node, Mapping):
            agents(node, name)
        else:
            visit(node, (name,), steps(name), False)
    return found


def _ought_to_be_known(names: Folded) -> bool:
    return _inside(names) and canonical(names) not in openclaw.UNUSED


def _inside(names: Folded) -> bool:
    return any(names[: len(branch)] == branch for branch in openclaw.INSIDE)


def _same_agent(value: object, agent: str) -> bool:
    return isinstance(value, str) and value.strip().casefold() == agent.casefold()


def settle(layer: Layer, raws: list[Raw], environ: Mapping[str, str] | None, report: Report) -> None:
    """Check values and put them into the layer. `environ` None leaves `${NAME}` as it is.

    An agent's own value replaces the one for all agents, but its `extra_paths` are added.
    """
    given: dict[tuple[str, bool], Raw] = {}
    for raw in raws:
        if raw.value is None:
            continue
        before = given.get((raw.leaf.key, raw.override))
        if before is not None and before.value != raw.value and not layer.foreign:
            place = f"already set as {before.written} ({before.where})"
            report.problem(f"{printable(raw.written)}: {place}; keep one of them ({raw.where})")
            continue
        given[raw.leaf.key, raw.override] = raw
        known, value = _settled(layer, raw, environ, report)
        if not known:
            continue
        base = layer.entries.get(raw.leaf.key)
        if raw.override and raw.leaf.key == "extra_paths" and base is not None:
            value = tuple(dict.fromkeys((*_texts(base.value), *_texts(value))))
        layer.entries[raw.leaf.key] = Entry(raw.leaf, value, raw.written, raw.where)


def _texts(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


def _settled(layer: Layer, raw: Raw, environ: Mapping[str, str] | None, report: Report) -> tuple[bool, object]:
    """Whether the value can be used, and the value as the model holds it."""
    kind = leaf_kind(raw.leaf)
    value = raw.value
    if environ is not None:
        value, missing, replaced = expand(value, environ)
        if missing:
            names = " and ".join(missing)
            must = f"the variable {names} is not set, or empty"
            line = wrong(raw.written, None if kind.secret else raw.value, must, raw.where)
            if not kind.secret:
                report.about(layer, line)
                return False, None
            report.warn(f"{line}; {'those headers are' if kind.name == 'map' else 'no key is'} sent from here")
            if not isinstance(raw.value, Mapping):
                return True, None
            value = {name: inner for name, text in raw.value.items() if not (inner := expand(text, environ))[1]}
            value = {name: inner[0] for name, inner in value.items()}
        if replaced and isinstance(value, str):
            value = from_text(value, kind)
    checked, lines = check(raw.leaf, value, key=raw.written, where=raw.where, raw=raw.value)
    for line in lines:
        report.about(layer, line)
    return not lines, checked


def settle_one(
    layer: Layer, leaf: Leaf, value: object, written: str, where: str, report: Report, *, origin: str
) -> None:
    """Check one value and put it into the layer."""
    checked, lines = check(leaf, value, key=written, where=where)
    for line in lines:
        report.problem(line)
    if not lines:
        layer.entries[leaf.key] = Entry(leaf, checked, written, origin)
