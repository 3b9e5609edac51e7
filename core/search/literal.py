"""Exact text: the whole query, quoted phrases and identifiers, found by the index and verified on the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import apsw

from core.regexes import late_regex
from core.search.evidence import rarity
from core.search.keyword import quoted
from core.search.parts import Parts, TooMany, has_half_a_pair, is_version, parts_of
from core.search.query import Query
from core.search.rows import Rows
from core.search.terms import Terms, Vocabulary
from core.store.database import id_array
from core.text.analysis import blank_signs, fold, holds_folded, joins_words, spell, spellings_of, split_scripts, words
from core.text.stopwords import stop_words

MOST_CANDIDATES = 400
"""Chunks whose text is read to verify one literal; a literal in more is none that tells chunks apart."""
MOST_LITERALS = 50
MOST_IDENTIFIERS = 8
IDENTIFIER_CANDIDATES = 150
MOST_NAMED = 10
LONGEST_NAME = 200
WINDOW = 4
LONGEST_PART = 4
"""Words, with nothing but blanks between them, of which the first and the last are looked for as parts of others."""
MOST_LOOKED_AT = 4000
"""Chunks whose text may be read to find one literal."""
MOST_SIGNS = 16
"""Signs of one literal whose other spellings are looked for."""
_SLICE = 500
_SENTENCE_END = " .?!,;:…。？！"
_BACK_QUOTED = late_regex(r"`([^`]+)`")
_PLAIN_WORD = late_regex(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NUMBER = late_regex(r"[\d.,:/%+\-–]*\d[\d.,:/%]*")
_HYPHENED = late_regex(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_CAMEL = late_regex(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
HYPHENED_SHARE = 0.25


def identifiers(query: Query) -> list[str]:
    """What in a query stands for itself: quoted and back-quoted text, and words with signs, `_` or camelCase."""
    found, text = [*query.phrases], query.text
    if "`" in text:
        found += [match[1].strip() for match in _BACK_QUOTED.finditer(text)]
        text = _BACK_QUOTED.sub(" ", text)
    for word in text.replace('"', " ").split():
        bare = word.rstrip(".,;:?!…").lstrip("(") if not word.startswith(("./", "../")) else word
        bare = bare.rstrip(")") if "(" not in bare else bare
        if bare.isascii() and bare.isalpha() and bare.islower():
            continue
        if not words(fold(bare)) or _NUMBER.fullmatch(bare):
            if bare.count(".") > 1 and words(fold(bare)):
                found.append(bare)
            continue
        if _PLAIN_WORD.fullmatch(bare):
            if _CAMEL.search(bare):
                found.append(bare)
            continue
        if any(script != "word" for _, script in split_scripts(bare)):
            continue
        if len(bare) > 2:
            found.append(bare)
    return list(dict.fromkeys(identifier for identifier in found if identifier))[:MOST_IDENTIFIERS]


class Literals:
    """Finds exact text in chunks, over one connection and the rows of one search."""

    def __init__(
        self, connection: apsw.Connection, vocabulary: Vocabulary, rows: Rows, allowed: Sequence[int] | None
    ) -> None:
        self._connection = connection
        self._vocabulary = vocabulary
        self._rows = rows
        self._allowed = allowed
        self._parts = Parts(connection, vocabulary)
        self._found: dict[tuple[str, str, int], list[int]] = {}

    def chunks_with(self, text: str, *, whole_words: bool, most: int = MOST_CANDIDATES) -> list[int] | None:
        """Chunks whose folded text holds the folded `text`; None when more than `most` may.

        Unless `whole_words`, matches inside longer words count where there is none at the borders of words.
        """
        needle = fold(text)
        candidates = self._by_words(needle, most)
        if candidates is not None and len(candidates) <= most:
            found = self._verified(candidates, needle)
            if found or whole_words or _is_sentence(needle):
                return found
        if needle and (len(needle) > 2 or not all(map(joins_words, needle))):
            parts = self._by_parts(needle, text, whole_words=whole_words, most=most)
        else:
            return None if candidates else []
        if parts is None:
            return None
        found = self._verified(parts, needle)
        return found if found or whole_words else self._verified(parts, needle, *parts_of(needle))

    def _verified(
        self, ids: Sequence[int], needle: str, opens_left: bool = False, opens_right: bool = False
    ) -> list[int]:
        self._rows.fetch(ids)
        return [
            chunk_id
            for chunk_id in ids
            if chunk_id in self._rows and holds(self._rows.folded(chunk_id), needle, opens_left, opens_right)
        ]

    def _search(self, table: str, expression: str, most: int) -> list[int]:
        asked = (table, expression, most)
        known = self._found.get(asked)
        if known is None:
            known = self._found[asked] = self._search_table(table, expression, most)
        return known

    def _search_table(self, table: str, expression: str, most: int) -> list[int]:
        scope = "" if self._allowed is None else "AND +rowid IN (SELECT value FROM carray(?3))"
        values: list[object] = [expression, most + 1]
        if self._allowed is not None:
            values.append(id_array(self._allowed))
        found = self._connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?1 {scope} LIMIT ?2", values)
        return [int(chunk_id) for (chunk_id,) in found]

    def _by_words(self, needle: str, most: int) -> list[int] | None:
        """Chunks that hold the needle's rarest run of words as a phrase; None when it has no words that tell."""
        spelled = [word for word in words(spell(needle)) if word.strip("_")]
        if not spelled or has_half_a_pair(needle):
            return None
        stopped = stop_words(spelled) if len(spelled) > WINDOW else frozenset()
        counts = {
            position: self._vocabulary.word_frequency(word)
            for position, word in enumerate(spelled)
            if word not in stopped
        }
        rarest = min(counts, key=counts.__getitem__, default=0)
        if counts and counts[rarest] == 0:
            return []
        start = max(0, min(rarest - WINDOW // 2, len(spelled) - WINDOW))
        return self._search("chunks_fts", "body : " + quoted(" ".join(spelled[start : start + WINDOW])), most)

    def _by_parts(self, needle: str, text: str, *, whole_words: bool, most: int) -> list[int] | None:
        """Chunks that hold the needle anywhere; None when more than `most` do, or too many may."""
        try:
            expression = self._parts.expression(needle, whole_words=whole_words) if len(needle) > 2 else None
        except TooMany:
            return None
        if expression is None:
            return self._holding(self._with_sign(needle, text), needle, most)
        ids = self._search("chunks_fts", expression, MOST_LOOKED_AT) if expression else []
        if len(ids) > MOST_LOOKED_AT:
            return None
        slices = (ids[start : start + _SLICE] for start in range(0, len(ids), _SLICE))
        return self._holding((row for some in slices for row in self._texts(some)), needle, most)

    def _holding(self, rows: Iterable[tuple[int, str]], needle: str, most: int) -> list[int] | None:
        """Those whose folded text holds the needle; None when they are more than `most`."""
        found = []
        for chunk_id, text in rows:
            if holds_folded(text, needle):
                found.append(chunk_id)
                if len(found) > most:
                    return None
        return found

    def _texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        return self._connection.execute(
            "SELECT id, text FROM chunks WHERE id IN (SELECT value FROM carray(?))", (id_array(ids),)
        )

    def _with_sign(self, needle: str, text: str) -> Iterator[tuple[int, str]]:
        """Chunks that may hold what no index knows, with their texts; reads every text.

        First those that hold it as it is folded or as `text` spells it, then some of those with its signs in other
        spellings, be they full width, composed in another way, or with invisible characters between.
        """
        part = max(needle.split(" "), key=len)
        lowered = "lower(text)" if part != part.upper() else "text"
        as_written = f"(instr({lowered}, ?) OR instr(text, ?) OR instr(text, ?))"
        written = [part, part.upper(), text.strip().encode("utf-8", "replace").decode()]
        yield from self._texts_where(as_written, written)
        signs = [spellings_of(sign) for sign in dict.fromkeys(part) if not joins_words(sign)][:MOST_SIGNS]
        if signs:
            each = " AND ".join(f"({' OR '.join(['instr(text, ?)'] * len(spellings))})" for spellings in signs)
            # What folding changes is never ASCII.
            condition = f"octet_length(text) > length(text) AND {each} AND NOT {as_written}"
            yield from islice(self._texts_where(condition, [*"".join(signs), *written]), MOST_LOOKED_AT)

    def _texts_where(self, condition: str, values: Sequence[str]) -> Iterator[tuple[int, str]]:
        scope = "" if self._allowed is None else "AND +id IN (SELECT value FROM carray(?))"
        scoped = [*values, *([] if self._allowed is None else [id_array(self._allowed)])]
        return self._connection.execute(f"SELECT id, text FROM chunks WHERE {condition} {scope}", scoped)

    def of_name(self, query: Query) -> list[int]:
        """The first chunks of documents that the query names: by path, by file name, or by that without its suffix."""
        name = query.text.strip('"').replace("\\", "/").removeprefix("./")
        if not name or len(name) > LONGEST_NAME or " " in name:
            return []
        forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")} | {name}
        patterns = ["%" + re.sub(r"([%_\\])", r"\\\1", form) + "%" for form in forms]
        condition = " OR ".join(["path LIKE ? ESCAPE '\\'"] * len(patterns))
        scope = "" if self._allowed is None else " AND chunks.id IN (SELECT value FROM carray(?))"
        found = self._connection.execute(
            "SELECT chunks.id, path FROM files JOIN chunks ON chunks.file_id = files.id AND ordinal = 0 "
            f"WHERE ({condition}){scope} ORDER BY path LIMIT {MOST_CANDIDATES}",
            [*patterns, *([] if self._allowed is None else [id_array(self._allowed)])],
        )
        asked = fold(name)
        named = [(int(chunk_id), fold(str(path))) for chunk_id, path in found]
        return [chunk_id for chunk_id, path in named if asked in _names_of(path)][:MOST_NAMED]

    def of_query(self, query: Query) -> list[int]:
        """The chunks that hold the whole query as it stands, at most 50: the literal hits."""
        if query.only_phrases:
            found = self.with_phrases(query.phrases)
            return found if found is not None and len(found) <= MOST_LITERALS else []
        for text in dict.fromkeys((query.text, query.text.strip(_SENTENCE_END))):
            found = self.chunks_with(text, whole_words=False)
            if found:
                return found if len(found) <= MOST_LITERALS else []
        return []

    def with_phrases(self, phrases: Sequence[str]) -> list[int] | None:
        """The chunks that hold every quoted phrase at the borders of words; None when there are too many to tell."""
        common: set[int] | None = None
        for phrase in phrases:
            found = self.chunks_with(phrase, whole_words=True, most=10 * MOST_CANDIDATES)
            if found is not None:
                common = set(found) if common is None else common & set(found)
        return None if common is None else sorted(common)

    def identifier_evidence(self, query: Query, terms: Terms) -> dict[int, float]:
        """Σ idf over the query's identifiers that 1 to 50 chunks hold, a quarter of it for words joined by hyphens."""
        evidence: dict[int, float] = {}
        for identifier in identifiers(query):
            found = self.chunks_with(identifier, whole_words=False, most=IDENTIFIER_CANDIDATES)
            if not found or len(found) > MOST_LITERALS:
                continue
            weight = rarity(len(found), terms.chunks)
            if _HYPHENED.fullmatch(identifier):
                weight *= HYPHENED_SHARE
            for chunk_id in found:
                evidence[chunk_id] = evidence.get(chunk_id, 0.0) + weight
        return evidence


def _is_sentence(needle: str) -> bool:
    return len(words(needle)) > LONGEST_PART and blank_signs(needle) == needle


def _names_of(path: str) -> tuple[str, str, str]:
    name = path.rpartition("/")[2]
    return path, name, name.rpartition(".")[0]


def holds(folded: str, needle: str, opens_left: bool = False, opens_right: bool = False) -> bool:
    """Whether `needle` stands in `folded`, as a part of longer words only where it is open to that side."""
    return any(True for _ in places(folded, needle, opens_left, opens_right))


def places(folded: str, needle: str, opens_left: bool = False, opens_right: bool = False) -> Iterator[int]:
    """Where `needle` stands in `folded`; an end that is not open stands at the border of a word.

    `_` and signs border words, and so does every CJK or Thai character. A version is no part of a longer number.
    """
    if not needle:
        return
    before = not opens_left and joins_words(needle[0])
    after = not opens_right and joins_words(needle[-1])
    no_digit = opens_left and is_version(needle)
    position = folded.find(needle)
    while position >= 0:
        end = position + len(needle)
        ahead = folded[position - 1 : position]
        inside = (ahead and ((before and joins_words(ahead)) or (no_digit and ahead.isdigit()))) or (
            after and end < len(folded) and joins_words(folded[end])
        )
        if not inside:
            yield position
        position = folded.find(needle, position + 1)
