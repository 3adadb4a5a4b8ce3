"""The table: a row a figure, what is aimed at, and what each detector and comparer reached."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Value = str
Numbers = dict[str, Any]
MISSING = "–"


@dataclass(frozen=True)
class Row:
    """A figure: its label, what is aimed at, and how it is read from a detector's numbers (KeyError: not measured)."""

    label: str
    best: str
    oracle: str
    goal: str
    stretch: str
    read: Callable[[Numbers], Value]


def _number(value: float | None, digits: int = 2) -> Value:
    if value is None or math.isnan(value):
        return MISSING
    return "never" if math.isinf(value) else f"{value:.{digits}f}"


def _of(key: str, digits: int = 2) -> Callable[[Numbers], Value]:
    return lambda numbers: _number(numbers[key], digits)


def _both(first: str, second: str) -> Callable[[Numbers], Value]:
    return lambda numbers: f"{_number(numbers[first])} / {_number(numbers[second])}"


def _worst(numbers: Numbers) -> Value:
    return f"{numbers['f1_worst']:.2f} {numbers['f1_worst_noise']}"


def _delay(cv: str) -> Callable[[Numbers], Value]:
    return lambda n: f"{_points(n['delay_5'][cv])} / {_points(n['delay_2'][cv])}"


def _points(value: float) -> Value:
    return "never" if math.isinf(value) else f"{value:g}"


def _seconds(length: str) -> Callable[[Numbers], Value]:
    def read(numbers: Numbers) -> Value:
        count = numbers["speed_series"][length]
        return f"{numbers['seconds_per_1000'][length]:.3g}" + ("" if count >= 1000 else f" ({count})")

    return read


DETECTION = (
    Row("F1, all lengths", "0.78", "0.97", "0.88", "0.91", _of("f1")),
    Row("F1, worst noise model", "0.61", "0.95", "0.75", "0.80", _worst),
    Row("precision / recall", "", "", "", "", _both("precision", "recall")),
    Row("false alarms per 1000 commits, flat, offline", "0.5", "0", "≤ 0.5", "≤ 0.2", _of("flat_offline")),
    Row("false alarms per 1000 commits, flat, online", "1.4", "0", "≤ 3", "≤ 1.4", _of("flat_online")),
    Row("median delay 5 % / 2 %, cv 0.3 %", "", "", "", "", _delay("0.003")),
    Row("median delay 5 % / 2 %, cv 1 %", "7 / 10", "1 / 2", "≤ 3 / 5", "2 / 3", _delay("0.01")),
    Row("median delay 5 % / 2 %, cv 3 %", "", "", "", "", _delay("0.03")),
    Row("ramps found", "1.0", "", "≥ 0.95", "1.0", _of("ramps")),
    Row("alarms per reverting spike", "0", "", "≤ 0.05", "0", _of("spike_alarms")),
    Row("seconds per 1000 series of 1 000", "37", "", "≤ 2", "1", _seconds("1000")),
    Row("seconds per 1000 series of 10 000", "380", "", "≤ 30", "12", _seconds("10000")),
    Row("growth exponent in length", "1.0–2.3", "1", "≤ 1.15", "1.05", _of("growth")),
)

CHECKS = (
    Row("hard: power", "0.42", "0.56", "0.47", "0.50", _of("power")),
    Row("hard: flat checks failed", "≤ 0.05", "", "≤ 0.05", "≤ 0.05", _of("false_failures", 3)),
    Row("hard: wrong marks per check", "", "", "", "", _of("wrong_per_check", 3)),
    Row("hard: coverage of the 95 % interval", "0.97", "0.95", "0.94–0.965", "", _of("coverage", 3)),
)


def _usual(row: Row) -> Row:
    goals = ("", "", "", "") if "power" in row.label else (row.best, row.oracle, row.goal, row.stretch)
    return Row(row.label.replace("hard", "usual"), *goals, row.read)


SCENARIOS = {"hard": CHECKS, "usual": tuple(_usual(row) for row in CHECKS)}
HEAD = ("", "best known", "oracle", "goal", "stretch")


def grid(rows: tuple[Row, ...], columns: dict[str, Numbers]) -> list[list[str]]:
    """Return the cells of one table, titles first; `columns` maps titles to numbers."""
    lines = [[*HEAD, *columns]]
    for row in rows:
        lines.append([row.label, row.best, row.oracle, row.goal, row.stretch])
        lines[-1] += [_cell(row, numbers) for numbers in columns.values()]
    return lines


def _cell(row: Row, numbers: Numbers) -> Value:
    if "missing" in numbers:
        return "not installed"
    try:
        return row.read(numbers)
    except KeyError:
        return MISSING


def text(lines: list[list[str]]) -> str:
    """Return cells as a Markdown table whose columns are aligned."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    padded = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([padded[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *padded[1:]])


def stopping_text(numbers: Numbers) -> str:
    """Return the lines on stopping early."""
    fixed = numbers["fixed_pairs"]
    return "\n".join(
        f"device time saved against {fixed} pairs a case, {name}: {numbers[key]['saved']:.0%} (goal {goal}, stretch "
        f"{stretch}); regressed {numbers[key]['regressed']:.1%}, no_regression {numbers[key]['no_regression']:.1%} of "
        f"{numbers[key]['cases']} cases"
        for key, name, goal, stretch in (
            ("flat", "flat", "≥ 40 %", "55 %"),
            ("slower", "5 % slower", "≥ 70 %", "80 %"),
        )
    )


ANNOTATED = (("F1", "f1"), ("covering", "covering"))


def annotated_text(columns: dict[str, Numbers], long: bool) -> str:
    """Return both scores on annotated series, their means over the series; `long` also of every series."""
    found = {title: numbers for title, numbers in columns.items() if "series" in numbers}
    rows = [
        [
            label,
            *(
                _number(numbers[key]) if title in found else "not installed"
                for title, numbers in columns.items()
            ),
        ]
        for label, key in ANNOTATED
    ]
    if long:
        names = list(next(iter(found.values()))["series"])
        rows += [[name, *(_pair(numbers, name) for numbers in columns.values())] for name in names]
    return text([["annotated series", *columns], *rows])


def _pair(numbers: Numbers, name: str) -> Value:
    one = numbers.get("series", {}).get(name)
    return f"{_number(one['f1'])} / {_number(one['covering'])}" if one else MISSING


def long_text(columns: dict[str, Numbers]) -> str:
    """Return F1 by noise model, length and coefficient of variation."""
    parts = []
    for key, what in (("f1_by_noise", "noise model"), ("f1_by_length", "length"), ("f1_by_cv", "cv")):
        measured = {title: numbers[key] for title, numbers in columns.items() if key in numbers}
        if measured:
            names = list(next(iter(measured.values())))
            lines = [[f"F1 by {what}", *measured]]
            lines += [[name, *(_number(of[name]) for of in measured.values())] for name in names]
            parts.append(text(lines))
    return "\n\n".join(parts)
