"""Where in a hit the answer stands: its best line, and the text around it."""

from __future__ import annotations

from collections.abc import Sequence

from core.records import record
from core.regexes import late_regex
from core.search.literal import places
from core.search.query import Query
from core.search.terms import COMMON_WORTH, Term, Terms
from core.text.analysis import fold, joins_words

SNIPPET_CHARACTERS = 700
LITERAL_WORTH = 1000.0
PAIR_WORTH = 0.5
PART_WORTH = 0.4


@record(frozen=True, slots=True)
class Match:
    """The best place in a chunk's text: its line (0-based), where it begins within it, and the words found in all.

    `line` is 0 and `start` 0 where no word of the query stands.
    """

    line: int
    start: int
    matched: tuple[str, ...]
    found: bool


def find_match(text: str, query: Query, terms: Terms) -> Match:
    """The line of `text` that holds the whole query, or a phrase of it, or the most and the rarest of its words."""
    lines = text.split("\n")
    folded = [fold(line) for line in lines]
    joined = " ".join(folded)
    worths = terms.worth
    needles = [_Needle(term, worths[term.word]) for term in terms.asked if _may_stand(joined, term)]
    pairs = [
        (pair, PAIR_WORTH * min(worths.get(first.word, COMMON_WORTH), worths.get(second.word, COMMON_WORTH)))
        for first, second in terms.neighbours
        if (pair := f"{first.word} {second.word}") in joined
    ]
    literal = _literal_place(folded, query)
    matched: set[str] = set()
    best = (0.0, 0, 0)
    for number, line in enumerate(folded):
        gain, start, rarest = 0.0, 0, 0.0
        for needle in needles:
            place = needle.place(line)
            if place is None:
                continue
            position, whole = place
            worth = needle.worth * (1.0 if whole else PART_WORTH)
            gain += worth
            if whole:
                matched.add(needle.word)
            if worth > rarest:
                rarest, start = worth, position
        gain += sum(worth for pair, worth in pairs if pair in line)
        if literal is not None and literal[0] == number:
            gain, start = gain + LITERAL_WORTH, literal[1]
        if gain > best[0]:
            best = (gain, number, start)
    words = tuple(term.word for term in terms.asked if term.word in matched)
    return Match(best[1], original_position(lines[best[1]], best[2]), words, best[0] > 0.0)


def _may_stand(joined: str, term: Term) -> bool:
    return term.word in joined or (len(term.tokens) == 1 and term.tokens[0] in joined)


class _Needle:
    """A word to look for in folded lines."""

    __slots__ = ("_stem", "word", "worth")

    def __init__(self, term: Term, worth: float) -> None:
        self.word = term.word
        self.worth = worth
        self._stem = term.tokens[0] if len(term.tokens) == 1 and term.script == "word" else None

    def place(self, line: str) -> tuple[int, bool] | None:
        """Where the word, or its stem at the beginning of a word, stands, and whether as a word."""
        if self.word in line:
            at = next(places(line, self.word), None)
            if at is not None:
                return at, True
        if self._stem is not None:
            at = line.find(self._stem)
            while at >= 0:
                if at == 0 or not joins_words(line[at - 1]):
                    return at, True
                at = line.find(self._stem, at + 1)
        at = line.find(self.word) if len(self.word) > 2 else -1
        return (at, False) if at >= 0 else None


def _literal_place(folded: Sequence[str], query: Query) -> tuple[int, int] | None:
    """Line and position of the whole query or of its longest phrase; one that spans lines counts where it begins."""
    filled = [(number, line) for number, line in enumerate(folded) if line]
    joined = " ".join(line for _, line in filled)
    phrases = sorted((fold(phrase) for phrase in query.phrases), key=len, reverse=True)
    for needle in (query.folded, query.folded.strip(" .?!,;:…"), *phrases):
        at = joined.find(needle) if needle else -1
        if at < 0:
            continue
        at = next(places(joined, needle), at)
        for number, line in filled:
            if at < len(line):
                return number, at
            at -= len(line) + 1
    return None


def original_position(line: str, folded_position: int) -> int:
    """Where in a line the character stands that folding moved to `folded_position`."""
    if line.isascii() and "  " not in line and not line[:1].isspace() and line.isprintable():
        return min(folded_position, len(line))
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if len(fold(line[:middle])) <= folded_position:
            low = middle
        else:
            high = middle - 1
    return low


_BREAK = late_regex(r"\s")


def snippet(text: str, match: Match, *, limit: int = SNIPPET_CHARACTERS) -> str:
    """Up to `limit` characters of `text` around the match: whole lines where they fit, cut between words where not."""
    if len(text) <= limit:
        return text.strip("\n")
    lines = text.split("\n")
    if len(lines[match.line]) > limit:
        return _cut(lines[match.line], match.start, limit)
    first = last = match.line
    size = len(lines[match.line])
    while True:
        grown = False
        if last + 1 < len(lines) and size + 1 + len(lines[last + 1]) <= limit:
            last += 1
            size += 1 + len(lines[last])
            grown = True
        if (
            first > 0
            and size + 1 + len(lines[first - 1]) <= limit
            and (match.line - first <= last - match.line or not grown)
        ):
            first -= 1
            size += 1 + len(lines[first])
            grown = True
        if not grown:
            break
    shown = "\n".join(lines[first : last + 1]).strip("\n")
    if len(shown) < limit // 2 and len(text) > limit:
        start = sum(len(line) + 1 for line in lines[: match.line]) + match.start
        return _cut(text, start, limit)
    return shown


def _cut(text: str, position: int, limit: int) -> str:
    """`limit` characters around a position, a third of them before it, ending between words where one ends near."""
    start = max(0, min(position - limit // 3, len(text) - limit))
    end = min(len(text), start + limit)
    if start > 0:
        gap = _BREAK.search(text, start, min(position, start + 40))
        start = gap.end() if gap else start
    if end < len(text):
        gap_at = max(text.rfind(" ", end - 40, end), text.rfind("\n", end - 40, end))
        if gap_at > position:
            end = gap_at
    return text[start:end].strip("\n")
