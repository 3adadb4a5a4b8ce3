"""Where a computed number comes from, as people read it: the formula, the same with its numbers, and every input.

What is kept is how the newest value of each arm was made (`app.domain.derived`); the result itself is made of all
of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.text import plain

ARMS = ("base", "head")
NOT_VERIFIED = "not_verified"
"""The note, and the words in an origin, that are told by a mark at the input."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class InputView:
    """One input of a formula: its value, of both arms where they differ, and where it is from."""

    name: str
    value: str
    origin: str
    is_verified: bool


@dataclass(frozen=True)
class ProvenanceView:
    """Where a number comes from: its formula, by arm the formula with its numbers in it, inputs, notes as sentences."""

    formula: str
    steps: tuple[tuple[str, str], ...]
    inputs: tuple[InputView, ...]
    notes: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes of its HTML, about."""
        told = [self.formula, *(text for _, text in self.steps), *self.notes]
        told += [one.name + one.value + one.origin for one in self.inputs]
        return 300 + 90 * len(self.inputs) + sum(len(text.encode()) for text in told)


def provenance_view(documents: Mapping[str, Document] | None) -> ProvenanceView | None:
    """Return the view of what `CaseVerdict.provenance` holds; None where nothing is kept."""
    kept = {arm: (documents or {}).get(arm) for arm in ARMS}
    known = {arm: document for arm, document in kept.items() if document}
    if not known:
        return None
    return ProvenanceView(
        formula=plain(next(reversed(known.values()))["formula"]),
        steps=tuple((arm, plain(_step(document))) for arm, document in known.items()),
        inputs=tuple(_inputs(known)),
        notes=tuple(_notes(known)),
    )


def _step(document: Document) -> str:
    """Return the formula with its numbers: `2.81 TFLOP / (11.4 ms · 1 · 989 TFLOP/s) = 24.9 %`."""
    values = {given["name"]: format_quantity(given["value"], given["unit"]) for given in document["inputs"]}
    names = sorted(filter(None, values), key=len, reverse=True)
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)"
    filled = re.sub(pattern, lambda name: values[name[0]], document["formula"]) if names else ""
    return f"{filled} = {_result(document)}"


def _result(document: Document) -> str:
    if document["value"] is None:
        return "not known"
    is_share = document["unit"] == "1"
    value, unit = document["value"], document["unit"]
    return quantities.percent(value) if is_share else format_quantity(value, unit)


def _inputs(known: Mapping[str, Document]) -> Iterable[InputView]:
    by_arm = {arm: {given["name"]: given for given in document["inputs"]} for arm, document in known.items()}
    for name in dict.fromkeys(name for of_arm in by_arm.values() for name in of_arm):
        yield _input(name, [of_arm[name] for of_arm in by_arm.values() if name in of_arm])


def _input(name: str, givens: list[Document]) -> InputView:
    newest = givens[-1]
    told = [part for part in newest["origin"].split("; ") if part != NOT_VERIFIED.replace("_", " ")]
    return InputView(plain(name), plain(_value(givens)), plain("; ".join(told)), newest["is_verified"])


def _value(givens: list[Document]) -> str:
    """Return the value of both arms, once where they are alike; counts with all their digits."""
    first, newest = givens[0], givens[-1]
    unit = newest["unit"]
    if (first["value"], first["unit"]) == (newest["value"], unit):
        return format_quantity(newest["value"], unit)
    if unit == "1":
        return " → ".join(format_quantity(given["value"], unit) for given in (first, newest))
    return " → ".join(quantities.before_after(first["value"], newest["value"], unit))


def _notes(known: Mapping[str, Document]) -> Iterable[str]:
    told: dict[str, list[str]] = {}
    for arm, document in known.items():
        for note in document["notes"]:
            if note["code"] != NOT_VERIFIED:
                told.setdefault(note["text"], []).append(arm)
    for text, arms in told.items():
        yield plain(text if len(arms) == len(known) else f"{arms[0]}: {text}")
