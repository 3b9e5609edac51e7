"""The commands of the `qmd` program, run in folders that belong to one memory alone."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from core.backends.qmd_collections import INDEX, Collection
from core.backends.qmd_output import RawHit, UpdateCounts, error_words, parse_hits, update_counts
from core.backends.qmd_process import Outcome, run_program
from core.errors import BackendError
from core.settings.paths import expand_user
from core.settings.qmd_model import Qmd

VERSION_SECONDS = 5.0
CLEANUP_SECONDS = 120.0
REMEDY = "install it (npm install -g @tobilu/qmd, with Node 22 or newer) or set qmd.command to its path"

_VERSION = re.compile(r"^qmd (\d+)\.(\S+)", re.M)
_MODELS: Mapping[str, str] = {
    "embed": "embeddinggemma-300M-Q8_0.gguf",
    "generate": "qmd-query-expansion-1.7B-q4_k_m.gguf",
    "rerank": "qwen3-reranker-0.6b-q8_0.gguf",
}
_PINNED = re.compile(r"^  (embed|generate|rerank): [\"']?([^\"'\n]+)", re.M)
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "embed": ("embed",),
    "vsearch": ("embed", "generate"),
    "query": ("embed", "generate", "rerank"),
}

Cancelled = Callable[[], bool]


class UnknownCollection(BackendError):
    """A collection that a search named is not registered."""


def _never() -> bool:
    return False


class QmdProgram:
    """Runs qmd with its configuration, index and working directory below `root`. Safe to use from several threads.

    All calls block, raise BackendError when qmd fails or takes too long, and ProgramCancelled.
    """

    def __init__(self, settings: Qmd, *, root: Path, environ: Mapping[str, str], home: Path) -> None:
        self._settings = settings
        self._outer = environ
        self._home = home
        self.root = root
        self.index_file = root / "cache" / "qmd" / f"{INDEX}.sqlite"
        self.config_file = root / "config" / "qmd" / f"{INDEX}.yml"

    def version(self, cancelled: Cancelled = _never) -> str:
        """What `qmd --version` says, without the name."""
        outcome = self._run(["--version"], VERSION_SECONDS, cancelled)
        found = _VERSION.search(outcome.stdout)
        if outcome.code != 0 or found is None:
            said = error_words(outcome.stderr, outcome.stdout) or f"exit code {outcome.code}"
            raise BackendError(f"{self._settings.command} is no qmd that can be used: {said}", remedy=REMEDY)
        return f"{found[1]}.{found[2]}"

    def check(self, cancelled: Cancelled = _never) -> str:
        """The version of a qmd that can open its index; `--version` alone works where nothing else does."""
        version = self.version(cancelled)
        self._done(["collection", "list"], VERSION_SECONDS, cancelled)
        return version

    def configure(self, collections: Iterable[Collection]) -> None:
        """Make these qmd's collections; the next update looks at their files."""
        # By its real path: below a symlink qmd takes every file for one outside of its collection.
        rows = {
            one.name: {"path": os.path.realpath(one.root), "pattern": one.pattern, "ignore": list(one.ignore)}
            for one in collections
        }
        self._prepare()
        draft = self.config_file.with_name(f".{self.config_file.name}.tmp")
        try:
            # JSON is YAML. What qmd adds of its own, it adds again.
            draft.write_text(json.dumps({"collections": rows}, ensure_ascii=False, indent=1), "utf-8")
            draft.replace(self.config_file)
        except (OSError, UnicodeError) as error:
            raise BackendError(f"{self.config_file} cannot be written: {error}") from error

    def discard(self) -> None:
        """Throw qmd's index away; the next update makes it anew."""
        try:
            for file in self.index_file.parent.glob(f"{INDEX}.sqlite*"):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise BackendError(f"{self.index_file} cannot be removed: {error.strerror}") from error

    def remove(self, name: str, cancelled: Cancelled = _never) -> None:
        """Take a collection and its documents out of the index."""
        self._done(["collection", "remove", name], self._command_seconds, cancelled)

    def update(self, cancelled: Cancelled = _never) -> UpdateCounts:
        """Look at all files of all collections again."""
        outcome = self._done(["update"], self._update_seconds, cancelled)
        return update_counts(outcome.stdout, outcome.stderr)

    def embed(self, cancelled: Cancelled = _never) -> None:
        """Make the vectors that are missing."""
        self._done(["embed"], self._settings.update.embed_timeout_ms / 1000, cancelled, model=True)

    def cleanup(self, cancelled: Cancelled = _never) -> None:
        """Take what is no longer in a collection out of the index file."""
        self._done(["cleanup"], max(CLEANUP_SECONDS, self._update_seconds), cancelled)

    def search(
        self,
        command: str,
        text: str,
        *,
        collections: Sequence[str],
        most: int,
        seconds: float,
        min_score: float | None = None,
        cancelled: Cancelled = _never,
    ) -> list[RawHit]:
        """Ask one question; `command` is search, vsearch, query, or `lex` for typed lines that need no model.

        Raises UnknownCollection too.
        """
        verb = ["query", "--no-rerank"] if command == "lex" else [command]
        arguments = [*verb, "--json", "-n", str(most)]
        if min_score is not None:
            arguments += ["--min-score", str(min_score)]
        for name in collections:
            arguments += ["-c", name]
        outcome = self._run([*arguments, "--", text], seconds, cancelled, model=command in _NEEDED)
        if "Collection not found" in outcome.stderr:
            raise UnknownCollection(f"qmd: {error_words(outcome.stderr)}")
        if outcome.code != 0:
            raise self._failure(verb[0], outcome)
        return parse_hits(outcome.stdout, index=INDEX)

    def missing_model(self, command: str) -> str | None:
        """The first model that a command needs and that is not on this disk; None if all are there.

        qmd would download it, which can take very long, and fails only after minutes where there is no network.
        """
        chosen = dict(_MODELS)
        for kind, variable in (("embed", "EMBED"), ("generate", "GENERATE"), ("rerank", "RERANK")):
            chosen[kind] = self._outer.get(f"QMD_{variable}_MODEL") or chosen[kind]
        with suppress(OSError):
            chosen.update(_PINNED.findall(self.config_file.read_text("utf-8", "replace")))
        names = {entry.name for entry in self._models.iterdir()} if self._models.is_dir() else set()
        for kind in _NEEDED.get(command, ()):
            model = chosen[kind].strip()
            file = model.rpartition("/")[2]
            local = not model.startswith("hf:") and "/" in model
            if not (Path(model).is_file() if local else any(file in name for name in names)):
                return file
        return None

    def counts(self) -> dict[str, int]:
        """Documents, and those without and with vectors, read from qmd's own index; empty where there is none."""
        if not self.index_file.exists():
            return {}
        try:
            connection = apsw.Connection(f"file:{_quoted(self.index_file)}?mode=ro", flags=_READ_ONLY)
            try:
                found: dict[str, int] = {}
                for name, sql in _COUNTS.items():
                    row = connection.execute(sql).fetchone()
                    found[name] = int(row[0]) if row else 0
                return found
            finally:
                connection.close()
        except apsw.Error:
            return {}

    @property
    def _models(self) -> Path:
        """The user's own models, which all of their indexes share."""
        given = Path(self._outer.get("XDG_CACHE_HOME", ""))
        return (given if given.is_absolute() else self._home / ".cache") / "qmd" / "models"

    @property
    def _command_seconds(self) -> float:
        return self._settings.update.command_timeout_ms / 1000

    @property
    def _update_seconds(self) -> float:
        return self._settings.update.update_timeout_ms / 1000

    def _done(self, words: list[str], seconds: float, cancelled: Cancelled, *, model: bool = False) -> Outcome:
        outcome = self._run(words, seconds, cancelled, model=model)
        if outcome.code != 0:
            raise self._failure(" ".join(words[:2] if words[0] == "collection" else words[:1]), outcome)
        return outcome

    def _failure(self, doing: str, outcome: Outcome) -> BackendError:
        said = error_words(outcome.stderr, outcome.stdout) or "it did not say why"
        return BackendError(f"qmd {doing} failed: {said}")

    def _run(self, words: list[str], seconds: float, cancelled: Cancelled, *, model: bool = False) -> Outcome:
        program = self._find()
        self._prepare()
        environ = self._environ()
        if not model:
            environ["CI"] = "1"
        return run_program(
            [program, "--index", INDEX, *words],
            environ=environ,
            folder=self.root,
            seconds=seconds,
            cancelled=cancelled,
        )

    def _find(self) -> str:
        command = str(expand_user(self._settings.command, self._home))
        found = shutil.which(command, path=self._outer.get("PATH", os.defpath))
        if found is None:
            raise BackendError(f"the program {command} is not there", remedy=REMEDY)
        return str(Path(found).absolute())

    def _prepare(self) -> None:
        """Make qmd's folders, readable for this user alone, and lend it the user's models."""
        try:
            for folder in (self.root, self.config_file.parent, self.index_file.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            own = self.index_file.parent / "models"
            if self._models.is_dir() and not own.exists():
                own.unlink(missing_ok=True)
                own.symlink_to(self._models)
        except OSError as error:
            raise BackendError(f"{self.root} cannot be made: {error.strerror}") from error

    def _environ(self) -> dict[str, str]:
        """The caller's environment without what would lead qmd to another index or make it draw."""
        environ = {
            name: value
            for name, value in self._outer.items()
            if name not in ("INDEX_PATH", "CI", "FORCE_COLOR", "CLICOLOR_FORCE") and not name.startswith("MEMDECK_")
        }
        return {
            "PATH": os.defpath,
            "HOME": str(self._home),
            **environ,
            "NO_COLOR": "1",
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "QMD_CONFIG_DIR": str(self.config_file.parent),
        }


_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_COUNTS = {
    "documents": "SELECT count(*) FROM documents WHERE active = 1",
    "withoutVectors": """
        SELECT count(DISTINCT hash) FROM documents
        WHERE active = 1 AND hash NOT IN (SELECT hash FROM content_vectors)
    """,
    "vectors": "SELECT count(*) FROM content_vectors",
}


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
