"""Settings: one model, and the layers it is merged from."""

from __future__ import annotations

from core.settings.layers import load_settings, settings_of
from core.settings.loaded import FieldDoc, LoadedSettings, Origin, field_docs
from core.settings.model import Settings
from core.settings.paths import (
    config_file,
    openclaw_file,
    resolve_workspace,
    store_path,
    user_cache_dir,
    user_config_dir,
    user_data_dir,
    user_state_dir,
    workspace_file,
)
from core.settings.presets import PRESETS
from core.settings.trust import distrust_workspace_file, is_trusted, trust_workspace_file

__all__ = [
    "PRESETS",
    "FieldDoc",
    "LoadedSettings",
    "Origin",
    "Settings",
    "config_file",
    "distrust_workspace_file",
    "field_docs",
    "is_trusted",
    "load_settings",
    "openclaw_file",
    "resolve_workspace",
    "settings_of",
    "store_path",
    "trust_workspace_file",
    "user_cache_dir",
    "user_config_dir",
    "user_data_dir",
    "user_state_dir",
    "workspace_file",
]
