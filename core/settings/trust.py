"""Which workspace files the user trusts: a file's place together with its content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from core.errors import SettingsError
from core.settings.files import Unreadable, read_bytes
from core.settings.paths import user_data_dir

# What a workspace file may set untrusted: search, chunking, citations, appearance.
FREE = ("query.", "chunking.", "sessions.chunking.", "citations", "appearance.")


def is_free(key: str) -> bool:
    """Whether an untrusted workspace file may set this key."""
    return key.startswith(FREE)


def trust_workspace_file(path: Path, *, environ: Mapping[str, str], home: Path, content: bytes | None = None) -> str:
    """Trust a workspace file as it is now, or `content` as the user was shown it; returns its sha256 hex.

    Any later change of the file ends the trust. Raises SettingsError if there is no such file or it cannot be read.
    """
    if content is None:
        try:
            content = read_bytes(path, follow=False)
        except Unreadable as error:
            raise SettingsError([f"{path} {error.reason}"]) from error
        if content is None:
            raise SettingsError([f"{path} does not exist: there is nothing to trust"])
    digest = hashlib.sha256(content).hexdigest()
    _write(_store(environ, home), {**_trusted(environ, home), _place(path): digest})
    return digest


def distrust_workspace_file(path: Path, *, environ: Mapping[str, str], home: Path) -> bool:
    """Take trust back; False if there was none."""
    trusted = _trusted(environ, home)
    if trusted.pop(_place(path), None) is None:
        return False
    _write(_store(environ, home), trusted)
    return True


def is_trusted(path: Path, content: bytes, *, environ: Mapping[str, str], home: Path) -> bool:
    """Whether exactly this content at this place was trusted."""
    return _trusted(environ, home).get(_place(path)) == hashlib.sha256(content).hexdigest()


def was_trusted(path: Path, *, environ: Mapping[str, str], home: Path) -> bool:
    """Whether some content at this place was trusted and trust was not taken back."""
    return _place(path) in _trusted(environ, home)


def _store(environ: Mapping[str, str], home: Path) -> Path:
    return user_data_dir(environ, home) / "trusted.json"


def _place(path: Path) -> str:
    return os.fsencode(Path(os.path.realpath(path.parent)) / path.name).decode("utf-8", "backslashreplace")


def _trusted(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """A file that cannot be read trusts nothing."""
    try:
        data = read_bytes(_store(environ, home))
        files = json.loads(data)["files"] if data is not None else {}
        return {str(place): str(digest) for place, digest in files.items()}
    except (Unreadable, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _write(path: Path, files: Mapping[str, str]) -> None:
    write_private(path, (json.dumps({"version": 1, "files": files}, indent=2, sort_keys=True) + "\n").encode())


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step; folders made here are 0700, a new file 0600, an old one keeps its mode.

    A symlink is written through. Raises SettingsError.
    """
    import tempfile

    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
        handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(mode)
            temporary.replace(real)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SettingsError([f"{path} cannot be written ({error.strerror})"]) from error
