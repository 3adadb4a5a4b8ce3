"""The same work on several device classes, by the newest numbers of a week."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.hardware import HardwareComparison


@dataclass(frozen=True)
class HardwareWeek:
    """A project's device classes, each against the one that most of its cases are on.

    Attributes:
        project: the project's name.
        reference: the device class that the others are held against; `base` of each comparison.
        n_cases: how many cases it has.
        compared: the other classes that have cases in common with it, those with most in common first.
        n_left_out: further classes, which have fewer cases.
    """

    project: str
    reference: str
    n_cases: int
    compared: tuple[HardwareComparison, ...]
    n_left_out: int = 0
