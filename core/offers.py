"""What memdeck could read here, for a question to the user: only whether it exists, until the answer is yes."""

# ruff: noqa: PTH118
# Paths stay strings: names on disk need not be text.

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from core.embedding.select import select_embedder
from core.errors import SettingsError
from core.records import record
from core.settings.files import Unreadable, read_bytes
from core.settings.layers import load_settings
from core.settings.loaded import LoadedSettings
from core.settings.paths import config_file, expand_user, store_path, user_cache_dir, user_state_dir
from core.settings.trust import write_private
from core.settings.write import write_setting
from core.sources.rules import MEMORY_FOLDER, MEMORY_NAMES, shown

OfferKind = Literal["workspace", "folder", "agent", "path"]
AIDER_HISTORY = ".aider.chat.history.md"
_NAMES_AT_MOST = 50


@record(frozen=True, slots=True)
class Offer:
    """One thing that could be read: a workspace (one is chosen), a further memory folder, the transcripts of an agent
    or one transcript file. `name` is what the settings call it, `label` what people do, `holds` what was seen there.

    `chosen` tells whether the settings name it already.
    """

    kind: OfferKind
    name: str
    label: str
    path: str
    holds: str = ""
    chosen: bool = False

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"


@record(frozen=True, slots=True)
class Promises:
    """What is true of whatever is read: where the index lies, where text goes, where the answers are written."""

    index: str
    text_goes_to: str
    config: str

    @property
    def stays_here(self) -> bool:
        return self.text_goes_to.startswith(("nowhere", "this machine"))


class SourceOffers:
    """Finds what could be read, writes down what was answered, and remembers a "not now"."""

    def __init__(
        self, *, environ: Mapping[str, str], home: Path, cwd: Path, agent: str = "main", store: Path | None = None
    ) -> None:
        self._environ = environ
        self._home = home
        self._cwd = cwd
        self._agent = agent
        self._store = store
        self.config = config_file(environ, home)
        self._memo = user_state_dir(environ, home) / "offers.json"

    # Finding

    def find(self, workspace: Path | None = None) -> tuple[Offer, ...]:
        """What seems to be there; `workspace` is the one that is open.

        Of other agents' folders it asks only whether they exist. Of OpenClaw's it lists the names of its workspaces and
        agents, and reads openclaw.json, which is the lowest layer of the settings.
        """
        from core.sources.transcripts.places import AGENTS, agent_name, offered_places  # rarely is there a question

        settings = self._settings(workspace).settings
        offers: list[Offer] = []
        places = self._memory_places()
        if workspace is None:
            offers += [Offer("workspace", path, label, path, holds) for path, label, holds in places]
        else:
            here = str(workspace)
            holds = _holds(here)
            offers.append(Offer("workspace", here, "this workspace", here, holds, chosen=True))
            extra = {self._extra_path(here, path) for path in settings.extra_paths}
            for path, label, _ in places:
                for name in _memory_in(path) if path != here else ():
                    inner = os.path.join(path, name)
                    offers.append(Offer("folder", inner, label, inner, "", inner in extra))
        agents = {agent_name(agent) for agent in settings.sessions.agents}
        for place in offered_places(self._home, self._environ, agent_id=self._agent):
            holds = self._openclaw_agents() if place.agent == "openclaw" else ""
            offers.append(Offer("agent", place.agent, place.label, place.path, holds, place.agent in agents))
        known = {offer.name for offer in offers}
        offers += [
            Offer("agent", agent, agent, "", "nothing found of it", chosen=True)
            for agent in AGENTS
            if agent in agents and agent not in known
        ]
        paths = set(settings.sessions.paths)
        for folder in self._folders_up():
            history = os.path.join(folder, AIDER_HISTORY)
            if _kind_of(history) == "file":
                offers.append(Offer("path", history, "Aider", history, "its chat history", history in paths))
                break
        return tuple(offers)

    def promises(self, workspace: Path | None) -> Promises:
        """What holds of the index of a workspace; reads the settings alone."""
        settings = self._settings(workspace).settings
        selection = select_embedder(
            settings, environ=self._environ, cache_dir=user_cache_dir(self._environ, self._home)
        )
        goes_to = selection.text_goes_to
        selection.close()
        place = self._store
        if place is None:
            folder = workspace if workspace is not None else Path("/")
            place = store_path(settings, self._agent, folder, self._environ, self._home)
            place = place.parent if workspace is None else place
        return Promises(str(place), goes_to, str(self.config))

    def _settings(self, workspace: Path | None) -> LoadedSettings:
        return load_settings(
            workspace=workspace, agent=self._agent, environ=self._environ, home=self._home, strict=False
        )

    def _extra_path(self, workspace: str, written: str) -> str:
        """An extra path of the settings as an absolute one."""
        return os.path.normpath(os.path.join(workspace, expand_user(written.strip(), self._home)))

    def _memory_places(self) -> list[tuple[str, str, str]]:
        """Folders that hold memory: path, what they are, what was seen in them."""
        found: dict[str, tuple[str, str, str]] = {}

        def add(path: str, label: str, *, always: bool = False) -> None:
            holds = _holds(path)
            if (holds or (always and _kind_of(path) == "folder")) and path not in found:
                found[path] = (path, label, holds or "no memory in it yet")

        root = self._openclaw_root()
        add(os.path.join(root, "workspace"), "OpenClaw's workspace", always=True)
        for name in _folders_in(root):
            if name.startswith("workspace-"):
                add(os.path.join(root, name), f"OpenClaw's, for {shown(name[10:])}", always=True)
        for folder in self._folders_up():
            add(folder, "this folder" if folder == str(self._cwd) else "a folder above this one")
        add(str(self._home), "the home folder")
        return list(found.values())

    def _folders_up(self) -> Iterable[str]:
        """The current folder and those above it, below the home folder or the root."""
        for folder in (self._cwd, *self._cwd.parents):
            if folder in (self._home, folder.parent):
                return
            yield str(folder)

    def _openclaw_root(self) -> str:
        given = expand_user(self._environ.get("OPENCLAW_STATE_DIR", ""), self._home)
        return str(given if given.is_absolute() else self._home / ".openclaw")

    def _openclaw_agents(self) -> str:
        names = [shown(name) for name in _folders_in(os.path.join(self._openclaw_root(), "agents"))]
        others = [name for name in names if name != self._agent]
        return f"agent {self._agent}" + (f"; --agent reads {', '.join(others)}" if others else "")

    # Answering

    def accept(self, chosen: Iterable[Offer], offered: Iterable[Offer], *, workspace: Path | None) -> tuple[str, ...]:
        """Write down what was chosen of what was offered, and what of it does not count, in words.

        `workspace` is written where none was open before. What the settings name besides is left as it is. Raises
        SettingsError.
        """
        from core.sources.transcripts.places import agent_name

        picked = {offer.key for offer in chosen}
        offered = list(offered)
        opened = next((offer for offer in offered if offer.kind == "workspace" and offer.chosen), None)
        before = self._settings(Path(opened.path) if opened is not None else None).settings
        here = opened.path if opened is not None else str(workspace)
        by_kind = {kind: [one for one in offered if one.kind == kind] for kind in ("agent", "path", "folder")}
        agents = _merged(before.sessions.agents, by_kind["agent"], picked, agent_name)
        paths = _merged(before.sessions.paths, by_kind["path"], picked, str)
        extra = _merged(before.extra_paths, by_kind["folder"], picked, partial(self._extra_path, here))
        if workspace is not None and opened is None:
            write_setting(self.config, "workspace", str(workspace))
        for key, value, was in (
            ("sessions.agents", agents, before.sessions.agents),
            ("sessions.paths", paths, before.sessions.paths),
            ("extra_paths", extra, before.extra_paths),
        ):
            if value != list(was):
                write_setting(self.config, key, value)
        place = Path(opened.path) if opened is not None else workspace
        after = self._settings(place).settings
        if (agents or paths) and "sessions" not in after.sources:
            write_setting(self.config, "sources", [*after.sources, "sessions"])
            after = self._settings(place).settings
        self._remember(offer.key for offer in offered)
        overruled = []
        if list(after.sessions.agents) != agents or ((agents or paths) and "sessions" not in after.sources):
            overruled.append("other settings than config.toml decide which sessions are read: see `memdeck config`")
        return tuple(overruled)

    def decline(self, offered: Iterable[Offer]) -> None:
        """Remember that it was asked for these; it is not asked again by itself before there is something new."""
        self._remember(offer.key for offer in offered)

    def news(self, offered: Iterable[Offer]) -> tuple[Offer, ...]:
        """What was never asked for and is not chosen."""
        asked = self._asked()
        return tuple(offer for offer in offered if not offer.chosen and offer.key not in asked)

    def tell_once(self, workspace: Path) -> bool:
        """Whether agents seem to keep transcripts here that are not read and were never told of; True only once."""
        new = [offer for offer in self.news(self.find(workspace)) if offer.kind == "agent"]
        settings = self._settings(workspace).settings
        if not new or settings.sessions.agents:
            return False
        with suppress(SettingsError):
            self._remember(offer.key for offer in new)
            return True
        return False

    def _asked(self) -> set[str]:
        try:
            data = read_bytes(self._memo)
            asked = json.loads(data)["asked"] if data is not None else []
            return {str(key) for key in asked}
        except (Unreadable, ValueError, KeyError, TypeError, RecursionError):
            return set()

    def _remember(self, keys: Iterable[str]) -> None:
        asked = sorted(self._asked() | {shown(key) for key in keys})
        write_private(self._memo, (json.dumps({"version": 1, "asked": asked}, indent=2) + "\n").encode())


def _merged(before: Iterable[str], offered: list[Offer], picked: set[str], plain: Callable[[str], str]) -> list[str]:
    """The names that were set, without those that were offered and not picked, and with those that were picked.

    `plain` makes of a name that was set the one that it would be offered by.
    """
    offers = {offer.name: offer.key in picked for offer in offered}
    kept = [one for one in before if offers.get(plain(one), True)]
    present = {plain(one) for one in kept}
    return [*kept, *(offer for offer, wanted in offers.items() if wanted and offer not in present)]


def _holds(folder: str) -> str:
    return ", ".join(name if name != MEMORY_FOLDER else f"{name}/" for name in _memory_in(folder))


def _memory_in(folder: str) -> list[str]:
    """The names of memory in a folder; symlinks do not count, as in the scan."""
    files = [name for name in MEMORY_NAMES if _kind_of(os.path.join(folder, name)) == "file"][:1]
    return files + ([MEMORY_FOLDER] if _kind_of(os.path.join(folder, MEMORY_FOLDER)) == "folder" else [])


def _kind_of(path: str) -> str:
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""


def _folders_in(folder: str) -> list[str]:
    """The names of the folders in a folder of OpenClaw's."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        names = [
            entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and shown(entry.name) == entry.name
        ]
    return sorted(names)[:_NAMES_AT_MOST]
