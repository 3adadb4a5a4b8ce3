"""What is said of machines: one sentence with the number that says so, what follows from it, and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.incidents import IncidentEnd, IncidentKind
from app.domain.notifications import What
from app.reports.machine_words import (
    Told,
    Waiting,
    advice,
    counts_words,
    meaning,
    seen_words,
    sentence,
    status_words,
)

OFF = {"probe": "gemm_bf16", "seconds": 0.01041, "usual_s": 0.01, "deviation": 0.041}
QUARANTINED = Told(IncidentKind.QUARANTINED, "device/12", "GPU-1", ["h100"], OFF)
BROKEN = replace(QUARANTINED, detail={"ecc_uncorrected": 2})
MOVED = Told(IncidentKind.MOVED, "device/3", "cpu-0001", ["epyc"], OFF)
SILENT = {"last_seen_at": "2026-11-23T14:02:11+00:00", "host": "rack-3", "devices": ["GPU-1", "GPU-2"]}
LOST = Told(IncidentKind.LOST, "worker/4", "edge-3", ["h100", "l4"], SILENT)
UNSERVED = Told(IncidentKind.UNSERVED, "class/l4", "l4", ["l4"], {}, queue_deadline_s=21_600)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            QUARANTINED,
            "device GPU-1 (h100) was put into quarantine: gemm_bf16 of its control took 10.4 ms, 10 ms is usual "
            "(+4.1 %)",
        ),
        (BROKEN, "device GPU-1 (h100) was put into quarantine: 2 uncorrected memory errors"),
        (
            MOVED,
            "device cpu-0001 (epyc) is not what it was: gemm_bf16 of its control took 10.4 ms, 10 ms is usual "
            "(+4.1 %), in three runs one after the other",
        ),
        (LOST, "agent edge-3 was lost with 2 devices (h100 and l4): silent since 2026-11-23 14:02 UTC"),
        (UNSERVED, "no live device takes jobs for l4: jobs wait, none of this project yet"),
        (
            replace(UNSERVED, waiting=Waiting(1, 960)),
            "no live device takes jobs for l4: 1 job of this project waits, the oldest for 16 min",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_number(told: Told, said: str) -> None:
    assert sentence(told) == said


@pytest.mark.parametrize("end", IncidentEnd)
def test_every_end_is_said_in_a_sentence_and_asks_for_nothing(end: IncidentEnd) -> None:
    over = replace(LOST if end in (IncidentEnd.HEARD, IncidentEnd.FORGOTTEN) else QUARANTINED, ended_by=end)
    assert over.name in sentence(over)
    assert (meaning(over), advice(over)) == ("", "")
    assert status_words(What.SETTLED, over.kind, str(end)) in (
        "released",
        "as usual",
        "back",
        "served",
        "over",
    )


def test_a_quarantine_by_the_control_ends_by_itself_and_one_by_memory_errors_by_an_administrator() -> None:
    assert "Calibrations look whether it is over" in advice(QUARANTINED)
    assert "Reset or replace it" in advice(BROKEN)
    for told in (QUARANTINED, BROKEN):
        assert "POST /api/v1/devices/12/release" in advice(told)


def test_jobs_that_wait_are_given_up_in_the_end() -> None:
    assert meaning(UNSERVED) == "A job that waits for 6 h 00 min is given up as not measured."


def test_many_are_counted_by_what_is_wrong_with_them() -> None:
    counts = {"new": {"lost": 40, "quarantined": 1}, "settled": {"quarantined": 2}, "open": {"unserved": 1}}
    assert (
        counts_words(counts)
        == "1 device quarantined, 40 agents lost, 2 devices released and 1 class still not served"
    )
    assert counts_words({}) == ""


def test_what_is_told_again_in_a_digest_still_is() -> None:
    assert status_words(What.OPEN, IncidentKind.LOST) == "still lost"


def test_memory_errors_are_counted() -> None:
    assert seen_words({"ecc_uncorrected": 1}) == "1 uncorrected memory error"
