"""Settings loaded from the text of a config.toml, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import LoadedSettings, load_settings

Load = Callable[..., LoadedSettings]


def loader(home: Path, config: Path) -> Load:
    """Writes `config` and loads the settings of `home` and of the workspace `ws` in it."""

    def load(
        text: str = "",
        *,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
        agent: str = "main",
        strict: bool = True,
    ) -> LoadedSettings:
        config.write_text(text, encoding="utf-8")
        (home / "ws").mkdir(exist_ok=True)
        return load_settings(
            workspace=home / "ws", agent=agent, environ=environ or {}, home=home, flags=flags, strict=strict
        )

    return load


def problems(load: Load, text: str = "", **given: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(text, **given)
    return list(caught.value.problems)
