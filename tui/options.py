"""What the command line hands to the app."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from core import Memory, SourceOffers, record


@record(frozen=True, slots=True)
class AppOptions:
    """How the app is to start.

    `query` is searched at the start. `offers` finds what could be read, for the first-run screen; `open_workspace`
    opens the folder that is chosen there, `looked_in` are the places that held no memory. `notices` are warnings about
    settings, shown once. `history` is the file of earlier queries, None to keep them only while the app runs.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    query: str = ""
    offers: SourceOffers | None = None
    open_workspace: Callable[[Path], Memory] | None = None
    looked_in: tuple[Path, ...] = ()
    notices: tuple[str, ...] = ()
    history: Path | None = None
    start: bool = True
