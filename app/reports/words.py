"""The words of a check: how each verdict is marked and named, and what reasons and flags mean in plain language.

One table for HTML, terminal and titles, so that a word means the same wherever it is read. A mark is never alone:
its word stands beside it. Codes that are not known here are shown as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.verdicts import Conclusion, Verdict


@dataclass(frozen=True)
class Word:
    """A verdict as it is shown: one-character mark, name, tone (colour class and icon), and what it means."""

    mark: str
    name: str
    tone: str
    meaning: str


VERDICTS: dict[Verdict | None, Word] = {
    Verdict.REGRESSED: Word(
        "✗", "regressed", "regressed", "surely worse than base by more than the minimum effect"
    ),
    Verdict.HEAD_FAILS: Word("⊗", "fails on head", "fails", "runs on base, but not on head"),
    Verdict.INCONCLUSIVE: Word(
        "?", "inconclusive", "open", "pairs or device time ran out before it was settled"
    ),
    Verdict.NOT_MEASURED: Word("∅", "not measured", "unmeasured", "no valid comparison could be made"),
    Verdict.BASE_FAILS: Word(
        "⊘", "fails on base", "unmeasured", "base does not run, so there is nothing to compare"
    ),
    Verdict.IMPROVED: Word(
        "★", "improved", "improved", "surely better than base by more than the minimum effect"
    ),
    Verdict.NO_REGRESSION: Word(
        "✓", "no regression", "steady", "a change as bad as the tolerance is excluded"
    ),
    Verdict.NEW: Word("+", "new", "listed", "exists only in head"),
    Verdict.REMOVED: Word("−", "removed", "listed", "exists only in base"),
    None: Word("…", "measuring", "running", "more pairs are still to come"),
}
"""Every verdict, most pressing first; None is a case that is still open."""

CONCLUSIONS: dict[Conclusion | None, Word] = {
    Conclusion.REGRESSED: Word(
        "✗", "regressed", "regressed", "at least one gating result is worse, or fails on head"
    ),
    Conclusion.NOT_MEASURED: Word("∅", "not measured", "unmeasured", "too little could be compared"),
    Conclusion.INCONCLUSIVE: Word("?", "inconclusive", "open", "too much stayed open to call it passed"),
    Conclusion.PASSED: Word("✓", "passed", "steady", "nothing regressed, and little enough stayed open"),
    None: Word("…", "in progress", "running", "the check is not complete"),
}

REASONS = {
    "invalid_environment": "too many pairs were disturbed from outside",
    "no_capacity": "no worker can take it",
    "machine_mismatch": "base and head did not run on the same machine",
    "infra": "the worker or its connection failed",
    "both_fail": "it fails on base and on head",
    "not_synchronised": "the clock stopped before the device had finished its work",
    "gate_asymmetry": "one arm was disturbed more often than the other",
    "device_busy": "the device was in use",
    "device_quarantined": "the device is not what it was, and takes no jobs until it is",
    "disk_full": "the worker's disk was full",
    "build_failed": "the set-up commands failed",
    "checkout_failed": "the commit could not be checked out",
    "list_failed": "the benchmark files could not be loaded",
    "timeout": "it ran longer than its time limit",
    "oom": "it ran out of memory",
    "cancelled": "it was cancelled",
    "superseded": "a newer commit took its place",
    "expired": "it waited too long for a worker",
    "queue_deadline": "no device was free in time",
    "attempts_used_up": "every attempt ended in a fault of its worker",
    "agent_fault": "the worker's agent failed",
    "device_time": "the device time was spent",
    "device_time_left": "the device time left was too short for another block of pairs",
    "agent_ended": "the worker's agent ended before it was settled",
    "max_pairs": "the largest number of pairs was reached",
    "foreign_process": "another process was on the device",
    "ecc": "the device reported a memory or driver error",
    "limit_changed": "the device's power, clock or partition settings changed",
    "hw_brake": "the hardware's power brake was active",
    "link": "the device's PCIe link ran below its speed",
    "host_cpu": "other programs kept the host's processors busy",
    "host_steal": "the hypervisor took processor time away",
    "host_swap": "memory was read back from swap",
    "telemetry_lost": "the device fell silent while it was measured",
    "mode_changed": "the device's mode was changed during the run",
    "power_limited": "the power limit held it back",
    "thermally_limited": "heat held it back",
    "power_cap": "the device ran at its power limit",
    "thermal": "the device was slowed down by heat",
    "low_clock": "the device's clock was below its usual rate",
    "alloc_retry": "the allocator had to retry",
    "invalid_value": "a value was zero, negative or not finite",
    "result_parse_error": "the result file had a line that could not be read",
    "unit_mismatch": "base and head report it in different units",
    "worker_lost": "the worker was not heard of any more",
    "attempt_too_long": "the attempt did not end in its time",
    "missing": "the case reported no value",
    "unknown_peak": "the device's peak is not known",
    "no_price": "no price is known",
    "no_energy": "energy cannot be measured",
    "failed": "an invocation failed",
    "no_sandbox": "the worker cannot keep untrusted code in",
    "sandbox_failed": "the worker could not make a sandbox for untrusted code",
    "untrusted_needs_network": "untrusted code is built without a network",
    "untrusted_submodules": "submodules of untrusted commits are not fetched",
    "untrusted_lfs": "files of git-lfs are not fetched for untrusted commits",
    "no_build_tools": "the tools that base is built with could not be had",
}

FLAGS = {
    "base_failed": "some invocations failed on base",
    "head_failed": "some invocations failed on head",
    "value_missing": "some invocations reported no value",
    "from_zero": "base is 0, so there is no relative change",
    "kind_sampled": "it varies from run to run, so it was compared as samples, not exactly",
    "budget_undecided": "it is not sure yet whether it keeps within its budget",
    "budget": "over the absolute limit that a budget sets",
    "backdated": "whoever posted it said when it was measured, some time ago",
    "client_time": "the time that it names is far from when it was measured",
    "already_broken": "base is over the budget too, so the budget does not count against head",
    "benchmark_changed": "the benchmark file differs between base and head; both ran the same one",
    "control_unavailable": "no control workload ran beside it, so a drifting machine would not be noticed",
    "foreign_process": "another process was on the device before some invocations",
    "temp_not_equalised": "the device did not return to its starting temperature before some invocations",
    "warmup_not_converged": "timings still moved when the warm-up limit was reached",
    "processor_shared": "other programs had the processor for part of the time, which was taken out",
    "processor_contended": (
        "it waited for the processor, perhaps because of its own threads or processes, so nothing was taken out"
    ),
    "few_batches": "fewer than ten batches fitted into the time",
    "peak_memory_unavailable": "the operating system does not tell the peak of one case",
    "gate_unmatched": "the gate names a metric that no case reports; if it names no other, the default gate holds",
    "cache_flush_unavailable": "the device cache could not be flushed between iterations",
    "clock_disagreement": "device and host clocks disagree",
    "unaccounted_time": "reported times leave over half of the wall time unexplained",
    "degenerate_input": "the input was constant, which can make a device unusually fast",
    "tail_unavailable": "too few samples for this quantile",
    "run_drift": "the machine was measurably different at the end of the run",
    "health_unknown": "the device has too little history to be called healthy",
    "energy_window_short": "too short a run to measure energy",
    "alloc_retry": "torch's allocator had to empty its cache to go on",
    "beyond_peak": "more than the device's peak: what was declared, or the peak figure, is wrong",
    "peak_not_verified": "the device's peak figure was not verified",
    "scaling_mode_missing": "the scaling mode was not stated",
}

QUARANTINE_ENDS = {
    "calibration": "it takes no jobs until a calibration finds it as it was",
    "administrator": "it takes no jobs until an administrator says that it was mended",
}

GRADES = {
    "A": "A: exclusive device, locked clocks, pairs agree within 0.5 %",
    "B": "B: exclusive device, pairs agree within 2 %",
    "C": "C: shared or noisy machine; the verdict is as measured, but a pull request is not failed for it",
}


_CODE = re.compile(r"[a-z]+(_[a-z]+)+")
"""What a code looks like that no sentence begins with."""


def word_of(verdict: Verdict | None) -> Word:
    """Return how a verdict is shown; None is a case still being measured."""
    return VERDICTS[verdict]


def explain(code: str | None) -> str:
    """Return a reason in plain words.

    Takes a code (`no_capacity`), a code with more behind a colon (`build_failed: exit status 1`), or a sentence,
    which is returned as it is. A code that is not known gives way to the sentence behind it.
    """
    text = (code or "").strip()
    head, _, rest = (part.strip() for part in text.partition(":"))
    known = REASONS.get(head) or FLAGS.get(head)
    if known is None:
        return explain(rest) if rest and _CODE.fullmatch(head) else text
    more = explain(rest)
    return f"{known}: {more}" if more and more != known else known


def explain_flag(flag: str) -> str:
    """Return a flag with its meaning: `run_drift: the machine was …`; an unknown one as it is."""
    meaning = FLAGS.get(flag) or REASONS.get(flag)
    return f"{flag}: {meaning}" if meaning else flag


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun in the right form: `1 result`, `3 results`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def counted(number: int, word: Word) -> str:
    """Return a verdict's name as it reads behind a number: `2 fail on head`, `1 fails on head`, `3 new`."""
    return word.name if number == 1 else word.name.replace("fails", "fail", 1)


def listing(names: list[str]) -> str:
    """Return names as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
