"""Units and quantities: from what people and tools write to base units, and back to what people read.

A unit is one or more symbols multiplied with and divided by each other: `ms`, `GiB`, `1/s`, `tokens/s`, `J/token`,
`kW·h`, `EUR/h`. Everything is stored in base units; prefixes exist at the two doors only, `to_base` on the way in and
`format_quantity` on the way out. A symbol that is not known here ("widgets") is *opaque*: kept as it is, equal only to
itself. What units of products and quotients become is `app.domain.arithmetic`.

Prefixes follow the SI brochure (BIPM, 9th edition, table 7), the binary ones IEC 80000-13, currencies ISO 4217.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

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

COUNTED = {
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
    "units": ("unit",),
}
"""What work is counted in, and other spellings of it. A bare 1 stands for any of them."""

CURRENCIES = frozenset(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP
    CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR
    ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT
    MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD
    SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES
    VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG
    """.split()
)
"""Currencies by the three letters of ISO 4217; none is ever changed into another."""

PLACEHOLDERS = {"units": frozenset(COUNTED), "currency": CURRENCIES}
"""Units of metrics that leave open what is counted or paid with, and what may stand in their place."""

_MAX_PARTS = 3
"""What follows more slashes, or more dots, than this is one opaque symbol; it also bounds how large a scale becomes."""

EXACT = 1e-9
"""A number this close to a shorter one is that one, whatever it was multiplied with."""

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
    for factor in (factor for symbol in _symbols(unit) for factor in _factors(symbol)):
        if factor not in _SCALES:
            raise DataError(f"unknown unit {_quoted(factor)}{_near(factor)}")
    value, base = to_base(float(number.group()), unit)
    if not math.isfinite(value):
        raise DataError(f"{_quoted(text)} is too large a number")
    return Quantity(value, base)


def to_base(value: float, unit: str) -> tuple[float, str]:
    """Return `value` and `unit` in base units; the empty unit is 1, an unknown symbol stays as it is."""
    (its,), base = all_to_base([value], unit)
    return its, base


def all_to_base(values: Iterable[float], unit: str) -> tuple[tuple[float, ...], str]:
    """Return `values` and their `unit` in base units, each as `to_base` does."""
    scale = _scale_of(unit)
    times, over = scale.times, scale.over
    if times == over:
        return tuple(map(float, values)), scale.base
    return tuple([float(value) * times / over for value in values]), scale.base


@functools.lru_cache(maxsize=256)
def _scale_of(unit: str) -> _Scale:
    first, *others = (_scale_of_product(symbol) for symbol in _symbols(unit))
    is_compound = any("/" in scale.base for scale in others) or {"/", "·"} <= set(first.base)
    return _Scale(
        unit_of(dimension(unit))
        if is_compound
        else "/".join((first.base, *(_singular(scale.base) for scale in others))),
        times=first.times * math.prod(scale.over for scale in others),
        over=first.over * math.prod(scale.times for scale in others),
    )


def _scale_of_product(symbol: str) -> _Scale:
    scales = [_SCALES.get(factor, _Scale(factor)) for factor in _factors(symbol)]
    return _Scale(
        "·".join(scale.base for scale in scales),
        times=math.prod(scale.times for scale in scales),
        over=math.prod(scale.over for scale in scales),
    )


def base_unit(unit: str) -> str:
    """Return the base unit that `unit` is measured in: `s` for `ms`, `tokens/s` for `tok/min`."""
    return to_base(0.0, unit)[1]


def same_dimension(a: str, b: str) -> bool:
    """Tell whether values in `a` and in `b` may be compared.

    A bare 1 agrees with whatever is counted (`1/s` with `tokens/s`), but two counted things do not agree with
    each other (`tokens/s` with `samples/s`). A placeholder agrees with what may stand in its place, or with 1 there:
    `units/J` with `samples/J`, `currency` with `EUR`; but `EUR` agrees neither with `USD` nor with 1.
    """
    first, second = dimension(a), dimension(b)
    return first == second or _agrees(first, second) or _agrees(second, first)


@functools.lru_cache(maxsize=256)
def dimension(unit: str) -> Mapping[str, int]:
    """Return the base symbols that `unit` is made of with their powers: `{"J": 1, "tokens": -1}` for `mJ/token`.

    A watt is a joule per second here, so that `samples/s/W` has the dimension of `samples/J`; 1 is left out.
    """
    powers: Counter[str] = Counter()
    for place, symbol in enumerate(_symbols(unit)):
        for factor in _factors(symbol):
            base = _SCALES[factor].base if factor in _SCALES else factor
            for known, power in _ELEMENTS.get(base, {base: 1}).items():
                powers[known] += -power if place else power
    return MappingProxyType({symbol: power for symbol, power in powers.items() if power})


def unit_of(powers: Mapping[str, int]) -> str:
    """Return the unit of a dimension as it is written: `tokens/s`, `W`, `s·s`, `1/J`.

    The other way of `dimension`, for up to three factors and three divisors.
    """
    known = {symbol: power for symbol, power in powers.items() if power}
    if known.get("J") == 1 and known.get("s", 0) < 0:
        known = {"W": 1} | {
            symbol: power + (symbol == "s") for symbol, power in known.items() if symbol != "J"
        }
    above = [symbol for symbol, power in known.items() for _ in range(power)]
    below = [_singular(symbol) for symbol, power in known.items() for _ in range(-power)]
    return "/".join(("·".join(above) or "1", *below))


def format_quantity(value: float | None, unit: str) -> str:
    """Return a number as people read it: three significant digits and the prefix that suits it.

    One that has fewer is told with those it has: `24 GiB` are 24, and `10.0 ms` were measured as 9.998. Others are
    `1.23 ms`, `4.5 GiB`, `2.1 TB/s`, `12.3 k/s`, `12.3 k tokens/s`. Memory is shown in binary prefixes and transfer
    rates in decimal ones, as their makers state them; what is paid over time is shown by the hour. Whole
    numbers of unit 1 below a million are shown in full. None is `–`.
    """
    if value is None:
        return ABSENT
    amount, base = to_base(value, unit)
    if base == "1" and amount.is_integer() and abs(amount) < 10**6:
        return str(int(amount))
    numerator, slash, denominator = base.partition("/")
    if numerator in CURRENCIES and denominator == "s":
        amount, denominator = amount * _SCALES["h"].times, "h"
    scaled, symbol = _readable(amount, _ladder(numerator, bool(slash)))
    return f"{_digits(scaled)} {symbol}{slash}{denominator}".rstrip()


def _symbols(unit: str) -> list[str]:
    """Split a unit at its first slashes; a missing symbol is 1, so that `/s` is `1/s`."""
    return [" ".join(part.split()) or "1" for part in unit.split("/", maxsplit=_MAX_PARTS)]


def _factors(symbol: str) -> list[str]:
    """Split a symbol at its first dots: `kW·h`."""
    return [part.strip() or "1" for part in symbol.split("·", maxsplit=_MAX_PARTS)]


def _singular(base: str) -> str:
    return COUNTED[base][0] if base in COUNTED else base


def _agrees(powers: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Tell whether `powers` is `other` with something counted, or a placeholder, that `other` leaves out or fills."""
    loose = [symbol for symbol, power in powers.items() if power == 1 and symbol in (*COUNTED, *PLACEHOLDERS)]
    return any(_without(powers, symbol) in _fillings(other, symbol) for symbol in loose)


def _fillings(powers: Mapping[str, int], symbol: str) -> list[Mapping[str, int]]:
    """Return `powers` as it is, and without each of what may stand in the place of `symbol`."""
    members = PLACEHOLDERS.get(symbol, frozenset())
    filled = [known for known, power in powers.items() if power == 1 and known in members]
    return [powers, *(_without(powers, known) for known in filled)]


def _without(powers: Mapping[str, int], symbol: str) -> Mapping[str, int]:
    return {known: power for known, power in powers.items() if known != symbol}


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
    short = f"{value + 0.0:.3g}"
    is_exact = math.isclose(float(short), value, rel_tol=EXACT)
    mantissa, _, exponent = (short if is_exact else f"{value:#.3g}").partition("e")
    mantissa = mantissa.rstrip(".")
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
    elif base in COUNTED:
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
        **{f"{prefix}Wh": _Scale("J", 3600 * _PREFIXES[prefix][0]) for prefix in ("", "k", "M", "G")},
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
        **{currency: _Scale(currency) for currency in CURRENCIES},
    }
    for base, spellings in COUNTED.items():
        scales |= _counted(base, spellings)
    return scales


_SCALES = _known_scales()

_ELEMENTS: dict[str, dict[str, int]] = {
    "1": {},
    "W": {"J": 1, "s": -1},
    "FLOP/s": {"FLOP": 1, "s": -1},
    "frames/s": {"frames": 1, "s": -1},
    "queries/s": {"queries": 1, "s": -1},
    "requests/s": {"requests": 1, "s": -1},
}
"""What base units that are no single symbol are made of."""
