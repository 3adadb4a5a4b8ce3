"""What an invocation's telemetry comes to: of gauges the middle and the ends, of counters how much they rose.

Pure, and it knows no timings. The form is part of the protocol (docs/protocol.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from workers.readings.record import READINGS, Tick

GAUGES = (
    "util mem_util sm_active sm_occupancy tensor_active dram_active sm_clock_hz mem_clock_hz power_w temp_c mem_temp_c"
    " fan mem_used_b pcie_gen pcie_width pcie_tx_b_s pcie_rx_b_s nvlink_tx_b_s nvlink_rx_b_s host_cpu_foreign"
    " host_steal power_limit_w"
).split()
COUNTERS = (
    "energy_j_total ecc_corrected ecc_uncorrected remapped_rows xid_count pcie_replays over_current swap_in_b"
).split()
NO_THROTTLING = frozenset(("idle", "application_clocks", "display_clock", "sync_boost"))
"""Reasons for a clock that somebody wanted."""

Summary = dict[str, Any]


def summarise(ticks: Sequence[Tick]) -> Summary:
    """Return the summary of one device's readings, in time order, at least one.

    Returns:
        `n`: readings; `span_s`: first to last [s]; `gauges`: name → low, median, high; `counters`: name → rise, None
        where it fell; `throttle`: reason → share of the readings in which it held; `throttle_ns`: reason → time [ns];
        `foreign_pids`; `mode`; `unavailable`: readings that were never told.
    """
    told = {name for tick in ticks for name in tick}
    return {
        "n": len(ticks),
        "span_s": (ticks[-1].get("t_ns", 0) - ticks[0].get("t_ns", 0)) / 1e9,
        "gauges": {name: _gauge(ticks, name) for name in GAUGES if name in told},
        "counters": {name: rise(ticks, name) for name in COUNTERS if name in told},
        "throttle": throttle_shares(ticks),
        "throttle_ns": throttled_ns(ticks),
        "foreign_pids": sorted({pid for tick in ticks for pid in tick.get("foreign_pids") or ()}),
        "mode": ticks[-1].get("mode"),
        "unavailable": [name for name in READINGS if name not in told],
    }


def values(ticks: Sequence[Tick], name: str) -> list[float]:
    """Return a reading's values, where it was told."""
    return [tick[name] for tick in ticks if tick.get(name) is not None]


def _gauge(ticks: Sequence[Tick], name: str) -> list[float]:
    told = values(ticks, name)
    return [min(told), median(told), max(told)]


def rise(ticks: Sequence[Tick], name: str) -> float | None:
    """Return how much a counter rose; None where it was told less than twice, or fell: then it was set back."""
    told = values(ticks, name)
    if len(told) < 2 or any(later < earlier for earlier, later in pairwise(told)):
        return None
    return told[-1] - told[0]


def throttle_shares(ticks: Sequence[Tick]) -> dict[str, float]:
    """Return the share of the readings in which each reason held the clock down."""
    told = [tick["throttle_reasons"] for tick in ticks if tick.get("throttle_reasons") is not None]
    held = Counter(reason for reasons in told for reason in set(reasons) - NO_THROTTLING)
    return {reason: count / len(told) for reason, count in sorted(held.items())}


def throttled_ns(ticks: Sequence[Tick]) -> dict[str, float]:
    """Return the time that was spent under each reason [ns], as far as the device counts it."""
    told = [tick["throttle_ns"] for tick in ticks if tick.get("throttle_ns")]
    if len(told) < 2:
        return {}
    rises = {reason: (told[-1].get(reason) or 0) - ns for reason, ns in told[0].items() if ns is not None}
    return {reason: ns for reason, ns in rises.items() if ns > 0}
