"""What every backend offers: for each probe something that can be run k times, and what one iteration amounts to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

from workers.control.pacing import Run


class UnavailableError(Exception):
    """A probe, or all of a backend, cannot run here; the message is a code and a sentence."""


@dataclass(frozen=True)
class Work:
    """A probe that is ready to run: its name in results, and how much of `unit` [times a second] an iteration is."""

    name: str
    run: Run
    amount: float
    unit: str


class Backend(ABC):
    """A way to make one device work, by its place among the devices that the process may see."""

    name: str
    """Says all that moves the results and is neither the machine nor the kit; part of a series' key."""

    @abstractmethod
    def __init__(self, index: int) -> None:
        """Get hold of the device; UnavailableError where that cannot be."""

    @classmethod
    def made_for(cls, request: Mapping[str, Any], index: int) -> Self:
        """Return the backend of the device at this place, for a request to the kit."""
        return cls(index)

    @abstractmethod
    def work(self, probe: str) -> AbstractContextManager[Work]:
        """Return the probe, made ready by entering and taken down by leaving; UnavailableError where it has none."""

    def close(self) -> None:
        """Give the device back."""
        return
