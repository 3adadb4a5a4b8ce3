"""Runs, measured or posted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from app.api.answers.one_series import PREVIOUS, SHA, TIME, SeriesAnswer
from app.api.answers.shape import Answer, Selected, maybe, told


class RunJobAnswer(Answer):
    """The job that a run is an attempt of."""

    id: int = told("Its number.", 91)
    suite: str = told("The suite's name.", "inference")
    state: str = told("Its state.", "succeeded")
    attempt: int = told("Which attempt this run is.", 1)
    outcome: str | None = told("How the attempt ended; null while it goes on.", "ok")
    reason: str | None = told("Why, where it did not end well.", None)
    budget_s: float = told("Device time that it may take [s].", 1200.0)


class RunWorkerAnswer(Answer):
    """The agent that measured."""

    name: str = told("Its name.", "gpu-box-1")
    host: str = told("Its host.", "gpu-box-1.example.org")
    agent_version: str = told("Its release.", "0.1.0")


class EnvironmentAnswer(Answer):
    """The machine and the software that a run ran in."""

    machine_hash: str = told("Equal where the machine is.", "0b54…")
    machine: dict[str, Any] = told("Facts of the machine.", {"driver": "570.86.15"})
    software: dict[str, Any] = told("What the commit's own set-up resolved.", {"torch": "2.7.0"})


class TallyAnswer(Answer):
    """How many processes were measured."""

    total: int = told("All.", 24)
    void: int = told("Those that do not count.", 2)
    arms: dict[str, dict[str, int]] = told("By arm and how they ended.", {"base": {"ok": 12}})


class RunAnswer(Selected):
    """A run. Of a posted one there are the first keys, `posted_by` and `results`; with `fields` only those."""

    run: str = told("Its name.", "12")
    kind: Literal["measured", "posted"] = told("Whether an agent of ours measured it.", "measured")
    project: str = told("The project's name.", "acme/vision")
    base: str | None = told("Base's commit; null where only head was measured.", PREVIOUS)
    head: str = told("Head's commit.", SHA)
    environment: EnvironmentAnswer | None = told("Where it ran.")
    created_at: datetime = told("When it began, or was received.", TIME)
    device_class: str | None = maybe("What it was measured on.", "nvidia-h100-sxm5-80gb")
    job: RunJobAnswer | None = maybe("Its job.")
    worker: RunWorkerAnswer | None = maybe("Who measured it.")
    arms: dict[str, Any] | None = maybe("How each arm was prepared.", {"base": {}, "head": {}})
    activity: dict[str, Any] | None = maybe("What DCGM told of its devices.", None)
    invocations: TallyAnswer | None = maybe("What was measured.")
    device_s: float | None = maybe("Device time that it took [s].", 412.5)
    prepared_at: datetime | None = maybe("When both arms were ready.", TIME)
    published_at: datetime | None = maybe("When its results joined their series.", TIME)
    ended_at: datetime | None = maybe("When it ended.", TIME)
    posted_by: str | None = maybe("Who posted it.", "ci")
    results: int | None = maybe("How many results were posted.", 50)


class RunLineAnswer(Selected):
    """A run of the list."""

    run: str = told("Its name.", "12")
    kind: Literal["measured", "posted"] = told("Whether an agent of ours measured it.", "measured")
    project: str = told("The project's name.", "acme/vision")
    base: str | None = told("Base's commit; null where only head was measured.", PREVIOUS)
    head: str = told("Head's commit.", SHA)
    subject: str = told("The first line of head's message.", "Use cubic filter")
    author: str = told("Head's author.", "Grace")
    device_class: str | None = told(
        "What it was measured on; null where nothing is known.", "cpu-amd-epyc-7763-16t"
    )
    suite: str | None = told("The suite; null for what was posted.", "inference")
    by: str = told("The agent, or who posted it.", "gpu-box-1")
    outcome: str | None = told("How it ended; null while it goes on.", "ok")
    reason: str | None = told("Why, where it did not end well.", None)
    results: int = told("How many results it brought.", 16)
    created_at: datetime = told("When it began, or was received.", TIME)
    ended_at: datetime | None = told("When it ended.", TIME)


class RunListAnswer(Answer):
    """Runs, the newest first."""

    runs: list[RunLineAnswer] = told("The runs.")
    next: str | None = told("What `cursor` has to be for the next page; null on the last one.", "12.7")


class RunResultAnswer(Answer):
    """A result of a run."""

    series: SeriesAnswer = told("Its series.")
    arm: Literal["base", "head"] = told("Which commit of the run.", "head")
    commit: str = told("That commit.", SHA)
    branch: str | None = told("The branch whose history it is a point of; null for none.", "main")
    value: float = told("The median [unit].", 0.001916)
    low: float = told("The smallest value, or the lower end of the spread that was posted.", 0.001913)
    high: float = told("The largest value, or the upper end of the spread that was posted.", 0.001921)
    n: int = told("How many values it is the median of.", 3)
    values: list[float] = told(
        "Every value, in its order; none where they are no longer kept.", [0.001913, 0.001921, 0.001916]
    )
    void: list[int] = told("Indices, from 0, of those that do not count.", [])
    flags: list[str] = told("What is doubtful about it.", [])
    measured_at: datetime = told("When it was measured, or else received.", TIME)


class RunResultsAnswer(Answer):
    """What a run has brought."""

    run: str = told("The run's name.", "upload-12")
    results: list[RunResultAnswer] = told("Its results, in the order of their arrival.")
    next: int | None = told("What `cursor` has to be for the next page; null on the last one.", 812)
