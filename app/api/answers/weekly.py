"""The weekly report as programs read it."""

from __future__ import annotations

from typing import Any, Literal

from app.api.answers.one_series import SHA
from app.api.answers.shape import Answer, told

TIME = "2026-11-23T06:00:04+00:00"


class MoneyAnswer(Answer):
    """An amount in one currency."""

    amount: float = told("How much.", 8230.5)
    currency: str = told("The currency's three letters.", "EUR")


class MonthlyAnswer(Answer):
    """What a change takes more in a month at the stated traffic; below zero where it saves."""

    device_hours: float | None = told("Hours of one device each; null where no time is told.", 3305.2)
    kwh: float | None = told("Energy; null where none is told.", None)
    money: list[MoneyAnswer] = told("What that costs, by currency; empty without a price.")
    basis: list[str] = told("The statements that it rests on.", ["2.5e9 tokens a day (stated 2026-02-01)"])


class WeeklySeriesAnswer(Answer):
    """A series."""

    id: int = told("Its number.", 7)
    project: str = told("The project.", "acme/vision")
    benchmark: str = told("The benchmark.", "serve_llm")
    params: dict[str, Any] = told("What tells the case from others of the benchmark.", {"batch": 32})
    metric: str = told("What is measured.", "tokens_per_s")
    unit: str = told("Its base unit.", "tokens/s")
    better: Literal["lower", "higher"] = told("Which way is better.", "higher")
    device_class: str = told("What it is measured on.", "nvidia-h100-sxm5-80gb")


class MovedAnswer(Answer):
    """A series that moved from one level to another."""

    series: WeeklySeriesAnswer = told("The series.")
    before: float = told("The level before, in the series' unit.", 18500.0)
    after: float = told("The level after.", 16100.0)
    change: float = told("after/before - 1.", -0.1297)
    ci_low: float | None = told("Lower end of its 95 % interval.", -0.135)
    ci_high: float | None = told("Upper end.", -0.124)
    effect: float = told("ln(after/before), positive = worse.", 0.139)
    weeks: list[float | None] = told(
        "Medians of the last thirteen weeks, the oldest first; null where a week has no point.",
        [18510.0, None, 16090.0],
    )


class WeeklyCommitAnswer(Answer):
    """A commit."""

    sha: str = told("Its id.", SHA)
    subject: str = told("The first line of its message.", "Pad the batch")
    author: str = told("Who wrote it.", "Ada Lovelace")
    date: str | None = told("When.", TIME)


class CauseAnswer(Answer):
    """Changes of one cause: of one alert, or else of one commit."""

    project: str = told("The project.", "acme/vision")
    series: list[MovedAnswer] = told("The series that show it most, at the most four.")
    n_series: int = told("How many series moved.", 3)
    commit: WeeklyCommitAnswer = told("The first commit of the new level.")
    previous: str = told("The last one of the level before.", SHA)
    since: str = told("The commit's time.", TIME)
    is_new: bool = told("Whether the commit, or that it became known, is of this week.", True)
    monthly: MonthlyAnswer | None = told("What it takes a month; null where nobody stated what that takes.")
    alert_id: int | None = told("The alert that tells of it.", 12)
    state: str | None = told("Where people moved that.", "acknowledged")
    owner: str | None = told("Who has it.", "ada")
    pull: int | None = told("The pull request that it came with.", 481)
    pull_url: str | None = told("Where that is.", "https://github.com/acme/vision/pull/481")


class DriftAnswer(Answer):
    """A series that became worse over months by more than its confirmed changes come to."""

    moved: MovedAnswer = told("From the level of the week `since` to this week's.")
    since: str = told("The week that it is held against.", "2026-W34")
    explained: float = told("Effect of the confirmed changes between (ln units, positive = worse).", 0.0)
    rest: float = told("What they do not explain.", 0.061)
    error: float = told("Its standard error.", 0.004)
    monthly: MonthlyAnswer | None = told("What the rest takes a month.")


class ChangesAnswerOfWeek(Answer):
    """What has moved."""

    waste: list[CauseAnswer] = told("Losses that stand, the dearest first, at the most twelve.")
    n_waste: int = told("How many there are.", 5)
    n_new: int = told("How many of them are new.", 2)
    gains: list[CauseAnswer] = told("What got better, at the most twelve.")
    n_gains: int = told("How many there are.", 1)
    drifts: list[DriftAnswer] = told("Slow drifts, at the most twelve.")
    n_drifts: int = told("How many there are.", 1)
    n_suspected: int = told("Suspicions of commits of the week; none of them is counted.", 0)
    waste_total: MonthlyAnswer | None = told("What all losses take a month.")
    gains_total: MonthlyAnswer | None = told("What all gains take a month: below zero.")


class LevelAnswer(Answer):
    """Where a series was in a week."""

    median: float = told("Median of its points.", 0.41)
    low: float = told("First quartile.", 0.405)
    high: float = told("Third quartile.", 0.414)
    n: int = told("Points.", 42)


class EfficientAnswer(Answer):
    """One metric of efficiency of a case."""

    series: WeeklySeriesAnswer = told("The series.")
    now: LevelAnswer = told("This week.")
    last: LevelAnswer | None = told("The week before; null without a point.")
    best: float = told("The best point that it ever had.", 0.47)
    best_commit: str = told("Of which commit.", SHA)
    weeks: list[float | None] = told("Medians of the last thirteen weeks.", [0.42, 0.41])


class EfficientCaseAnswer(Answer):
    """A case on a device class."""

    project: str = told("The project.", "acme/vision")
    benchmark: str = told("The benchmark.", "serve_llm")
    params: dict[str, Any] = told("Its parameters.", {"batch": 32})
    device_class: str = told("The device class.", "nvidia-h100-sxm5-80gb")
    metrics: list[EfficientAnswer] = told("What is known of its efficiency.")
    roof: float | None = told("Share of the roof that is nearer; null where that is not known.", 0.41)
    roof_last: float | None = told("The same in the week before.", 0.42)


class ClassEfficiencyAnswer(Answer):
    """One metric over the cases of a device class."""

    device_class: str = told("The device class.", "nvidia-h100-sxm5-80gb")
    metric: str = told("The metric.", "mfu")
    unit: str = told("Its base unit.", "1")
    better: Literal["lower", "higher"] = told("Which way is better.", "higher")
    n: int = told("Cases that have it.", 12)
    median: float = told("Median of their levels.", 0.41)
    ratio: float | None = told("Geometric mean of this week's over last week's levels.", 1.012)
    n_compared: int = told("Over how many cases.", 12)


class EfficiencyAnswer(Answer):
    """How well the devices were used."""

    classes: list[ClassEfficiencyAnswer] = told("By device class.")
    cases: list[EfficientCaseAnswer] = told("The cases farthest from their roof, at the most twelve.")
    n_cases: int = told("How many cases tell their efficiency.", 12)


class CoverageAnswer(Answer):
    """What the numbers of a week rest on."""

    n_series: int = told("Series.", 14)
    n_measured: int = told("Those with a point of the week.", 14)
    n_points: int = told("Points of the week.", 140)
    n_commits: int = told("Commits of the week.", 10)
    checks: list[list[Any]] = told("Checks that ended, by conclusion.", [["passed", 9], ["regressed", 1]])


class WeeklyAnswer(Answer):
    """A week's efficiency report: every number that its page shows, unrounded, in base units."""

    project: str | None = told("The project; null where it is of all that you may see.", "acme/vision")
    week: str = told("The week, as ISO 8601 numbers it.", "2026-W47")
    start: str = told("Its first moment.", "2026-11-16T00:00:00+00:00")
    end: str = told("The first moment after it.", "2026-11-23T00:00:00+00:00")
    is_over: bool = told("Whether it had ended when the report was made.", True)
    made_at: str = told("When that was.", TIME)
    headline: str = told("The week in one sentence.", "5 losses stand, 2 of them new: 12 400 EUR a month.")
    first: str = told("What to do first, or what is best.", "")
    coverage: CoverageAnswer = told("What the numbers rest on.")
    changes: ChangesAnswerOfWeek = told("Losses, gains and drifts.")
    efficiency: EfficiencyAnswer = told("Utilisation, energy and cost of cases.")
    bottlenecks: list[dict[str, Any]] = told(
        "What holds each case back, with its evidence and what to try; at the most so many as are known.",
        [{"benchmark": "serve_llm", "device_class": "nvidia-h100-sxm5-80gb", "kind": "memory", "advice": []}],
    )
    hardware: list[dict[str, Any]] = told(
        "The same work on several device classes of a project.",
        [{"project": "acme/vision", "comparisons": []}],
    )
    scaling: list[dict[str, Any]] = told(
        "Scaling efficiency, the worst first.",
        [{"benchmark": "train_step", "now": 0.87, "last": 0.88, "devices": 8}],
    )
    fleet: dict[str, Any] = told(
        "What the devices did: time that was there, held and idle [s], waits, energy, what measuring took. `unheld` of "
        "a class or device is what DCGM told of the time that nobody held, `watched` of how many GPUs it told.",
        {
            "classes": [],
            "devices": [],
            "suites": [],
            "purposes": [],
            "energy": None,
            "watched": {"n_told": 15, "n": 16, "reason": None},
        },
    )
    alerts: dict[str, Any] = told(
        "Open alerts by state and age, and how right the detector was.",
        {"ages": {"new": [1, 0, 2]}, "opened": 3, "closed": {"fixed": 1}},
    )
