"""memdeck's two themes, and the order in which one key walks through the themes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.theme import Theme

DARK = Theme(
    name="memdeck",
    primary="#7db7ff",
    secondary="#97a1b3",
    accent="#f0b35a",
    success="#8fce8f",
    warning="#f0b35a",
    error="#ff8080",
    foreground="#d4d8e0",
    background="#14171c",
    surface="#14171c",
    panel="#262b34",
    variables={
        "block-cursor-foreground": "#ffffff",
        "block-cursor-background": "#20314b",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-foreground": "#d4d8e0",
        "block-cursor-blurred-background": "#262b34",
        "text-muted": "#97a1b3",
    },
)

LIGHT = Theme(
    name="memdeck-light",
    primary="#0b5cad",
    secondary="#566070",
    accent="#9a5b00",
    success="#2b7a2b",
    warning="#9a5b00",
    error="#b3261e",
    foreground="#1d2129",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#e6e4dd",
    dark=False,
    variables={
        "block-cursor-foreground": "#10131a",
        "block-cursor-background": "#cfe0f5",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-foreground": "#1d2129",
        "block-cursor-blurred-background": "#e6e4dd",
        "text-muted": "#566070",
    },
)

OWN: tuple[Theme, ...] = (DARK, LIGHT)
CYCLE: tuple[str, ...] = ("memdeck", "memdeck-light", "ansi-dark", "ansi-light")
"""What one key walks through; every theme of Textual can be named in the settings."""


def wanted_theme(named: str | None, environ: Mapping[str, str], known: Iterable[str]) -> tuple[str, str]:
    """The theme to start with and, if the one that was named does not exist, a line that says so.

    The setting wins over TEXTUAL_THEME, which wins over memdeck's dark theme.
    """
    wanted = named or environ.get("TEXTUAL_THEME") or DARK.name
    names = set(known)
    if wanted in names:
        return wanted, ""
    return DARK.name, f"no theme is called {wanted!r}: {', '.join(sorted(names))}"


def next_theme(current: str) -> str:
    return CYCLE[(CYCLE.index(current) + 1) % len(CYCLE)] if current in CYCLE else CYCLE[0]
