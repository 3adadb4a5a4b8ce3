"""Sums, products and quotients of quantities: the unit of the result, and the refusal to mix units.

Adding seconds to joules has no answer and is an error that names both; multiplying them is a unit of its own. All
results are in base units, written as short as can be: W · s is J, samples/s/W is samples/J. The rules are those of
quantity calculus (ISO 80000-1, 2022, clause 4); conversion between currencies is none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from app.domain.errors import DataError
from app.domain.units import (
    PLACEHOLDERS,
    Quantity,
    dimension,
    format_quantity,
    same_dimension,
    to_base,
    unit_of,
)

MIXED_UNITS = "mixed_units"
"""Code of the error that refuses to add, compare or convert what is not of one dimension."""


def multiply(first: Quantity, *others: Quantity) -> Quantity:
    """Return the product: 350 W times 2 s is 700 J."""
    return _combine((first, *others), ())


def divide(top: Quantity, *bottoms: Quantity) -> Quantity:
    """Return `top` divided by each of `bottoms`: 9e12 FLOP by 3e12 FLOP/s is 3 s.

    Raises:
        ZeroDivisionError: one of them is zero.
    """
    return _combine((top,), bottoms)


def add(first: Quantity, second: Quantity) -> Quantity:
    """Return the sum. Raises DataError, code `mixed_units`, where the units are not of one dimension."""
    unit = require_same(first.unit, second.unit, f"add {_shown(first)} and {_shown(second)}")
    return Quantity(_base(first) + _base(second), unit)


def subtract(first: Quantity, second: Quantity) -> Quantity:
    """Return `first` without `second`. Raises DataError, code `mixed_units`, as `add` does."""
    unit = require_same(first.unit, second.unit, f"subtract {_shown(second)} from {_shown(first)}")
    return Quantity(_base(first) - _base(second), unit)


def is_above(first: Quantity, second: Quantity) -> bool:
    """Tell whether `first` is larger than `second`. Raises DataError, code `mixed_units`, as `add` does."""
    require_same(first.unit, second.unit, f"compare {_shown(first)} with {_shown(second)}")
    return _base(first) > _base(second)


def value_in(quantity: Quantity, unit: str) -> float:
    """Return the number of `unit` in `quantity`: 0.25 s is 250 of `ms`. Raises DataError, code `mixed_units`."""
    require_same(quantity.unit, unit, f'give {_shown(quantity)} in "{unit}"')
    return _base(quantity) / to_base(1.0, unit)[0]


def require_same(first: str, second: str, doing: str) -> str:
    """Return the base unit that two units have in common, the one that says more: `tokens/s` of it and `1/s`.

    Args:
        first: a unit.
        second: another.
        doing: what needs them to agree, for the message: `add 3 s and 2 J`.

    Raises:
        DataError: they are not of one dimension; the message names both, the code is `mixed_units`.
    """
    if not same_dimension(first, second):
        raise DataError(
            f'cannot {doing}: "{first}" and "{second}" are different kinds of units', code=MIXED_UNITS
        )
    return unit_of(max(dimension(first), dimension(second), key=_told))


def _told(powers: Mapping[str, int]) -> tuple[bool, int]:
    """Return how much a dimension says: a currency more than the placeholder, what is counted more than a bare 1."""
    return not PLACEHOLDERS.keys() & powers.keys(), len(powers)


def _combine(above: tuple[Quantity, ...], below: tuple[Quantity, ...]) -> Quantity:
    powers: Counter[str] = Counter()
    value = 1.0
    for quantity in above:
        value *= _base(quantity)
        powers.update(dimension(quantity.unit))
    for quantity in below:
        value /= _base(quantity)
        powers.subtract(dimension(quantity.unit))
    return Quantity(value, unit_of(powers))


def _base(quantity: Quantity) -> float:
    return to_base(quantity.value, quantity.unit)[0]


def _shown(quantity: Quantity) -> str:
    return format_quantity(quantity.value, quantity.unit)
