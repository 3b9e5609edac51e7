"""A provider that fails beneath a worker, for tests: its refusals, texts to embed, and a clock to wait by."""

from __future__ import annotations

import time

from tests.provider_server import Answer, ProviderServer, Seen

SPENT = Answer({"error": {"message": "insufficient_quota: you are out of credits"}}, 429)
REFUSED = Answer({"error": {"message": "bad key"}}, 401)


class Clock:
    """The time, and what was put on top of it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def lines(count: int, word: str = "note") -> str:
    return "".join(
        f"{word} says in line {line} what nobody else has said before, not even once\n" for line in range(count)
    )


def fails_after(server: ProviderServer, requests: int, answer: Answer) -> set[int]:
    """Have the provider fail for good after so many requests; which requests were answered so."""
    refused: set[int] = set()

    def rule(seen: Seen) -> Answer | None:
        if len(server.seen) <= requests:
            return None
        refused.add(id(seen))
        return answer

    server.rule = rule
    return refused
