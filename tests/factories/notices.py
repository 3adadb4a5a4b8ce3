"""What merged pull requests are told of, as values: the usual, the many, and what somebody means ill with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from app.domain.notices import Acceptance, CommitRange, ExtraCost, Notice, NoticedChange
from app.domain.results import CommitRef

BEFORE = "8d03c27e1f0a5b64932cc1de07af3a9951e2b6d0"
COMMIT = CommitRef("4f1d2c9ab07e55d0f6a1b3c2d4e5f60718293a4b", "Normalise images before batching (#12)")
EARLIER = CommitRef("c0ffee11d2b3a49586776859403122119a8b7c6d", "Read ahead two batches")
ALONE = CommitRange(BEFORE, COMMIT, (COMMIT,), 1)
AMONG = CommitRange(BEFORE, COMMIT, (COMMIT, EARLIER), 2)


def changed(**fields: Any) -> NoticedChange:
    """Return a latency that became 6 % worse, found by later points."""
    known: dict[str, Any] = {
        "series": 31,
        "benchmark": "bert",
        "params": {"batch": 32, "dtype": "bf16"},
        "metric": "latency_p50",
        "unit": "s",
        "better": "lower",
        "device_class": "nvidia-h100-sxm5-80gb",
        "before": 0.01242,
        "after": 0.01316,
        "change": 0.0596,
        "ci_low": 0.048,
        "ci_high": 0.071,
        "is_exact": False,
        "range": ALONE,
        "reason": "confirmed by later points",
    }
    return NoticedChange(**(known | fields))


def paired(**fields: Any) -> NoticedChange:
    """Return one that was measured in pairs, with its cost."""
    known: dict[str, Any] = {
        "series": 32,
        "benchmark": "resize",
        "params": {"batch": 8},
        "before": 0.000832,
        "after": 0.001133,
        "change": 0.362,
        "ci_low": 0.348,
        "ci_high": 0.378,
        "reason": "measured in pairs: regressed",
        "run": 77,
        "cost": ExtraCost("million iterations", 0.0836, 0.208, "EUR"),
    }
    return changed(**(known | fields))


def memory(**fields: Any) -> NoticedChange:
    """Return an exact metric that grew."""
    known: dict[str, Any] = {
        "series": 33,
        "metric": "peak_memory",
        "unit": "B",
        "before": 2.0e9,
        "after": 2.1e9,
        "change": 0.05,
        "ci_low": None,
        "ci_high": None,
        "is_exact": True,
        "reason": "",
    }
    return changed(**(known | fields))


def notice(*changes: NoticedChange) -> Notice:
    """Return what is told of these changes."""
    return Notice("acme/vision", "main", changes)


def one() -> Notice:
    """Return one change of one commit."""
    return notice(paired())


def several() -> Notice:
    """Return changes of which any of two commits can be the cause."""
    return notice(changed(range=AMONG), paired(range=AMONG), memory(range=AMONG))


def taken_back() -> Notice:
    """Return one change that turned out to be none."""
    return notice(changed(taken_back="it begins with another commit"))


def partly_taken_back() -> Notice:
    """Return one change that holds, and another one that does not."""
    return notice(paired(), changed(taken_back="it is a spike"))


SAID = Acceptance("grace", "the new tokenizer is worth it", datetime(2026, 11, 20, tzinfo=UTC), 12)


def accepted() -> Notice:
    """Return two changes that somebody wants."""
    return notice(paired(acceptance=SAID), changed(acceptance=SAID))


def partly_accepted() -> Notice:
    """Return a change that somebody wants, and another one that was found later."""
    return notice(paired(acceptance=SAID), changed())


def unknown_line() -> Notice:
    """Return a change whose commits the repository does not know."""
    return notice(changed(range=CommitRange(BEFORE, COMMIT, (COMMIT,), None)))


def hostile() -> Notice:
    """Return changes whose names and subjects would do harm if they could."""
    evil = CommitRef("b" * 40, "<!-- ratchet:alert:5:12 --> @everyone ![x](https://evil.example) fixes #1 |")
    its_range = CommitRange("a" * 40, evil, (evil,), 1)
    name = "a|b`<img src=x onerror=alert(1)>@everyone\n/ratchet accept it"
    return notice(changed(benchmark=name, params={"p|": "`[x](y)`"}, device_class="d|`", range=its_range))


def many(n: int = 5_000) -> Notice:
    """Return as many changes as a commit can have series, each of a range of its own length."""
    ranges = [CommitRange(f"{i:040x}", COMMIT, (COMMIT,) * 10, 40 + i) for i in range(50)]
    return notice(
        *(
            changed(series=i, benchmark=f"b{i}" + "x" * 150, after=0.0125 + i / 1e6, range=ranges[i % 50])
            for i in range(n)
        )
    )
