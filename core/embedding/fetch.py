"""Fetching a model's files from the Hugging Face hub into the cache folder, with progress, and without a terminal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from core.errors import EmbeddingError, ProviderUnavailable
from core.types import Progress

TOKENIZER_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "preprocessor_config.json",
)


def fetch_model(
    entry: Mapping[str, Any],
    models_dir: Path,
    *,
    offline: bool,
    endpoint: str | None,
    on_progress: Callable[[Progress], None] | None,
    cancel: Callable[[], None],
) -> Path:
    """The folder with a model's files, fetched if they are not there yet; `entry` is fastembed's description.

    `cancel` is called between blocks and raises to stop. Progress counts bytes. No token of the user's is sent. Raises
    ProviderUnavailable, and what `cancel` raises.
    """
    from huggingface_hub import snapshot_download

    name, source = str(entry["model"]), entry["sources"]["hf"]
    if not source:
        raise ProviderUnavailable(f"{name} cannot be fetched from the Hugging Face hub")
    wanted = [str(entry["model_file"]), *map(str, entry["additional_files"])]
    arguments: dict[str, Any] = {
        "repo_id": str(source),
        "cache_dir": str(models_dir),
        "allow_patterns": [*TOKENIZER_FILES, *wanted],
        "token": False,
    }
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # its warnings go to the terminal

    def complete(folder: str) -> Path | None:
        return Path(folder) if all((Path(folder) / file).is_file() for file in wanted) else None

    try:
        here = complete(snapshot_download(**arguments, local_files_only=True))
    except Exception:  # not there yet, in the library's many ways
        here = None
    if here is not None:
        return here
    remedy = f"connect once to fetch it, or put it under {models_dir}; leave `model` unset for the installed model"
    if offline:
        raise ProviderUnavailable(f"{name} is not on this machine and HF_HUB_OFFLINE is set", remedy=remedy)
    cancel()
    label = f"fetching {name}"
    expected = int(float(entry["size_in_GB"]) * 1e9)
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        folder = snapshot_download(
            **arguments, endpoint=endpoint, etag_timeout=10, tqdm_class=_reporter(label, expected, on_progress, cancel)
        )
    except EmbeddingError:
        raise
    except Exception as error:  # httpx, requests, OSError or the library's own, by version
        cancel()
        cause = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise ProviderUnavailable(f"{name} cannot be fetched: {cause}", remedy=remedy) from error
    here = complete(folder)
    if here is None:
        raise ProviderUnavailable(f"{name} cannot be fetched: {source} has no {', '.join(wanted)}", remedy=remedy)
    return here


def _reporter(
    label: str, expected: int, on_progress: Callable[[Progress], None] | None, cancel: Callable[[], None]
) -> type[Any]:
    """A progress bar class that draws nothing: it reports the bytes of whichever of the library's bars is ahead."""
    from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]

    most = 0

    class Reporter(tqdm):  # type: ignore[type-arg, misc, unused-ignore]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._bytes = kwargs.get("unit") == "B"
            self._count = int(kwargs.get("initial") or 0)
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal most
            cancel()
            self._count += int(n or 0)
            if self._bytes and self._count > most and on_progress is not None:
                most = self._count
                on_progress(Progress(most, max(most, expected, int(self.total or 0)), label))
            return None

    return Reporter
