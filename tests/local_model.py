"""Texts for the local model, and the vectors that it makes of them, for tests."""

from __future__ import annotations

import numpy as np

TEXTS = [
    "The release train leaves on Thursday; whoever misses it waits a fortnight.",
    "kubectl drain evicts pods before a node is serviced.",
    "短い日本語の文です。",
    "",
    "word " * 900,
    "naïve Café ﬁancée \U0001f680",
]


def vectors(outcomes: list) -> np.ndarray:
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    return np.stack(outcomes)
