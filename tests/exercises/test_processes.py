"""A learner's function with the data of another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

import pytest

from mcpsim.course.exercises.processes import in_another_process

KEPT: Final[list[int]] = []


class Shelf:
    """A class that keeps something itself, as beginners do."""

    kept: list[int] = []  # noqa: RUF012 - what learners do
    count = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def keep(self) -> int:
        self.kept.append(self.number)
        return len(Shelf.kept)

    @classmethod
    def counted(cls) -> int:
        cls.count += 1
        return cls.count

    @staticmethod
    def added(number: int) -> int:
        Shelf.kept.append(number)
        return len(Shelf.kept)

    @property
    def size(self) -> int:
        self.kept.append(self.number)
        return len(self.kept)


class Box:
    """Nothing but a place for data."""


SHELF: Final = Shelf(7)


class Counter:
    def __init__(self) -> None:
        self.at: list[int] = []

    def __call__(self, number: int) -> int:
        self.at.append(number)
        return len(self.at)


COUNTER: Final = Counter()


def by_global(number: int) -> int:
    KEPT.append(number)
    return len(KEPT)


def by_helper(number: int) -> int:
    return by_global(number)


def by_object(number: int) -> int:
    return COUNTER(number)


def by_default(number: int, kept: list[int] = []) -> int:  # noqa: B006 - what learners do
    kept.append(number)
    return len(kept)


def by_keyword(number: int, *, kept: list[int] = []) -> int:  # noqa: B006 - what learners do
    kept.append(number)
    return len(kept)


def by_attribute(number: int) -> int:
    by_attribute.kept.append(number)  # type: ignore[attr-defined]
    return len(by_attribute.kept)  # type: ignore[attr-defined]


by_attribute.kept = []  # type: ignore[attr-defined]


def by_class(number: int) -> int:
    return Shelf(number).keep()


def by_class_method(number: int) -> int:
    return Shelf.counted()


def by_static_method(number: int) -> int:
    return Shelf.added(number)


def by_property(number: int) -> int:
    return Shelf(number).size


def by_class_of_object(number: int) -> int:
    return SHELF.keep()


def by_empty_class(number: int) -> int:
    Box.count = getattr(Box, "count", 0) + 1  # type: ignore[attr-defined]
    return Box.count  # type: ignore[attr-defined]


@cache
def by_cached_answer(number: int) -> int:
    return Shelf.counted()


@cache
def memory() -> list[int]:
    return []


def by_cache(number: int) -> int:
    memory().append(number)
    return len(memory())


def by_inner(number: int) -> int:
    return max(by_global(one) for one in [number])


def around() -> Callable[[int], int]:
    kept: list[int] = []

    def by_variable(number: int) -> int:
        kept.append(number)
        return len(kept)

    return by_variable


@pytest.mark.parametrize(
    "remembers",
    [
        by_global,
        by_helper,
        by_object,
        by_default,
        by_keyword,
        by_attribute,
        by_class,
        by_class_method,
        by_static_method,
        by_property,
        by_class_of_object,
        by_empty_class,
        by_cache,
        by_cached_answer,
        by_inner,
        around(),
        Counter(),
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_what_one_process_remembers_the_other_does_not(remembers: Any) -> None:
    here, there = in_another_process(remembers), in_another_process(remembers)
    assert [here(1), here(2)] == [1, 2], "within one process it remembers"
    assert there(3) == 1
    assert [here(4), there(5)] == [3, 2]
    assert in_another_process(remembers)(6) == 1, "and the learner's own data was not touched"


class Place(NamedTuple):
    name: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    name: str
    parts: tuple[int, ...] = ()


class Kind(Enum):
    FIRST = 1
    SECOND = 2


T = TypeVar("T")


class Page(Generic[T]):
    count = 0

    def __init__(self, value: T) -> None:
        self.value = value


class Last(Exception):
    """There is nothing more."""


class Reading:
    def first(self, text: str) -> str:
        if text == "":
            raise Last
        return text[0]


class Like(type):
    """Says itself what it is equal to, so that it is no key."""

    def __eq__(cls, other: object) -> bool:
        return True


class Liked(metaclass=Like):
    kept: ClassVar[list[int]] = []


class Codec:
    """Knows those that come from it."""

    kinds: ClassVar[dict[str, type[Codec]]] = {}
    tag = ""

    def __init_subclass__(cls) -> None:
        Codec.kinds[cls.tag] = cls


class One(Codec):
    tag = "1:"


BY_CLASS: Final = {Place: "place", Mark: "mark"}


class Where(Enum):
    START = Mark("start")


KNOWN: Final[dict[str, Any]] = {"place": [Place("x")], "mark": {Mark("x"): 1}}


class Base:
    unit = "page"

    def __init__(self, name: str) -> None:
        self.name = name

    def told(self) -> str:
        return f"{self.unit} {self.name}"


class Inner(Base):
    unit = "part"

    def __init__(self, name: str) -> None:
        super().__init__(f"of {name}")
        self.times = getattr(self, "times", 0) + 1


def ends_early(text: str) -> str:
    try:
        return Reading().first(text[1:])
    except Last:
        return "the end"


def with_classes(name: str) -> tuple[Any, ...]:
    inner, place, mark = Inner(name), Place(name), Mark(name)
    return (
        inner.told(),
        inner.times,
        isinstance(inner, Base),
        KNOWN["place"] == [place],
        isinstance(KNOWN["place"][0], Place),
        KNOWN["mark"] == {mark: 1},
        BY_CLASS[type(place)],
        isinstance(Where.START.value, Mark),
        Page[str](name).value,
        ends_early(name),
        Liked.kept == [],
        Codec.kinds[One.tag] is One,
        len(Codec.kinds),
        len(Codec.__subclasses__()),
        Base(name).told(),
        place == Place(name, 0),
        place._replace(number=2).number,
        type(place) is Place,
        mark == Mark(name),
        {mark: 1}[Mark(name)],
        type(mark) is Mark,
        repr(mark),
        Kind(1) is Kind.FIRST,
        repr(place),
    )


def test_classes_do_there_what_they_do_here() -> None:
    assert in_another_process(with_classes)("x") == with_classes("x")
    assert (Codec.kinds, Codec.__subclasses__()) == ({"1:": One}, [One])


def test_what_a_class_had_before_a_call_it_has_after_it() -> None:
    class Kept:
        first: ClassVar[list[int]] = []
        second = 1

    def changes() -> None:
        Kept.first.append(1)
        Kept.second += 1
        Kept.third = 3  # type: ignore[attr-defined]
        raise KeyError

    here = in_another_process(changes)
    for _ in range(2):
        with pytest.raises(KeyError):
            here()
        assert (Kept.first, Kept.second, hasattr(Kept, "third")) == ([], 1, False)


def test_what_stands_in_a_tuple_is_what_it_is_elsewhere() -> None:
    one = Counter()
    several = (one, frozenset((one,)))

    def uses() -> Any:
        return one, several

    mine, (first, more) = in_another_process(uses)()
    assert mine is first
    assert mine is not one
    assert more == {mine}


def test_a_function_that_calls_itself_stays_one() -> None:
    def factorial(number: int) -> int:
        return 1 if number < 2 else number * factorial(number - 1)

    assert in_another_process(factorial)(5) == 120


def test_what_two_of_its_variables_share_they_share_there_too() -> None:
    kept: list[int] = []
    by_name = {"kept": kept}

    def looks(number: int) -> list[int]:
        kept.append(number)
        return by_name["kept"]

    assert in_another_process(looks)(1) == [1]
    assert kept == []


def test_one_process_has_one_set_of_variables() -> None:
    values = {"count": 0}
    source = (
        "def add():\n    global count\n    count += 1\n    return read()\ndef read():\n    return count\n"
    )
    exec(source, values)
    add: Any = values["add"]
    here, there = in_another_process(add), in_another_process(add)
    assert [here(), here(), there()] == [1, 2, 1]
    assert values["count"] == 0


def test_a_copy_that_fails_leaves_nothing_behind() -> None:
    kept = [1]
    stuck = [kept, (one for one in (1, 2))]

    def uses() -> Any:
        return kept, stuck

    mine, theirs = in_another_process(uses)()
    assert (mine, mine is kept) == ([1], False)
    assert theirs is stuck


def test_what_is_no_data_of_the_learner_is_shared() -> None:
    assert in_another_process(len) is len
    assert in_another_process(None) is None


def test_what_cannot_be_copied_stays() -> None:
    stuck = [open]  # a builtin is copied as it is
    generator = (one for one in (1, 2))

    def uses() -> Any:
        return stuck, generator

    made, same = in_another_process(uses)()
    assert made == stuck
    assert same is generator
