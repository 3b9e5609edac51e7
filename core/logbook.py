"""The log in the state folder: three files of a mebibyte at most, for when something went wrong."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from core.settings import user_state_dir
from core.text.visible import visible

FILE_BYTES = 1 << 20
OLD_FILES = 2
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def log_file(environ: Mapping[str, str], home: Path) -> Path:
    """Where the log stands."""
    return user_state_dir(environ, home) / "memdeck.log"


class _Lines(logging.Formatter):
    """One line a record, in which no character of a file's name or an error acts on a terminal; then the traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return visible(super().formatException(ei), keep_newlines=True)


def start_log(environ: Mapping[str, str], home: Path) -> Path | None:
    """Have every room's warnings written to the log; `MEMDECK_LOG` names another level (debug, info, warning, error).

    None, and nothing logged, with `MEMDECK_LOG=off` or where the state folder cannot be written: a log never keeps a
    command from running. Calling it again changes nothing.
    """
    wanted = environ.get("MEMDECK_LOG", "warning").strip().lower()
    if wanted == "off":
        return None
    file = log_file(environ, home)
    root = logging.getLogger("core")
    if any(isinstance(handler, RotatingFileHandler) for handler in root.handlers):
        return file
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        handler = RotatingFileHandler(file, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True)
    except OSError:
        return None
    handler.setFormatter(_Lines("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(LEVELS.get(wanted, logging.WARNING))
    root.propagate = False
    if wanted not in LEVELS:
        root.warning("MEMDECK_LOG=%s is none of %s, off; warning is used", wanted, ", ".join(LEVELS))
    return file
