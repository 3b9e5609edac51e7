"""The installed tokenizer for a short text in ASCII, without the library, which takes ten times as long to begin."""

from __future__ import annotations

from pathlib import Path

import orjson

from core.errors import ProviderUnavailable
from core.regexes import late_regex

LONGEST = 200
"""Characters; a longer text may have more tokens than the model takes."""

_LONGEST_WORD = 100
_UNKNOWN, _BEGIN, _END = 100, 101, 102
_WORDS = late_regex(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


class WordPieces:
    """Word pieces as BERT makes them of lower case. Any thread may use it."""

    def __init__(self, tokenizer: Path) -> None:
        """Raises ProviderUnavailable."""
        try:
            self._numbers: dict[str, int] = orjson.loads(tokenizer.read_bytes())["model"]["vocab"]
        except (OSError, ValueError, KeyError) as error:
            raise ProviderUnavailable(f"the tokenizer cannot be loaded: {tokenizer}: {error}") from error

    def encode(self, text: str) -> list[int] | None:
        """The token ids of a text, special ones included; None for one that only the library knows to cut."""
        # A bracket may begin the name of a special token.
        if len(text) > LONGEST or "[" in text or not (text.isascii() and text.isprintable()):
            return None
        ids = [_BEGIN]
        for word in _WORDS.findall(text.lower()):
            ids += self._pieces(word)
        return [*ids, _END]

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces from the left; one unknown where there are none."""
        if len(word) > _LONGEST_WORD:
            return [_UNKNOWN]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._numbers.get(f"##{word[start:end]}" if start else word[:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return [_UNKNOWN]
        return pieces
