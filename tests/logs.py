"""The log of a test process."""

from __future__ import annotations

import logging


def stop_log() -> None:
    """End the log that `start_log` began, so that the next one can be another home's."""
    root = logging.getLogger("core")
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.propagate = True
    root.setLevel(logging.NOTSET)
