"""A number that was computed, with what it was made of: every figure on a page can be asked where it came from.

`Given` is a number from somewhere, `Derived` what a formula made of several. A derived value that cannot be had is
None, and its notes say why; doubt about a value is a note, too, and the value is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NamedTuple

from app.domain.arithmetic import require_same
from app.domain.units import Quantity, base_unit, to_base

MISSING = "missing"
INVALID = "invalid_input"
NOT_VERIFIED = "not_verified"
NOT_FINITE = "not_finite"


class Note(NamedTuple):
    """Something to know about a derived value: a stable code, and a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True)
class Given:
    """A number and where it is from.

    `value` is None where there is none; `origin` then says why, and `code` is that of the note that a formula makes of
    it. `is_verified` is False for a figure that nobody compared with its source. The formula that takes it sets `name`.
    """

    value: float | None
    unit: str
    origin: str
    is_verified: bool = True
    code: str = ""
    name: str = ""

    @property
    def quantity(self) -> Quantity:
        """The number in base units. There must be one."""
        assert self.value is not None
        return Quantity(*to_base(self.value, self.unit))

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "origin": self.origin,
            "is_verified": self.is_verified,
        }


@dataclass(frozen=True)
class Derived:
    """A computed value in a base unit, its formula in the names of its inputs, the inputs, and what to know of it."""

    value: float | None
    unit: str
    formula: str
    inputs: tuple[Given, ...]
    notes: tuple[Note, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the notes."""
        return tuple(note.code for note in self.notes)

    def as_given(self) -> Given:
        """Return it as an input of another formula."""
        is_verified = NOT_VERIFIED not in self.codes
        if self.value is not None or not self.notes:
            return Given(self.value, self.unit, self.formula, is_verified)
        why = "; ".join(note.text for note in self.notes)
        return Given(None, self.unit, why, is_verified, code=self.notes[0].code)

    def document(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            "value": self.value,
            "unit": self.unit,
            "formula": self.formula,
            "inputs": [given.document() for given in self.inputs],
            "notes": [note._asdict() for note in self.notes],
        }


def derive(
    unit: str,
    formula: str,
    inputs: Mapping[str, Given],
    compute: Callable[[Mapping[str, Quantity]], Quantity],
    *,
    missing_codes: Mapping[str, str] | None = None,
    may_be_zero: Iterable[str] = (),
) -> Derived:
    """Return what `compute` makes of the inputs, or None with notes where one is missing or cannot be right.

    Args:
        unit: the unit that the result must agree with; `units/J` agrees with `samples/J`.
        formula: the formula for people, in the names of the inputs.
        inputs: the inputs by name, in the order in which people read them.
        compute: takes the inputs by name, in base units.
        missing_codes: codes of the notes about inputs that are missing and do not bring one.
        may_be_zero: inputs that may be zero; the others must be greater. None may be negative.

    Raises:
        DataError: an input has a unit that does not give a result in `unit`; its code is `mixed_units`.
    """
    named = tuple(replace(given, name=name) for name, given in inputs.items())
    faults = [*_missing(named, missing_codes or {}), *_invalid(named, set(may_be_zero))]
    if faults:
        return Derived(None, base_unit(unit), formula, named, tuple(faults))
    result = compute({given.name: given.quantity for given in named})
    told = require_same(result.unit, unit, f"take {formula} for a value in {unit}")
    if not isfinite(result.value):
        return Derived(None, told, formula, named, (Note(NOT_FINITE, f"{formula} is too large a number"),))
    return Derived(result.value, told, formula, named, tuple(_unverified(named)))


def with_notes(derived: Derived, *notes: Note) -> Derived:
    """Return `derived` with more notes."""
    return replace(derived, notes=(*derived.notes, *notes))


def without_value(derived: Derived, *notes: Note) -> Derived:
    """Return `derived` with no value, for the reasons in `notes`."""
    return replace(derived, value=None, notes=(*derived.notes, *notes))


def _missing(inputs: Iterable[Given], codes: Mapping[str, str]) -> list[Note]:
    return [
        Note(given.code or codes.get(given.name, MISSING), f"{given.name} is not known: {given.origin}")
        for given in inputs
        if given.value is None
    ]


def _invalid(inputs: Iterable[Given], may_be_zero: set[str]) -> list[Note]:
    return [
        Note(INVALID, f"{given.name} cannot be {given.value:g} {given.unit} ({given.origin})")
        for given in inputs
        if given.value is not None and not _is_valid(given.value, given.name in may_be_zero)
    ]


def _is_valid(value: float, may_be_zero: bool) -> bool:
    return isfinite(value) and (value > 0 or (may_be_zero and value == 0))


def _unverified(inputs: Iterable[Given]) -> list[Note]:
    return [
        Note(NOT_VERIFIED, f"{given.name} was not compared with its source ({given.origin})")
        for given in inputs
        if not given.is_verified
    ]
