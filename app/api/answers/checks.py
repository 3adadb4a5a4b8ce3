"""Checks: what is asked for, how far it has come, and what it says. docs/reports.md tells of every key."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from app.api.answers.one_series import PREVIOUS, SHA, TIME
from app.api.answers.shape import Answer, Listed, told
from app.domain.verdicts import Conclusion, Verdict


class JobProgressAnswer(Answer):
    """One suite on one device class."""

    suite: str = told("The suite's name.", "inference")
    device_class: str = told("What it is measured on.", "cpu-amd-epyc-7763-16t")
    state: str = told("The job's state.", "running")
    phase: str = told("What the agent does just now.", "measuring")
    detail: str = told("Of that, what.", "block 3")
    reason: str | None = told("Why it ended as it did.", None)
    message: str | None = told("The same as a sentence.", None)
    place: int | None = told("Its place in the queue, from 1, while it waits.", None)
    attempts: int = told("Attempts so far.", 1)
    claimed_after_s: float | None = told("From the request to the newest lease [s].", 0.8)
    pairs: int = told("Pairs that were measured.", 12)
    settled: int = told("Gating verdicts that are settled.", 3)
    cases: int = told("Gating verdicts that there will be.", 8)
    device_s: float = told("Device time that it took [s].", 84.2)
    budget_s: float = told("Device time that it may take [s].", 1200.0)


class ProgressAnswer(Answer):
    """How far a check has come."""

    check: int = told("The check's number.", 5)
    state: Literal["queued", "running", "complete"] = told("Where it stands.", "running")
    conclusion: Conclusion | None = told("What it says, once it is complete.", None)
    title: str | None = told("The same as a sentence.", None)
    jobs: list[JobProgressAnswer] = told("Its jobs.")


class WatchedAnswer(ProgressAnswer):
    """How far a check has come, and a name for that."""

    version: str = told("Changes with all else: what `seen` takes.", "5f1e0a7c3b9d2468")


class CheckLineAnswer(Answer):
    """A check of the list."""

    check: int = told("Its number.", 5)
    project: str = told("The project's name.", "acme/vision")
    base: str = told("Base's commit.", PREVIOUS)
    head: str = told("Head's commit.", SHA)
    state: Literal["queued", "running", "complete"] = told("Where it stands.", "complete")
    conclusion: Conclusion | None = told("What it says; null while it runs.", "passed")
    title: str | None = told("The same as a sentence.", "No regression in 8 cases")
    created_at: datetime = told("When it was asked for.", TIME)


class CheckListAnswer(Listed):
    """Checks, the newest first."""

    checks: list[CheckLineAnswer] = told("The checks.")


class CaseAnswer(Answer):
    """What is known of one metric of one case."""

    benchmark: str = told("The benchmark's name.", "resize")
    params: dict[str, str | int | float | bool | None] = told("The case's parameters.", {"batch": 32})
    metric: str = told("What was measured.", "latency_p50")
    unit: str = told("Its base unit.", "s")
    better: Literal["lower", "higher"] = told("Which way is better.", "lower")
    gating: bool = told("Whether it can fail the check.", True)
    verdict: Verdict | None = told("What is known; null while it is open.", "no_regression")
    change: float | None = told("head/base − 1.", 0.001)
    worse: bool | None = told("Whether that is for the worse.", True)
    ci_low: float | None = told("Lower end of its interval.", -0.003)
    ci_high: float | None = told("Upper end.", 0.005)
    ci_level: float | None = told("The interval's level.", 0.99)
    n_pairs: int = told("Pairs that count.", 12)
    n_void: int = told("Pairs that do not.", 0)
    could_hide: float | None = told("The largest change that might still be.", None)
    grade: str | None = told("How good a place the machine is.", "A")
    flags: list[str] = told("What else is to be known.", [])
    exploratory: bool = told("Whether it was told of without a promise.", False)
    kind: str = told("How it is compared.", "continuous")
    reason: str | None = told("Why it was not measured.", None)
    base_median: float | None = told("Base's median [unit].", 0.0018)
    head_median: float | None = told("Head's median [unit].", 0.001802)
    attribution: list[str] = told("What held a device back.", [])
    log_tail: str | None = told("The end of what it printed, where it failed.", None)
    base_geomean: float | None = told("Base's geometric mean [unit].", 0.0018)
    head_geomean: float | None = told("Head's geometric mean [unit].", 0.001802)
    bound_pass: float | None = told("The budget's limit [unit].", None)
    provenance: dict[str, Any] | None = told("How a metric that is made of others was made.", None)


class SoftwareChangeAnswer(Answer):
    """A package that is another one in head."""

    name: str = told("Its name.", "torch")
    base: str | None = told("Its version in base; null without it.", "2.6.0")
    head: str | None = told("Its version in head; null without it.", "2.7.0")


class SuiteAnswer(Answer):
    """A suite on one device class."""

    name: str = told("The suite's name.", "inference")
    device_class: str = told("What it was measured on.", "cpu-amd-epyc-7763-16t")
    environment: dict[str, Any] = told("Where it ran.", {"kernel": "6.8.0-49"})
    cases: list[CaseAnswer] = told("Every metric of every case.")
    state: str = told("The job's state.", "succeeded")
    reason: str | None = told("Why it ended as it did.", None)
    worker: str | None = told("Who measured it.", "gpu-box-1")
    software_changes: list[SoftwareChangeAnswer] = told("Packages that differ.", [])
    device_s: float | None = told("Device time that it took [s].", 412.5)
    log_tail: str | None = told("The end of what was printed, where it failed.", None)
    efficiency: dict[str, Any] | None = told("How well it used its devices: docs/api-checks.md.", None)
    devices: list[dict[str, Any]] = told("How each device was while the arms ran: docs/api-checks.md.", [])


class NoteAnswer(Answer):
    """What is to be known of the whole check."""

    flag: str = told("What, for programs.", "benchmark_changed")
    message: str = told("What, for people.", "benchmarks/bench_resize.py differs between base and head")


class CheckAnswer(Answer):
    """A check with every verdict: what `ratchet check --json` prints."""

    check: int | None = told("Its number.", 5)
    conclusion: Conclusion | None = told("What it says; null while it runs.", "passed")
    status: int | None = told("The exit status of `ratchet check`.", 0)
    base: str = told("Base's commit.", PREVIOUS)
    head: str = told("Head's commit.", SHA)
    suites: list[SuiteAnswer] = told("Its suites.")
    report: str | None = told("Where its HTML report is.", "https://ratchet.example.org/checks/5/report")
    project: str = told("The project's name.", "acme/vision")
    state: str = told("Where it stands.", "complete")
    title: str = told("What it says, as a sentence.", "No regression in 8 cases")
    reason: str | None = told("Why it says so.", None)
    alpha: float = told("Share of checks that may fail by chance.", 0.01)
    minimum_effect: float = told("Nothing smaller fails a check.", 0.005)
    tolerance: float = told("`no_regression` excludes this much.", 0.02)
    reproduce: str | None = told(
        "The command that does the same.", "ratchet check --base b83e07d --head 4f1d2c9"
    )
    base_subject: str = told("The first line of base's message.", "Pad less")
    head_subject: str = told("The first line of head's message.", "Use cubic filter")
    page: str | None = told("The address of its page.", "https://ratchet.example.org/checks/5")
    notes: list[NoteAnswer] = told("What is to be known of it.", [])
