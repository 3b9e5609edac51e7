"""onnxruntime tells its makers where it runs: it marks the device, and sends after some time. Here it does not."""

from __future__ import annotations

import os


def forbid() -> None:
    """To be called before onnxruntime is loaded: it asks the environment then, and its own switch comes too late."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
