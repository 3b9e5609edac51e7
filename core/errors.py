"""The exception tree.

MemdeckError
├── SettingsError            a wrong value: key, value, what is allowed, where it stands
├── WorkspaceError           no workspace, or it cannot be used
├── Undecodable              a file whose bytes are no text
├── NotAllowed               a path that may not be read; `str()` is the reason
├── NotIndexed               a path that names no document of the index
├── StoreError               the index file
│   ├── StoreMissing         there is none yet
│   ├── StoreReadOnly        it cannot be written now; searches go on
│   ├── StoreCorrupt         not a database, or its pages are damaged; it is set aside and rebuilt
│   ├── KeywordsDamaged      the keyword tables alone are damaged; they are filled anew from the chunks
│   ├── StoreBusy            another process held the write lock longer than the busy timeout
│   └── StoreFull            no space left on the disk
├── EmbeddingError           a provider
│   ├── ProviderUnavailable  missing key, model or library; `remedy` says what to do
│   ├── QuotaExhausted       a state, not to be retried
│   ├── InputTooLarge        this text is beyond the provider's limit
│   └── BadVector            NaN, Inf, zero, wrong length or not numbers
├── SearchCancelled          the caller gave up
├── SyncCancelled            the caller gave up
└── BackendError             the qmd program
"""

from __future__ import annotations


class MemdeckError(Exception):
    """Base of all errors that memdeck raises on purpose; `str()` is fit for a person, `remedy` says what to do."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy

    @property
    def in_full(self) -> str:
        """What went wrong and what to do about it, as one line."""
        return f"{self}: {self.remedy}" if self.remedy else str(self)


class SettingsError(MemdeckError):
    """Settings that cannot be used; `problems` has one line for each wrong value."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class WorkspaceError(MemdeckError):
    """No workspace, or it cannot be used."""


class Undecodable(MemdeckError):
    """A file whose bytes are no text in an encoding that is read."""


class NotAllowed(MemdeckError):
    """A path that may not be read; `str()` is the reason."""


class NotIndexed(MemdeckError):
    """A path that names no document of the index, or none that was forgotten."""


class StoreError(MemdeckError):
    """The index file failed; `advice` is the remedy where whoever raised it knows none."""

    advice = ""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy or self.advice)


class StoreMissing(StoreError):
    """There is no index yet."""


class StoreReadOnly(StoreError):
    """The index cannot be written now; searches go on."""

    advice = "Searches go on. Make the file and its folder writable, or give another index with --store."


class StoreCorrupt(StoreError):
    """Not a database, or its pages are damaged."""

    advice = "Run memdeck index: the file is kept under another name, and the index is rebuilt from your files."


class KeywordsDamaged(StoreError):
    """The keyword tables alone are damaged; they are filled anew from the chunks."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than the busy timeout."""

    advice = "Try again when the other process is done: memdeck status names the one that writes."


class StoreFull(StoreError):
    """No space left on the disk."""

    advice = "Free some space: what is indexed stays, and the next sync goes on from there."


class EmbeddingError(MemdeckError):
    """An embedding provider failed; `retryable` tells whether waiting may help.

    `retry_after`: seconds that the provider asked to wait, None where it did not say.
    """

    def __init__(
        self, message: str, *, remedy: str = "", retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retryable = retryable
        self.retry_after = retry_after


class ProviderUnavailable(EmbeddingError):
    """Missing key, model or library."""


class QuotaExhausted(EmbeddingError):
    """The provider's quota is used up: a state, not to be retried."""


class InputTooLarge(EmbeddingError):
    """A text beyond the provider's limit."""


class BadVector(EmbeddingError):
    """NaN, Inf, zero, wrong length, or not numbers."""


class SearchCancelled(MemdeckError):
    """The caller gave up on a search."""


class SyncCancelled(MemdeckError):
    """The caller gave up on a sync."""


class BackendError(MemdeckError):
    """The qmd program failed."""
