"""Changes of series, and what would settle suspicions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from app.api.answers.one_series import PREVIOUS, SHA, TIME, SeriesAnswer
from app.api.answers.shape import Answer, Listed, Selected, told
from app.domain.changes import ChangeKind, ChangeState


class MeasurementAnswer(Answer):
    """What our own agents measure to settle a suspicion."""

    job: int = told("The job's number.", 91)
    state: str = told("Its state.", "succeeded")


class AcceptanceAnswer(Answer):
    """That a change for the worse is wanted."""

    by: str = told("Who said so.", "ada")
    reason: str = told("Why.", "the new filter is worth it")
    at: datetime = told("When.", TIME)
    pull_request: int | None = told("The pull request where it was said; null on a page or by the API.", 7)


class ChangeAnswer(Selected):
    """A change point."""

    id: int = told("Its number.", 7)
    branch: str = told("The branch of its history.", "main")
    commit: str = told("The first commit of the new regime.", SHA)
    previous: str = told("The one before it in the history.", PREVIOUS)
    index: int = told("Place of its first point in the history, from 0.", 41)
    end: str = told("Where a ramp reaches its level, or a spike has reverted.", SHA)
    end_index: int = told("Place of that point.", 41)
    kind: ChangeKind = told("What happened.", "step")
    state: ChangeState = told("Where it stands.", "confirmed")
    before: float | None = told("Level before [unit].", 0.0018)
    after: float | None = told("Level after [unit].", 0.0019)
    change: float | None = told("after/before − 1.", 0.0556)
    worse: bool | None = told("Whether it is for the worse; null for no lasting change of level.", True)
    ci_low: float | None = told("Lower end of the 95 % interval of `change`.", 0.049)
    ci_high: float | None = told("Upper end.", 0.061)
    p_value: float | None = told("How probable it is by chance; null for what is compared exactly.", 1e-6)
    reason: str | None = told("Why it is in its state.", "measured in pairs: +5.6 %")
    label: str | None = told("`machine_change` where the machine moved, and not the code.", None)
    evidence: dict[str, Any] | None = told("What tells so.", None)
    corrects: int | None = told("The number of the change that this one says better.", None)
    measurement: MeasurementAnswer | None = told("What is measured to settle it, or was.")
    first_seen_at: datetime = told("When it was seen first.", TIME)
    examined_at: datetime = told("When it was looked at last.", TIME)
    confirmed_at: datetime | None = told("When it was confirmed.", TIME)
    closed_at: datetime | None = told("When it was withdrawn, became an episode, or was corrected.", None)
    pull_request: int | None = told("The merged pull request that it came with.", 6)
    acceptance: AcceptanceAnswer | None = told("That somebody wants it as it is.")


class ProjectChangeAnswer(ChangeAnswer):
    """A change with its series."""

    series: SeriesAnswer = told("The series.")


class SeriesChangesAnswer(Listed):
    """The newest changes of a series, in the order of its history."""

    series: SeriesAnswer = told("The series.")
    changes: list[ChangeAnswer] = told("The changes.")


class ProjectChangesAnswer(Listed):
    """The changes of all series of a project, the newest first."""

    project: str = told("The project's name.", "acme/vision")
    changes: list[ProjectChangeAnswer] = told("The changes.")


class WantedAnswer(Answer):
    """A measurement that would help to settle a suspicion."""

    commit: str = told("The commit to measure.", SHA)
    benchmark: str = told("The benchmark's name.", "resize")
    params: dict[str, str | int | float | bool | None] = told("The case's parameters.", {"batch": 32})
    metric: str = told("What to measure.", "latency_p50")
    unit: str = told("The series' unit.", "s")
    better: Literal["lower", "higher"] = told("Which way is better.", "lower")
    device_class: str = told("What to measure it on.", "nvidia-h100-sxm5-80gb")
    branch: str = told("The branch to post it to.", "main")
    series: int = told("The series' number.", 34)
    change: int = told("The suspicion's number.", 7)
    why: str = told("Why, as a sentence.", "suspected to have changed latency_p50 by +5.56%")


class WantedListAnswer(Listed):
    """What to measure and post, of the newest suspicions."""

    project: str = told("The project's name.", "acme/vision")
    wanted: list[WantedAnswer] = told("Two for each suspicion: its commit, and the one before.")
