"""`dataclass`, `field` and `replace` of the standard library, without what they cost at start-up.

Importing `dataclasses` loads `inspect` and costs as much as two bare Python starts; each class then
compiles half a dozen functions. Here a class compiles its `__init__` when its first object is made,
and nothing else. Type checkers see the originals, and the functions of the standard module
(`fields`, `asdict`, `replace`) take these classes as their own.

Only what Tongs uses is there: `frozen`, `slots`, `eq`, defaults, factories, `__post_init__`.
"""

from __future__ import annotations

from _operator import attrgetter  # the public module is another file to find
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]

_MISSING = object()


class _Factory:
    """Stands in the body of a class where a default is made anew for each object."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _Init:
    """Stands for `__init__` until somebody asks for it, then compiles it in its own place."""

    __slots__ = ("_frozen", "_owner")

    def __init__(self, owner: Any, frozen: bool) -> None:
        self._owner = owner
        self._frozen = frozen

    def __get__(self, instance: Any, owner: Any) -> Any:
        made = _compiled_init(self._owner, self._frozen)
        self._owner.__init__ = made
        return made if instance is None else made.__get__(instance, owner)


class _StandardFields:
    """What makes the functions of `dataclasses` take a class; made when one of them looks."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        import dataclasses  # noqa: PLC0415, TID251 - whoever looks here has loaded it

        def standard(name: str) -> Any:
            default = owner.__record_defaults__.get(name, dataclasses.MISSING)
            if isinstance(default, _Factory):
                return dataclasses.field(default_factory=default.make)
            return dataclasses.field(default=default)

        names = [(name, Any, standard(name)) for name in owner.__match_args__]
        made = dataclasses.make_dataclass(owner.__name__, names)
        owner.__dataclass_fields__ = made.__dataclass_fields__  # type: ignore[attr-defined]  # made above
        return owner.__dataclass_fields__


_STANDARD_FIELDS = _StandardFields()


def _field(*, default_factory: Callable[[], Any]) -> Any:
    return _Factory(default_factory)


def _dataclass(
    cls: Any = None, *, frozen: bool = False, slots: bool = False, eq: bool = True
) -> Any:
    if cls is None:
        return lambda made: _dataclass(made, frozen=frozen, slots=slots, eq=eq)
    own = cls.__annotations__
    defaults = dict(getattr(cls, "__record_defaults__", ()))
    for name in own:
        if name in cls.__dict__:
            defaults[name] = _checked(name, cls.__dict__[name])
    if slots:
        # Slots are a matter of making a class, so it is made again, as the original does.
        body = {k: v for k, v in cls.__dict__.items() if k not in own and k not in _NOT_COPIED}
        cls = type(cls)(cls.__name__, cls.__bases__, {**body, "__slots__": tuple(own)})
    else:
        for name in own:
            if isinstance(cls.__dict__.get(name), _Factory):
                delattr(cls, name)
    inherited = getattr(cls, "__match_args__", ())
    cls.__match_args__ = tuple(dict.fromkeys((*inherited, *own)))  # type: ignore[misc]  # of any class
    cls.__record_defaults__ = defaults
    cls.__dataclass_fields__ = _STANDARD_FIELDS
    cls.__init__ = _Init(cls, frozen)
    cls.__reduce__ = _reduced
    cls.__replace__ = _replace
    if "__repr__" not in cls.__dict__:
        cls.__repr__ = _shown
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _refused
    if eq and "__eq__" not in cls.__dict__:
        cls.__eq__ = _equal
        cls.__hash__ = _hashed if frozen else None
    return cls


_NOT_COPIED = ("__dict__", "__weakref__")


def _replace(instance: Any, /, **changes: Any) -> Any:
    names, values = instance.__match_args__, [*_values(instance)]
    for name, value in changes.items():
        if name not in names:
            raise TypeError(f"{instance.__class__.__qualname__} has no field {name!r}")
        values[names.index(name)] = value
    return instance.__class__(*values)


def _checked(name: str, default: Any) -> Any:
    if default.__class__.__hash__ is None:
        raise ValueError(f"the default of {name} can change; use field(default_factory=…)")
    return default


def _compiled_init(cls: Any, frozen: bool) -> Any:
    parameters, lines, own = ["self"], [], []
    names: dict[str, Any] = {"_MISSING": _MISSING}
    for name in cls.__match_args__:
        default = cls.__record_defaults__.get(name, _MISSING)
        value = name
        if isinstance(default, _Factory):
            names[f"_make_{name}"] = default.make
            value = f"_make_{name}() if {name} is _MISSING else {name}"
            parameters.append(f"{name}=_MISSING")
        elif default is _MISSING:
            parameters.append(name)
        else:
            names[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        if not frozen:
            lines.append(f"self.{name} = {value}")
        elif (put := getattr(getattr(cls, name, None), "__set__", None)) is not None:  # a slot
            names[f"_set_{name}"] = put
            lines.append(f"_set_{name}(self, {value})")
        else:
            # Not by attribute, which would be refused; several times faster than `object`'s way.
            lines.append(f"_own[{name!r}] = {value}")
            own = ["_own = self.__dict__"]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join([*own, *lines] or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", names)
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {**cls.__annotations__, "return": None}
    return init


# By class; made when it is first needed, since most classes never are compared.
_getters: dict[type, Callable[[Any], Any]] = {}


def _values(instance: Any) -> tuple[Any, ...]:
    get = _getters.get(instance.__class__)
    if get is None:
        names = instance.__match_args__
        if len(names) < 2:  # for one name it would give no tuple
            return tuple([getattr(instance, name) for name in names])
        get = _getters[instance.__class__] = attrgetter(*names)
    values: tuple[Any, ...] = get(instance)
    return values


def _equal(self: Any, other: Any) -> Any:
    if other is self:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values(self) == _values(other)


def _hashed(self: Any) -> int:
    return hash(_values(self))


def _shown(self: Any) -> str:
    inner = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__match_args__])
    return f"{self.__class__.__qualname__}({inner})"


def _reduced(self: Any) -> tuple[Any, ...]:
    return self.__class__, _values(self)


def _refused(self: Any, name: str, value: Any = _MISSING) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415, TID251 - only for a mistake

    verb = "delete" if value is _MISSING else "assign to"
    raise FrozenInstanceError(f"cannot {verb} field {name!r}")


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace  # noqa: TID251 - for type checkers only
else:
    dataclass, field, replace = _dataclass, _field, _replace
