"""What DCGM told of a run's devices, as rows and sentences that people read; from the documents that a run keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.activity import SOURCE_LABELS
from app.domain.units import format_quantity
from app.reports.quantities import ABSENT, duration, finite, percent
from app.reports.text import Name, name, plain
from app.reports.words import count

TITLES = {
    "sm_active": "Multiprocessors active",
    "sm_occupancy": "Occupancy",
    "tensor_active": "Matrix units active",
    "dram_active": "Memory active",
    "gr_engine_active": "Graphics or compute engine busy",
    "pcie_tx_b_s": "Sent over PCIe",
    "pcie_rx_b_s": "Received over PCIe",
    "nvlink_tx_b_s": "Sent over NVLink",
    "nvlink_rx_b_s": "Received over NVLink",
    "power_w": "Power",
    "energy_j": "Energy in all",
    "util": "Utilisation",
    "sm_clock_hz": "Clock",
    "mem_clock_hz": "Memory clock",
    "throttled": "Held back",
}
"""Every metric in the order of docs/dcgm.md."""


Document = Mapping[str, Any]


@dataclass(frozen=True)
class ActivityRow:
    """One number over the windows; `parts` are what a share is made of."""

    name: str
    field: str
    value: str
    parts: str
    covered: str
    samples: str


@dataclass(frozen=True)
class Said:
    """A sentence, and the metrics that it is about; none where it is about all."""

    about: str
    text: str


@dataclass(frozen=True)
class ActivityView:
    """One device: what was asked, its rows, who told them, what is to be noted, and what is not told and why.

    `is_early` says that the end of the run had not been scraped; `again_at` when it is asked again, None for never.
    """

    name: Name
    server: str
    asked_at: datetime
    windows: str
    rows: tuple[ActivityRow, ...]
    sources: tuple[Said, ...]
    notes: tuple[Said, ...]
    untold: tuple[Said, ...]
    reason: str
    is_early: bool
    again_at: datetime | None


def activity_views(
    activity: Mapping[str, Document] | None, hardware_ids: Iterable[str]
) -> tuple[ActivityView, ...]:
    """Return the views of those of a run's devices of which something is known, in the order of its devices."""
    told = activity or {}
    return tuple(_view(one, told[one]) for one in hardware_ids if one in told)


def _view(hardware_id: str, document: Document) -> ActivityView:
    readings = {metric: document["readings"][metric] for metric in TITLES if metric in document["readings"]}
    told = {metric: one for metric, one in readings.items() if finite(one["value"]) is not None}
    again_at = document.get("ask_again_at")
    return ActivityView(
        name=name(hardware_id, 80),
        server=plain(document["server"]),
        asked_at=datetime.fromisoformat(document["asked_at"]),
        windows=_windows(document["windows"]),
        rows=tuple(_row(metric, one) for metric, one in told.items()),
        sources=_by_sentence({metric: [_source(one)] for metric, one in told.items()}, all_is_none=True),
        notes=(
            *(Said("", _sentence(note)) for note in document["notes"]),
            *_by_sentence({metric: one["notes"] for metric, one in readings.items()}),
        ),
        untold=_by_sentence(
            {metric: [one["reason"] or ABSENT] for metric, one in readings.items() if metric not in told}
        ),
        reason=plain(document["reason"] or ""),
        is_early=document["asked_early"],
        again_at=datetime.fromisoformat(again_at) if again_at else None,
    )


def _sentence(note: str) -> str:
    """Return a note that stands alone, with a capital letter."""
    return plain(note[:1].upper() + note[1:])


def _windows(windows: Iterable[tuple[str, str]]) -> str:
    lengths_s = [
        (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
        for start, end in windows
    ]
    return f"{count(len(lengths_s), 'invocation')} of {duration(sum(lengths_s))}"


def _row(metric: str, reading: Document) -> ActivityRow:
    unit, interval = reading["unit"], reading["interval_s"]
    every = f", every {interval:.3g} s" if interval else ""
    return ActivityRow(
        name=TITLES[metric],
        field=plain(reading["field"] or ""),
        value=percent(reading["value"]) if unit == "1" else format_quantity(reading["value"], unit),
        parts=", ".join(_parts(reading["shares"] or {})),
        covered=percent(reading["coverage"]),
        samples=count(reading["samples"], "sample") + every,
    )


def _parts(shares: Mapping[str, float]) -> Iterable[str]:
    for reason, share in sorted(shares.items(), key=lambda part: -part[1]):
        yield f"{plain(reason.replace('_', ' '))} {percent(share)}"


def _source(reading: Document) -> str:
    labels = reading["source"] or {}
    who = [f"{label} {labels[label]}" for label in SOURCE_LABELS if label in labels]
    return ", ".join(who) or "a source without labels"


def _by_sentence(said: Mapping[str, Iterable[str]], *, all_is_none: bool = False) -> tuple[Said, ...]:
    """Return each sentence once with the metrics that it is said of; with `all_is_none` without, where it is of all."""
    about: dict[str, list[str]] = {}
    for metric, sentences in said.items():
        for sentence in sentences:
            about.setdefault(plain(sentence), []).append(TITLES[metric])
    return tuple(
        Said("" if all_is_none and len(titles) == len(said) else ", ".join(titles), sentence)
        for sentence, titles in about.items()
    )
