"""Energy of one iteration, with and without what an idle device would have drawn, and work per joule."""

from __future__ import annotations

from app.domain.arithmetic import divide, multiply, subtract
from app.domain.derived import Derived, Given, Note, derive, with_notes, without_value

MIN_WINDOW_S = 5.0
"""Shortest window that energy is given for [s]. Drivers feed their counters in steps of tens of milliseconds, on many
devices from a power that is itself a mean over longer, so that the ends of a shorter window are a large part of it."""

ENERGY_WINDOW_SHORT = "energy_window_short"
BELOW_IDLE = "below_idle"
COUNTER_WENT_BACK = "counter_went_back"


def counter_energy(start: Given, end: Given) -> Derived:
    """Return the energy between two readings of a counter [J]; hand it on with `as_given()`.

    It is None where a reading is missing, and where the counter went backwards: the driver was loaded anew, or the
    counter ran over, and neither tells how much was drawn.
    """
    drawn = derive(
        "J",
        "end − start",
        {"start": start, "end": end},
        lambda given: subtract(given["end"], given["start"]),
        may_be_zero=["start", "end"],
    )
    if drawn.value is None or drawn.value >= 0:
        return drawn
    return without_value(drawn, Note(COUNTER_WENT_BACK, f"the energy counter went backwards ({end.origin})"))


def energy_per_iter(energy: Given, iterations: Given, window: Given) -> Derived:
    """Return the energy of one iteration [J]; None for a window below `MIN_WINDOW_S`.

    Args:
        energy: energy that all measured devices drew in the window [J], as of `counter_energy`.
        iterations: iterations in the window [1].
        window: length of the window [s].
    """
    spent = derive(
        "J",
        "energy / iterations",
        {"energy": energy, "iterations": iterations, "window": window},
        lambda given: divide(given["energy"], given["iterations"]),
        may_be_zero=["energy"],
    )
    return _long_enough(spent, window)


def energy_net_per_iter(energy: Given, iterations: Given, window: Given, idle_power: Given) -> Derived:
    """Return the energy of one iteration without what the idle devices would have drawn in the same time [J].

    Args:
        energy: as in `energy_per_iter`.
        iterations: iterations in the window [1].
        window: length of the window [s].
        idle_power: power of the same devices when nothing runs on them [W].
    """
    spent = derive(
        "J",
        "(energy − idle power · window) / iterations",
        {"energy": energy, "idle power": idle_power, "window": window, "iterations": iterations},
        lambda given: divide(
            subtract(given["energy"], multiply(given["idle power"], given["window"])), given["iterations"]
        ),
        may_be_zero=["energy", "idle power"],
    )
    if spent.value is not None and spent.value < 0:
        spent = with_notes(
            spent, Note(BELOW_IDLE, "less than idle power: the idle power was measured too high")
        )
    return _long_enough(spent, window)


def perf_per_watt(work: Given, energy: Given, window: Given) -> Derived:
    """Return the work done for one joule, in the work's unit: `samples/J`; None for a window below `MIN_WINDOW_S`.

    Args:
        work: units of work in the window, such as samples or tokens.
        energy: as in `energy_per_iter` [J].
        window: length of the window [s].
    """
    per_joule = derive(
        "units/J",
        "work / energy",
        {"work": work, "energy": energy, "window": window},
        lambda given: divide(given["work"], given["energy"]),
        may_be_zero=["work"],
    )
    return _long_enough(per_joule, window)


def _long_enough(derived: Derived, window: Given) -> Derived:
    if window.value is None or window.quantity.value >= MIN_WINDOW_S:
        return derived
    text = f"energy over {window.quantity.value:.3g} s says nothing; it takes {MIN_WINDOW_S:g} s"
    return without_value(derived, Note(ENERGY_WINDOW_SHORT, text))
