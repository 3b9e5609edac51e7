"""How text is compared: folding, words, and what the keyword index is given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal

from core.regexes import late_regex

Script = Literal["word", "cjk", "unspaced"]

ANALYSIS_VERSION = "1"
"""Part of what an index is built with; it changes whenever fold, index_text or index_head give other words."""

# Scripts written without blanks. CJK (Hangul too, whose particles are glued to the word) is indexed as characters and
# pairs of them, Thai, Lao, Burmese and Khmer as pairs: a single sign of these carries no meaning.
CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"
)
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ec6\u0ec8-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
)
_RUNS = late_regex(f"([{CJK}]+)|([{UNSPACED}]+)")

_SPELLINGS = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u055a", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63", "-"),
    "ı": "i", "đ": "d", "ø": "o", "ł": "l", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ŧ": "t",
    "ك": "ک", "ي": "ی", "ى": "ی", "ة": "ه", "ٱ": "ا",
    "\u0901": "\u0902",
}  # fmt: skip
# The Cyrillic letters whose mark is no accent: й is not и, ї is not і.
_LETTERS = frozenset("йїў")
_INVISIBLE = frozenset("\u00ad\u0640\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff")


def _is_accent(character: str) -> bool:
    """Marks that search looks past: Latin, Greek and Cyrillic accents, Hebrew and Arabic points, the nukta."""
    code = ord(character)
    return (
        0x0300 <= code <= 0x036F
        or 0x0483 <= code <= 0x0489
        or 0x0591 <= code <= 0x05C7
        or 0x0610 <= code <= 0x061A
        or 0x064B <= code <= 0x065F
        or code in (0x0670, 0x093C)
        or 0x06D6 <= code <= 0x06ED
        or 0x1AB0 <= code <= 0x1AFF
        or 0x1DC0 <= code <= 0x1DFF
        or 0x20D0 <= code <= 0x20FF
        or 0xFE00 <= code <= 0xFE0F
        or 0xFE20 <= code <= 0xFE2F
    ) and unicodedata.category(character) in ("Mn", "Me")


def _parts_of(character: str) -> str:
    """A character and its marks, apart where the marks are accents: those of signs are not, ≠ is not =."""
    whole = character in _LETTERS or unicodedata.category(character)[0] == "S"
    return character if whole else unicodedata.normalize("NFD", character)


def _fold_once(text: str) -> str:
    folded = []
    for character in unicodedata.normalize("NFKC", text).casefold():
        for part in _parts_of(character):
            if part in _INVISIBLE or _is_accent(part):
                continue
            digit = unicodedata.decimal(part, None)
            folded.append(_SPELLINGS.get(part, part) if digit is None else str(digit))
    return unicodedata.normalize("NFC", "".join(folded))


class _FoldTable(dict[int, str]):
    """A translation table that learns each character when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cs":
            folded = "\ufffd"
        elif category == "Cc" or character.isspace():
            folded = " "
        else:
            folded = character
            for _ in range(4):
                again = _fold_once(folded)
                if again == folded:
                    break
                folded = again
        self[code] = folded
        return folded


class _WordTable(dict[int, str]):
    """A translation table that keeps what the keyword index takes for part of a word, and `_`, and blanks the rest."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        kept = category[0] in "LN" or category in ("Co", "Mn", "Mc") or character == "_"
        self[code] = character if kept else " "
        return self[code]


_ASCII_FOLD = bytes(32 if code < 32 or code == 127 else ord(chr(code).lower()) for code in range(128)) + bytes(128)
_ASCII_WORD = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256)).lower()
_ODD = late_regex(r"[^ -~]")
_SPARSE = 4
_FOLD = _FoldTable()
_WORD = _WordTable()


def fold(text: str) -> str:
    """`text` as search compares it: no case, accents, width or composition, and runs of white space as one blank."""
    folded = text if text.isascii() else text.lower()
    if folded.isascii():
        folded = folded.encode().translate(_ASCII_FOLD).decode("ascii")
    else:
        folded = unicodedata.normalize("NFC", folded)
        if (len(folded) - len(folded.encode("ascii", "ignore"))) * _SPARSE > len(folded):
            folded = folded.translate(_FOLD)
        else:
            # What a character folds to folds to itself, so that the order does not matter.
            for character in set(_ODD.findall(folded)):
                folded = folded.replace(character, _FOLD[ord(character)])
        folded = unicodedata.normalize("NFC", folded)
    while "  " in folded:
        folded = folded.replace("  ", " ")
    return folded.strip(" ")


@cache
def _sign_spellings() -> dict[str, str]:
    """Signs, each with the other characters whose folded form holds it."""
    spellings: dict[str, str] = {}
    for code in range(128, 0x20000):
        character = chr(code)
        if "\uac00" <= character <= "\ud7ff" or not (character in _SPELLINGS or unicodedata.decomposition(character)):
            continue
        folded = unicodedata.normalize("NFKC", character)
        if character in _SPELLINGS or any(_WORD[ord(part)] == " " for part in folded):
            for sign in set(_FOLD[code]) - {character, " "}:
                spellings[sign] = spellings.get(sign, "") + character
    return spellings


def spellings_of(sign: str) -> str:
    """The characters of which a text must hold one, where its folded form holds this folded sign."""
    return sign + unicodedata.normalize("NFD", sign)[0] + _sign_spellings().get(sign, "")


def holds_folded(text: str, needle: str) -> bool:
    """Whether `text`, folded, has the folded `needle` in it, be it in a word."""
    return needle in (text.lower() if text.isascii() and " " not in needle else fold(text))


def words(folded: str) -> list[str]:
    """The runs of letters, digits, marks and `_` of folded text, in order; scripts without blanks stay runs."""
    return folded.translate(_WORD).split()


def blank_signs(folded: str) -> str:
    """Folded text, of the same length, with a blank for every sign and `_`."""
    return folded.translate(_WORD).replace("_", " ")


def distinct_words(indexed: Iterable[str]) -> set[str]:
    """The words of what the keyword index is given for some texts, folded: no `_`, no script without blanks."""
    plain = []
    for text in indexed:
        if not text.isascii():
            text = _RUNS.sub(" ", text)
            for character in set(_ODD.findall(text)):
                if _WORD[ord(character)] == " ":
                    text = text.replace(character, " ")
        plain.append(text)
    return {word.decode() for word in set(" ".join(plain).encode().translate(_ASCII_WORD).split())}


def joins_words(character: str) -> bool:
    """Whether a folded character makes one word with a letter beside it: no `_`, no sign, no script without blanks."""
    return (
        character not in " _" and _WORD[ord(character)] != " " and (character.isascii() or not _RUNS.match(character))
    )


def _spell_run(match: re.Match[str]) -> str:
    run = match[0]
    pairs = [a + b for a, b in pairwise(run)]
    if match[1] is None:
        return f" {' '.join(pairs) or run} "
    # Character, pair, character, pair…: a part of a run is then a phrase within the whole run.
    spelled = [run[0]]
    for pair in pairs:
        spelled += (pair, pair[1])
    return f" {' '.join(spelled)} "


def split_scripts(folded: str) -> Iterator[tuple[str, Script]]:
    """Folded text as runs of one way of writing, in order: `cjk` and `unspaced` have no blanks, `word` is the rest."""
    if folded.isascii():
        if folded:
            yield folded, "word"
        return
    end = 0
    for match in _RUNS.finditer(folded):
        if match.start() > end:
            yield folded[end : match.start()], "word"
        yield match[0], "cjk" if match[1] else "unspaced"
        end = match.end()
    if end < len(folded):
        yield folded[end:], "word"


def spell(folded: str) -> str:
    """Folded text with the runs of scripts without blanks written out as the words that the index knows."""
    return folded if folded.isascii() else _RUNS.sub(_spell_run, folded)


def index_text(text: str) -> str:
    """What the keyword index is given for a chunk's text."""
    return text if text.isascii() else spell(fold(text))


def index_head(heading: Sequence[str], path: str) -> str:
    """What the keyword index is given for a chunk's heading path and its document's path, once each."""
    return index_text(" \n ".join((*heading, path.replace("_", " "))))
