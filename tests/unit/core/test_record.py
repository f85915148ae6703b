"""The classes made by `record` behave as those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest

from tongs.core.record import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)

    def moved(self) -> Point:
        return replace(self, x=self.x + 1)


@dataclasses.dataclass(frozen=True, slots=True)
class StandardPoint:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclass(slots=True)
class Open:
    name: str = "open"


@dataclass(frozen=True)
class Checked:
    size: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", abs(self.size))


@dataclass(eq=False)
class Trouble(Exception):
    reasons: tuple[str, ...] = ()


def test_positional_and_keyword_values_and_defaults_arrive() -> None:
    point = Point(1, tags=["a"])
    assert (point.x, point.y, point.tags) == (1, 2, ["a"])


def test_a_factory_makes_a_new_default_for_each_object() -> None:
    assert Point(1).tags is not Point(1).tags


def test_a_missing_or_unknown_value_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]  # what is tested
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=3)  # type: ignore[call-arg]  # what is tested


def test_equality_hash_and_text_are_those_of_the_standard_library() -> None:
    assert Point(1, 2) == Point(1)
    assert Point(1) != Point(2)
    assert Point(1) != StandardPoint(1)
    assert hash(Checked(3)) == hash(Checked(-3))
    assert repr(Point(1)) == repr(StandardPoint(1)).replace("StandardPoint", "Point")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open())


def test_a_frozen_object_refuses_every_change() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]  # what is tested
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x  # type: ignore[misc]  # what is tested


def test_a_slotted_object_has_no_other_attributes() -> None:
    made = Open()
    made.name = "changed"
    assert not hasattr(made, "__dict__")
    with pytest.raises(AttributeError):
        made.other = 1  # type: ignore[attr-defined]  # what is tested


def test_replace_makes_a_changed_copy() -> None:
    before = Point(1, tags=["a"])
    assert before.moved() == Point(2, tags=["a"])
    assert before == Point(1, tags=["a"])
    assert dataclasses.replace(before, y=5) == Point(1, 5, ["a"])
    with pytest.raises(TypeError, match="Point has no field 'z'"):
        replace(before, z=3)  # type: ignore[call-arg]  # what is tested


def test_post_init_runs_last() -> None:
    assert Checked(-4).size == 4


def test_an_exception_carries_its_fields() -> None:
    with pytest.raises(Trouble) as caught:
        raise Trouble(("one",))
    assert caught.value.reasons == ("one",)
    assert caught.value != Trouble(("one",))


def test_the_functions_of_the_standard_library_take_the_objects() -> None:
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "tags": []}
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "tags"]


def test_the_signature_is_known_before_the_first_object() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        a: int
        b: str = "b"

    assert list(inspect.signature(Fresh).parameters) == ["a", "b"]
    assert Fresh(1).b == "b"


def test_objects_can_be_copied_pickled_and_matched() -> None:
    point = Point(1, tags=["a"])
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_fields_are_inherited_in_order() -> None:
    @dataclass(frozen=True, slots=True)
    class Base:
        a: int = 1

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        b: int = 2

    assert repr(Derived(b=3)).endswith("Derived(a=1, b=3)")
    assert Derived() == Derived(1, 2)


def test_a_default_that_can_change_is_refused() -> None:
    with pytest.raises(ValueError, match="default_factory"):

        @dataclass(frozen=True)
        class _Wrong:
            items: Any = []  # noqa: RUF012 - what is tested


def test_the_standard_module_is_not_loaded() -> None:
    # A coverage tool that rides along has loaded it before anything of ours.
    program = (
        "import sys; before = 'dataclasses' in sys.modules; import tongs.core.tool; "
        "print(not before and 'dataclasses' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"


def test_repr_of_a_class_is_its_own_affair() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    assert repr(Named("x")) == "<x>"
