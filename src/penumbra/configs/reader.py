"""From a table of a TOML file to a frozen dataclass, by the dataclass' fields: a key is a field's name, and the field's
type says what its value may be.

    @dataclass(frozen=True)
    class Schedule:
        rule: Literal["constant", "cosine"]  # no default: the key must be there
        steps: Count = 100                   # a whole number from 1
        share: Share = 0.5                   # a number from 0 to 1
        seconds: Positive | None = None      # may be left out
        players: tuple[str, ...] = ()        # a list
        settings: Mapping[str, Any] = field(default_factory=dict)  # a table

    schedule = read(Schedule, read_toml(path))

Types are bool, int, float, str, Literal, any of these in Annotated with a `Limit` or `OneOf`, lists and tables of them,
other dataclasses, and unions. A list has at least one value. Whatever is wrong is a `ConfigurationError` of one line:
where, the key, its value, and what is allowed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
LONGEST = 60  # characters of a value that an error quotes


class ConfigurationError(ValueError):
    """A configuration that cannot be used; one line that says where and why."""


# -- what a value may be


@dataclass(frozen=True)
class Limit:
    """Narrows a type: which of its values are allowed, by a test and in words that follow the type's."""

    words: str
    allows: Callable[[Any], bool]


@dataclass(frozen=True)
class OneOf:
    """Narrows a text to some names."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"one of {', '.join(self.names)}"

    def allows(self, value: Any) -> bool:
        return value in self.names


def at_least(least: int) -> Limit:
    return Limit(f"from {least}", lambda number: number >= least)


Natural = Annotated[int, at_least(0)]
Count = Annotated[int, at_least(1)]
Share = Annotated[float, Limit("from 0 to 1", lambda number: 0 <= number <= 1)]
NotNegative = Annotated[float, Limit("from 0", lambda number: 0 <= number < math.inf)]
Positive = Annotated[float, Limit("above 0", lambda number: 0 < number < math.inf)]
Unlimited = Annotated[float, Limit("from 0, or inf", lambda number: number >= 0)]
Name = Annotated[str, Limit("that is not empty", bool)]


# -- reading


def read_toml(path: str | Path) -> dict[str, Any]:
    """What a file holds."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as reason:
        raise ConfigurationError(f"{path}: cannot be read: {reason.strerror or reason}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not a text file") from None
    except (ValueError, RecursionError) as reason:  # TOMLDecodeError, or a number of thousands of digits
        raise ConfigurationError(f"{path}: is not TOML: {reason}") from None


def read(kind: type[T], table: Mapping[str, Any]) -> T:
    """The dataclass that a table describes."""
    values = checked(kind, table)
    for key in dataclasses.fields(kind):  # type: ignore[arg-type]
        required = key.default is dataclasses.MISSING and key.default_factory is dataclasses.MISSING
        if required and key.name not in values:
            raise ConfigurationError(f"{key.name} is missing: {_allowed(_types(kind)[key.name])}")
    return kind(**values)


def checked(kind: type, table: Mapping[str, Any]) -> dict[str, Any]:
    """The table's values as the dataclass has them, whether it has all keys or not."""
    hints = _types(kind)
    for key in table:
        if key not in hints:
            raise ConfigurationError(f"there is no {key!r}; there are {', '.join(hints)}")
    return {key: _checked(hints[key], key, value) for key, value in table.items()}


def check(made: Any) -> None:
    """Checks a dataclass that was made without a table, in its __post_init__."""
    for key, hint in _types(type(made)).items():
        _checked(hint, key, getattr(made, key))


def replaced(made: T, changes: Mapping[str, Any]) -> T:
    """The same dataclass but for these keys."""
    return dataclasses.replace(made, **checked(type(made), changes))  # type: ignore[type-var]


def from_text(kind: type, key: str, text: str) -> Any:
    """A key's value as an environment variable has it, where it is a word or a number."""
    hint = _types(kind)[key]
    value: Any = text
    for plain, parse in ((bool, _flag), (int, int), (float, float)):
        if _is_made_of(hint, plain):
            with contextlib.suppress(ValueError):
                value = parse(text)
    try:
        return _fitted(hint, key, value)
    except _MisfitError:
        raise ConfigurationError(_allowed(hint)) from None


@contextlib.contextmanager
def within(where: str | Path) -> Iterator[None]:
    """Errors inside are configuration errors that begin with where they are."""
    try:
        yield
    except ValueError as error:
        raise ConfigurationError(" ".join(f"{where}: {error}".splitlines())) from None


# -- values and types


class _MisfitError(Exception):
    """A value that is not what its type says."""


def _types_of(kind: Any) -> dict[str, Any]:
    """The types of a dataclass' fields, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    return {key.name: hints[key.name] for key in dataclasses.fields(kind)}


_types: Callable[[Any], dict[str, Any]] = functools.cache(_types_of)


def _checked(hint: Any, key: str, value: Any) -> Any:
    try:
        return _fitted(hint, key, value)
    except _MisfitError:
        quoted = repr(value)
        quoted = quoted if len(quoted) <= LONGEST else f"{quoted[:LONGEST]}…"
        raise ConfigurationError(f"{key} = {quoted}: {_allowed(hint)}") from None


def _fitted(hint: Any, key: str, value: Any) -> Any:
    """The value as the type has it: a list becomes a tuple, a whole number a number, a table a dataclass."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value = _fitted(parts[0], key, value)
        return _fits(parts[1].allows(value), value)
    if origin in (Union, types.UnionType):
        return _fitted_to_any(parts, key, value)
    if origin is Literal:
        return _fits(value in parts, value)
    if origin is tuple:
        _fits(isinstance(value, list | tuple) and len(value) > 0, value)
        return tuple(_fitted(parts[0], f"{key} {number}", each) for number, each in enumerate(value, 1))
    if origin is not None:
        _fits(isinstance(value, Mapping) and all(isinstance(name, str) for name in value), value)
        return {name: _fitted(parts[1], f"{key}.{name}", each) for name, each in value.items()}
    if dataclasses.is_dataclass(hint):
        return _fitted_dataclass(hint, key, value)
    if hint is float:
        _fits(isinstance(value, Real) and not isinstance(value, bool), value)
        try:
            return float(value)
        except OverflowError:
            raise _MisfitError from None
    if hint is int:
        return _fits(isinstance(value, Integral) and not isinstance(value, bool), value)
    return value if hint is Any else _fits(isinstance(value, hint), value)


def _fitted_to_any(hints: tuple[Any, ...], key: str, value: Any) -> Any:
    for hint in hints:
        with contextlib.suppress(_MisfitError):
            return _fitted(hint, key, value)
    raise _MisfitError


def _fitted_dataclass(kind: Any, key: str, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    _fits(isinstance(value, Mapping), value)
    with within(key):
        return read(kind, value)


def _fits(good: bool, value: T) -> T:
    if not good:
        raise _MisfitError
    return value


def _flag(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in words:
        raise ValueError
    return words[text.lower()]


def _is_made_of(hint: Any, plain: type) -> bool:
    return hint is plain or any(_is_made_of(part, plain) for part in get_args(hint))


def _allowed(hint: Any) -> str:
    """What a value of this type must be, as a sentence."""
    words = _words(hint)
    return f"it is {words}" if words.startswith(("one of ", "true ")) else f"it must be {words}"


def _words(hint: Any, many: bool = False) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        limit = parts[1]
        return limit.words if isinstance(limit, OneOf) else f"{_words(parts[0], many)} {limit.words}"
    if origin in (Union, types.UnionType):
        return " or ".join(_words(part, many) for part in parts if part is not type(None))
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if hint is bool:
        return "true or false"
    if origin is tuple:
        return f"{'lists' if many else 'a list'} of {_words(parts[0], many=True)}"
    if origin is not None and parts[1] is not Any:
        return f"{'tables' if many else 'a table'} of {_words(parts[1], many=True)}"
    noun = {int: "whole number", float: "number", str: "text"}.get(hint, "table")
    return f"{noun}s" if many else f"a {noun}"
