"""Units and quantities: from what people and tools write to base units, and back to what people read.

A unit is one or more symbols divided by each other: `ms`, `GiB`, `1/s`, `tokens/s`, `J/token`. Everything is
stored in base units; prefixes exist at the two doors only, `to_base` on the way in and `format_quantity` on
the way out. A symbol that is not known here ("widgets") is *opaque*: kept as it is, equal only to itself.

Prefixes follow the SI brochure (BIPM, 9th edition, table 7), the binary ones IEC 80000-13.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from difflib import get_close_matches

from app.domain.errors import DataError

ABSENT = "–"
"""What stands where there is no number."""

_PREFIXES = {
    "n": (1, 10**9),
    "u": (1, 10**6),
    "µ": (1, 10**6),  # U+00B5, the micro sign
    "μ": (1, 10**6),  # U+03BC, the Greek letter, which looks the same
    "m": (1, 10**3),
    "": (1, 1),
    "k": (10**3, 1),
    "M": (10**6, 1),
    "G": (10**9, 1),
    "T": (10**12, 1),
    "P": (10**15, 1),
    "Ki": (2**10, 1),
    "Mi": (2**20, 1),
    "Gi": (2**30, 1),
    "Ti": (2**40, 1),
}
_SMALL = ("n", "u", "µ", "μ", "m")
_LARGE = ("k", "M", "G", "T", "P")
_BINARY = ("Ki", "Mi", "Gi", "Ti")

_COUNTED = {
    "tokens": ("token", "tok"),
    "samples": ("sample",),
    "requests": ("request", "req"),
    "images": ("image", "img"),
    "frames": ("frame",),
    "items": ("item",),
    "iterations": ("iteration", "iter", "it"),
    "steps": ("step",),
    "queries": ("query",),
    "operations": ("operation", "ops", "op"),
}
"""What work is counted in, and other spellings of it. A bare 1 stands for any of them."""

_MAX_SLASHES = 3
"""What follows more slashes than this is one opaque symbol; it also bounds how large a scale can become."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Quantity:
    """A number with its base unit."""

    value: float
    unit: str


@dataclass(frozen=True)
class _Scale:
    """How a symbol becomes its base unit: multiply by `times`, divide by `over`.

    Two integers instead of one float, so that 1.1 ms is 0.0011 s and not 0.0011000000000000001 s.
    """

    base: str
    times: int = 1
    over: int = 1


def parse_quantity(text: str) -> Quantity:
    """Return what `text` says, in base units: `"50 ms"` is 0.05 s, `"12"` is 12 of unit 1.

    Raises:
        DataError: it is no finite number, or its unit is not known; the message names near units.
    """
    stripped = text.strip()
    number = _NUMBER.match(stripped)
    if number is None:
        raise DataError(f'{_quoted(text)} is no quantity; write a number and a unit, such as "50 ms"')
    unit = stripped[number.end() :]
    for symbol in _symbols(unit):
        if symbol not in _SCALES:
            raise DataError(f"unknown unit {_quoted(symbol)}{_near(symbol)}")
    value, base = to_base(float(number.group()), unit)
    if not math.isfinite(value):
        raise DataError(f"{_quoted(text)} is too large a number")
    return Quantity(value, base)


def to_base(value: float, unit: str) -> tuple[float, str]:
    """Return `value` and `unit` in base units; the empty unit is 1, an unknown symbol stays as it is."""
    scale = _scale_of(unit)
    return value * scale.times / scale.over, scale.base


@functools.lru_cache(maxsize=256)
def _scale_of(unit: str) -> _Scale:
    first, *others = (_SCALES.get(symbol, _Scale(symbol)) for symbol in _symbols(unit))
    return _Scale(
        "/".join((first.base, *(_singular(scale.base) for scale in others))),
        times=first.times * math.prod(scale.over for scale in others),
        over=first.over * math.prod(scale.times for scale in others),
    )


def base_unit(unit: str) -> str:
    """Return the base unit that `unit` is measured in: `s` for `ms`, `tokens/s` for `tok/min`."""
    return to_base(0.0, unit)[1]


def same_dimension(a: str, b: str) -> bool:
    """Tell whether values in `a` and in `b` may be compared.

    A bare 1 agrees with whatever is counted (`1/s` with `tokens/s`), but two counted things do not agree with
    each other (`tokens/s` with `samples/s`).
    """
    first, second = base_unit(a), base_unit(b)
    return first == second or _bare(first) == second or first == _bare(second)


def format_quantity(value: float | None, unit: str) -> str:
    """Return a number as people read it: three significant digits and the prefix that suits it.

    `1.23 ms`, `4.5 GiB`, `2.1 TB/s`, `12.3 k/s`, `12.3 k tokens/s`. Memory is shown in binary prefixes and
    transfer rates in decimal ones, as their makers state them. Whole numbers of unit 1 below a million are
    shown in full. None is `–`.
    """
    if value is None:
        return ABSENT
    amount, base = to_base(value, unit)
    if base == "1" and amount.is_integer() and abs(amount) < 10**6:
        return str(int(amount))
    numerator, slash, denominator = base.partition("/")
    scaled, symbol = _readable(amount, _ladder(numerator, bool(slash)))
    return f"{_digits(scaled)} {symbol}{slash}{denominator}".rstrip()


def _symbols(unit: str) -> list[str]:
    """Split a unit at its first slashes; a missing symbol is 1, so that `/s` is `1/s`."""
    return [" ".join(part.split()) or "1" for part in unit.split("/", maxsplit=_MAX_SLASHES)]


def _singular(base: str) -> str:
    return _COUNTED[base][0] if base in _COUNTED else base


def _bare(base: str) -> str:
    numerator, slash, denominator = base.partition("/")
    return ("1" if numerator in _COUNTED else numerator) + slash + denominator


def _near(symbol: str) -> str:
    folded = [known for known in _SCALES if known.casefold() == symbol.casefold()]
    near = dict.fromkeys(folded + get_close_matches(symbol[:40], _SCALES, n=3, cutoff=0.65))
    return f"; did you mean {' or '.join(_quoted(name) for name in list(near)[:3])}?" if near else ""


def _quoted(text: str) -> str:
    shown = text if len(text) <= 40 else text[:39] + "…"
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown) + '"'


def _readable(amount: float, ladder: list[tuple[str, _Scale]]) -> tuple[float, str]:
    """Return `amount` in the first symbol, largest first, in which it is at least 1 once rounded."""
    if amount == 0 or not math.isfinite(amount):
        return amount, next(symbol for symbol, scale in ladder if scale.times == scale.over)
    rungs = [(amount * scale.over / scale.times, symbol) for symbol, scale in ladder]
    return next((rung for rung in rungs if abs(float(f"{rung[0]:.3g}")) >= 1), rungs[-1])


def _digits(value: float) -> str:
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "NaN")
    if 1000 <= abs(value) < 10**6:
        return f"{value:.0f}"
    mantissa, _, exponent = f"{value + 0.0:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def _ladder(base: str, is_rate: bool) -> list[tuple[str, _Scale]]:
    """Return the symbols that a base unit is shown in, largest first."""
    if base == "s":
        names = ["h", "min", "s", "ms", "µs", "ns"]
    elif base == "B":
        prefixes = reversed(_LARGE if is_rate else _BINARY)
        names = [f"{prefix}B" for prefix in prefixes] + ["B"]
    elif base in ("J", "W"):
        names = [f"{prefix}{base}" for prefix in ("M", "k", "", "m", "µ", "n")]
    elif base in ("Hz", "FLOP"):
        names = [f"{prefix}{base}" for prefix in (*reversed(_LARGE), "")]
    elif base == "1":
        return [(prefix, _SCALES[prefix]) for prefix in reversed(_LARGE)] + [("", _Scale("1"))]
    elif base in _COUNTED:
        names = [f"{prefix} {base}" for prefix in reversed(_LARGE)] + [base]
    else:
        return [(base, _Scale(base))]
    return [(name, _SCALES[name]) for name in names]


def _prefixed(base: str, prefixes: tuple[str, ...], *, symbol: str = "") -> dict[str, _Scale]:
    """Return the scales of a base unit's symbol alone and under each of `prefixes`."""
    scales = {prefix: _PREFIXES[prefix] for prefix in ("", *prefixes)}
    return {prefix + (symbol or base): _Scale(base, *scale) for prefix, scale in scales.items()}


def _counted(base: str, spellings: tuple[str, ...]) -> dict[str, _Scale]:
    scales = {spelling: _Scale(base) for spelling in (base, *spellings)}
    for prefix in _LARGE:
        scale = _Scale(base, *_PREFIXES[prefix])
        scales |= {f"{prefix}{base}": scale, f"{prefix} {base}": scale}
    return scales


def _known_scales() -> dict[str, _Scale]:
    scales = {
        **_prefixed("s", _SMALL),
        **_prefixed("B", _LARGE + _BINARY),
        **_prefixed("J", (*_SMALL, "k", "M", "G")),
        **_prefixed("W", (*_SMALL, "k", "M", "G")),
        **_prefixed("Hz", _LARGE),
        **_prefixed("FLOP", _LARGE),
        **_prefixed("FLOP/s", _LARGE, symbol="FLOPS"),
        **{prefix: _Scale("1", *_PREFIXES[prefix]) for prefix in _LARGE},
        **{f"{prefix}bit": _Scale("B", _PREFIXES[prefix][0], 8) for prefix in ("", *_LARGE)},
        "1": _Scale("1"),
        "%": _Scale("1", 1, 100),
        "°C": _Scale("°C"),
        "min": _Scale("s", 60),
        "h": _Scale("s", 3600),
        "sec": _Scale("s"),
        "seconds": _Scale("s"),
        "bytes": _Scale("B"),
        "fps": _Scale("frames/s"),
        "qps": _Scale("queries/s"),
        "rps": _Scale("requests/s"),
    }
    for base, spellings in _COUNTED.items():
        scales |= _counted(base, spellings)
    return scales


_SCALES = _known_scales()
