"""Records are dataclasses in all that can be seen; only their methods are written later."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

from core.records import record

ROOT = Path(__file__).resolve().parents[1]
Maker = Callable[..., Callable[[type], type]]


@record(frozen=True, slots=True)
class Spot:
    """Where."""

    x: int
    y: int = 2
    names: tuple[str, ...] = ()
    extra: Mapping[str, int] = field(default_factory=dict)
    unseen: str = field(default="", repr=False, compare=False)

    @property
    def total(self) -> int:
        return self.x + self.y


@record(frozen=True, slots=True)
class Marked(Spot):
    mark: str = "!"


@record(slots=True)
class Tally:
    count: int = 0
    seen: list[int] = field(default_factory=list)


@record(slots=True, eq=False)
class Ticket:
    number: int


@record(frozen=True, slots=True, kw_only=True)
class Named:
    first: str
    last: str = "x"


@record(frozen=True, slots=True)
class Nothing:
    pass


@record(frozen=True, slots=True)
class One:
    value: object


@record(frozen=True, slots=True)
class Folded:
    word: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", self.word.casefold())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folded)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return f"<{self.word}>"


def twins(maker: Maker, **options: Any) -> type:
    """The same class, declared by one or the other."""

    class Twin:
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, compare=False)
        d: bytes = field(default=b"", repr=False)

    return maker(**options)(Twin)


@pytest.mark.parametrize(
    "options",
    [{"frozen": True}, {}, {"eq": False}, {"frozen": True, "kw_only": True}, {"frozen": True, "slots": False}],
)
def test_a_record_looks_like_a_dataclass(options: dict[str, bool]) -> None:
    options = {"slots": True, **options}
    ours, theirs = twins(record, **options), twins(dataclass, **options)
    values = {"a": 1, "c": [3]}

    assert repr(ours(**values)) == repr(theirs(**values))
    assert asdict(ours(**values)) == asdict(theirs(**values))
    assert [(each.name, each.type, each.default, each.kw_only) for each in fields(ours)] == [
        (each.name, each.type, each.default, each.kw_only) for each in fields(theirs)
    ]
    assert ours.__annotations__ == theirs.__annotations__
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours(**values), "__dict__") == hasattr(theirs(**values), "__dict__")
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert (ours(**values) == ours(**values)) == (theirs(**values) == theirs(**values))
    for wrong in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(TypeError) as our_refusal:
            ours(*wrong)
        with pytest.raises(TypeError) as their_refusal:
            theirs(*wrong)
        assert str(our_refusal.value) == str(their_refusal.value)


def test_what_is_left_out_has_its_default_and_lists_are_new_each_time() -> None:
    spot, other = Spot(1), Spot(1)
    assert (spot.x, spot.y, spot.names, spot.extra, spot.unseen, spot.total) == (1, 2, (), {}, "", 3)
    assert spot.extra is not other.extra
    assert Tally().seen is not Tally().seen


def test_equal_records_have_equal_fields_class_and_hash() -> None:
    assert One((1, 2)) == One((1, 2))
    assert hash(One((1, 2))) == hash(One((1, 2)))
    assert One(1) != One(2)
    assert One(1) != Folded("1")
    assert Spot(1, unseen="a") == Spot(1, unseen="b")
    assert Marked(1) != Spot(1)
    assert {Nothing(): 1}[Nothing()] == 1
    assert Named(first="a") == Named(first="a")


def test_a_record_that_changes_has_no_hash_and_one_without_equality_is_itself() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Tally())
    assert Tally(1, [2]) == Tally(1, [2])
    assert Ticket(1) != Ticket(1)
    assert len({Ticket(1), Ticket(1)}) == 2


def test_a_frozen_record_refuses_every_change() -> None:
    spot = Spot(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        spot.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del spot.x  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        spot.other = 2  # type: ignore[attr-defined]
    assert spot == Spot(1)


@pytest.mark.parametrize(
    "value", [Spot(1, 3, ("a",), {"b": 4}, "c"), Marked(1, mark="?"), Tally(2, [1]), Named(first="a"), Nothing()]
)
def test_a_record_is_pickled_copied_and_replaced(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == copy.deepcopy(value) == replace(value) == value
    assert is_dataclass(value)


def test_replace_changes_what_it_is_told_alone() -> None:
    assert replace(Spot(1, names=("a",)), y=5) == Spot(1, 5, ("a",))
    assert replace(Marked(1), mark="?", x=2) == Marked(2, mark="?")


def test_a_record_s_own_methods_win() -> None:
    assert Folded("ABC").word == "abc"
    assert Folded("a") == Folded("b")
    assert hash(Folded("a")) == 7
    assert repr(Folded("A")) == "<a>"


def test_a_record_is_matched_by_its_fields() -> None:
    match Spot(1, 9):
        case Spot(x, y):
            assert (x, y) == (1, 9)
        case _:
            pytest.fail("not matched")


def test_a_record_that_holds_itself_can_be_shown() -> None:
    tally = Tally()
    tally.seen.append(tally)  # type: ignore[arg-type]
    assert repr(tally) == "Tally(count=0, seen=[...])"


def test_a_class_below_a_record_is_made_like_it() -> None:
    class Below(Named):
        pass

    assert Below(first="a").last == "x"
    assert Named(first="a").first == "a"


def test_a_record_without_slots_can_keep_what_it_works_out() -> None:
    @record(frozen=True)
    class Kept:
        x: int
        y: int = 3

        @cached_property
        def double(self) -> int:
            return self.x * 2

    kept = Kept(2)
    assert (kept.x, kept.y, kept.double, kept.double) == (2, 3, 4, 4)
    assert kept == Kept(2)
    assert hash(kept) == hash(Kept(2))
    with pytest.raises(FrozenInstanceError):
        kept.x = 3  # type: ignore[misc]


def test_a_record_may_have_what_is_no_field() -> None:
    @record(slots=True)
    class Counted:
        made: ClassVar[int] = 0
        x: int
        _: KW_ONLY
        y: int = 2

    assert [each.name for each in fields(Counted)] == ["x", "y"]
    assert (Counted(1, y=3).y, Counted.made) == (3, 0)
    with pytest.raises(TypeError):
        Counted(1, 3)  # type: ignore[misc]


def test_declaring_a_record_writes_no_method() -> None:
    code = (
        "import builtins, dataclasses\n"
        "from core.records import record\n"
        "seen, run = [], builtins.exec\n"
        "builtins.exec = lambda *given: (seen.append(given[0]), run(*given))[1]\n"
        "@record(frozen=True, slots=True)\n"
        "class Pair:\n"
        "    a: int\n"
        "    b: int = 2\n"
        "written = lambda: [text for text in seen if 'self' in str(text)]\n"
        "assert not written(), seen\n"
        "assert (Pair(1).b, Pair(3).a) == (2, 3)\n"
        "assert len(written()) == 1, seen\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_dataclasses_and_records_stand_above_and_below_each_other() -> None:
    @dataclass(frozen=True, slots=True)
    class Lower(Spot):
        depth: int = 7

    @record(frozen=True, slots=True)
    class Lowest(Lower):
        more: int = 8

    lowest = Lowest(1)
    assert (lowest.x, lowest.depth, lowest.more) == (1, 7, 8)
    assert Lower(1) == Lower(1) != Lower(2)
    for value in (Lower(1), lowest):
        with pytest.raises(FrozenInstanceError):
            value.x = 3  # type: ignore[misc]
