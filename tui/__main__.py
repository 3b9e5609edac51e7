"""The command `memdeck`: safe streams, then the command line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

_SELDOM = (100_000, 20, 100)
"""A command loads much that stays and makes few circles; looking for them as often as by default costs some percent."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 found or done, 1 nothing found, 2 usage, refusal or failure)."""
    from tui.cli.output import prepare_streams

    gc.set_threshold(*_SELDOM)
    prepare_streams()

    from tui.cli.root import run

    try:
        return run(sys.argv[1:] if arguments is None else arguments)
    finally:
        if arguments is None:
            gc.freeze()  # what is left goes with the process; to look through it takes a tenth of a search


if __name__ == "__main__":
    sys.exit(main())
