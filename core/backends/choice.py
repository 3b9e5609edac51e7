"""Which backend a memory has: the built-in one, or that with qmd before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.backends.builtin import BuiltinBackend
from core.embedding.select import Selection
from core.records import record
from core.settings import LoadedSettings
from core.settings.model import Settings

if TYPE_CHECKING:
    from core.bus import EventBus
    from core.sync.intake import Intake


@record(frozen=True, slots=True)
class Whose:
    """Whose memory it is, where, and whether this process lives long (`resident`)."""

    agent: str
    workspace: Path
    home: Path
    environ: Mapping[str, str]
    resident: bool


def choose_backend(
    store: Path,
    settings: Settings,
    selection: Selection,
    intakes: Callable[[], list[Intake]],
    bus: EventBus,
    whose: Whose,
) -> BuiltinBackend:
    """The backend that the settings name; with qmd the built-in one is kept and answers where qmd does not."""
    if settings.backend != "qmd":
        return BuiltinBackend(store, settings, selection, intakes, bus, resident=whose.resident)
    from core.backends.qmd_first import QmdFirst

    return QmdFirst(store, settings, selection, intakes, bus, whose)


def with_qmd_paths(loaded: LoadedSettings) -> LoadedSettings:
    """The settings with qmd's own paths among the extra paths, if qmd is the backend.

    So what qmd finds can be read, and the built-in index finds it too.
    """
    settings = loaded.settings
    if settings.backend != "qmd" or not settings.qmd.paths:
        return loaded
    paths = dict.fromkeys((*settings.extra_paths, *(item.path for item in settings.qmd.paths)))
    return replace(loaded, settings=replace(settings, extra_paths=tuple(paths)))
