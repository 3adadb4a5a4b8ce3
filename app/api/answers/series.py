"""Series, their points and trends, and two sides of them compared."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from app.api.answers.changes import ChangeAnswer
from app.api.answers.hardware import HardwareAnswer
from app.api.answers.one_series import PREVIOUS, SHA, TIME, SeriesAnswer
from app.api.answers.shape import Answer, Listed, Selected, maybe, told


class NewestAnswer(Answer):
    """The newest point of a series."""

    commit: str = told("The commit's id.", SHA)
    time: datetime = told("The commit's time; where nobody said it, when it was measured.", TIME)
    value: float = told("The median [unit].", 0.001916)


class ListedSeriesAnswer(SeriesAnswer, Selected):
    """A series of the list."""

    n: int = told("How many results it has.", 120)
    last: NewestAnswer | None = told("Its newest point; null without any.")


class SeriesListAnswer(Listed):
    """Series by name."""

    series: list[ListedSeriesAnswer] = told("The series.")


class PointAnswer(Answer):
    """One result."""

    commit: str = told("The commit's id.", SHA)
    branch: str | None = told("The branch that the commit was first told of on.", "main")
    time: datetime = told("The commit's time; where nobody said it, `measured_at`.", TIME)
    value: float = told("The median [unit].", 0.001916)
    low: float = told("The smallest value, or the lower end of the spread that was posted.", 0.001913)
    high: float = told("The largest value, or the upper end of the spread that was posted.", 0.001921)
    n: int = told("How many values it is the median of.", 4)
    arm: Literal["base", "head"] = told("Which commit of its run.", "head")
    run: str = told("The run that it comes from, as `/runs/{run}` takes it.", "upload-12")
    flags: list[str] = told("What is doubtful about it.", [])
    measured_at: datetime = told("When it was measured, or else received.", TIME)
    values: list[float] | None = maybe("Every kept value, with `values=true`.", [0.001913, 0.001921])


class PointsAnswer(Listed):
    """The newest points of a series in the order of their arrival, and the changes that stand."""

    series: SeriesAnswer = told("The series.")
    points: list[PointAnswer] = told("The points, the newest last.")
    changes: list[ChangeAnswer] = told("Its newest changes that stand, in the order of its history.")


class TrendPointsAnswer(Selected):
    """Points as columns, all of one length."""

    row: list[int] = told("Place in the history, from 0.", [0, 1])
    value: list[float] = told("Medians [unit].", [0.0018, 0.0019])
    low: list[float] = told("Smallest values.", [0.0018, 0.0019])
    high: list[float] = told("Largest values.", [0.0018, 0.0019])
    n: list[int] = told("Of how many values.", [4, 4])
    commit: list[str] = told("Ids of the commits.", [PREVIOUS, SHA])
    subject: list[str] = told("First lines of their messages.", ["Pad less", "Use cubic filter"])
    author: list[str] = told("Their authors.", ["Ada", "Grace"])
    time: list[datetime] = told("Their times.", [TIME, TIME])
    run: list[str] = told("Where each comes from.", ["upload-11", "upload-12"])
    flags: list[list[str]] = told("What is doubtful about each.", [[], []])


class TrendChangeAnswer(Answer):
    """A change that stands."""

    id: int = told("Its number.", 7)
    row: int = told("Row of the first point of the new level.", 1)
    commit: str = told("The first commit of the new level.", SHA)
    previous: str = told("The one before it in the history.", PREVIOUS)
    kind: str = told("`step`, `ramp`, `spike` or `variance`.", "step")
    state: str = told("`suspected` or `confirmed`.", "confirmed")
    worse: bool | None = told("Whether it is for the worse; null for no change of level.", True)
    machine: bool = told("Whether the machine moved, and not the code.", False)
    change: float | None = told("after/before − 1.", 0.055)
    ci_low: float | None = told("Lower end of its 95 % interval.", 0.049)
    ci_high: float | None = told("Upper end.", 0.061)
    before: float | None = told("Level before [unit].", 0.0018)
    after: float | None = told("Level after [unit].", 0.0019)


class TrendFactAnswer(Answer):
    """A fact of a machine that changed."""

    name: str = told("What it is.", "driver")
    before: str | None = told("What it was.", "550.54")
    after: str | None = told("What it became.", "560.28")


class TrendEpochAnswer(Answer):
    """A machine that arrives in the history."""

    row: int = told("Row of the first point that was measured on it.", 1)
    commit: str = told("That point's commit.", SHA)
    returned: bool = told("Whether the history had the machine before.", False)
    changes: list[TrendFactAnswer] = told("What differs from the machine before it that is most like it.")


class TrendControlAnswer(Answer):
    """How long the control workload took at the starts of runs, as columns of one length."""

    row: list[int] = told("Rows of the points that the runs brought.", [0, 1])
    deviation: list[float] = told(
        "time/usual − 1, the usual being the median of those told.", [-0.002, 0.002]
    )
    thinned: bool = told("Whether rows are left out, as there are more than half of `columns`.", False)


class TrendVoidAnswer(Answer):
    """A point of whose values some do not count."""

    row: int = told("Its row.", 1)
    n_void: int = told("How many of its values do not count.", 2)
    n_values: int = told("How many there are with those.", 6)
    reasons: list[str] | None = told(
        "Codes of why; null where nobody looked, as for all but the newest fifty.", ["foreign_process"]
    )


class TrendFailedAnswer(Answer):
    """A run that should have brought a point and did not, and whose commit has none."""

    row: int = told("The row that it lies before: `n` where it is newer than every point.", 2)
    commit: str = told("The commit that has no point.", SHA)
    run: str | None = told("The run; null where none was begun.", "12")
    verdict: str | None = told("What the run said of the series, such as `head_fails`.", "not_measured")
    reason: str | None = told("Why, as a code.", "invalid_environment")


class TrendBudgetAnswer(Answer):
    """The limits on the metric, in its unit."""

    benchmark: str = told("The benchmarks that they are for, as `ratchet.toml` names them.", "resize")
    max: float | None = told("The largest value allowed; null without.", 0.005)
    min: float | None = told("The smallest value allowed; null without.", None)


class TrendAnswer(Answer):
    """The history of a series on one branch, in the order of its commits."""

    series: SeriesAnswer = told("The series.")
    branch: str = told("The branch.", "main")
    branches: list[str] = told("Branches on which it has a history, the longest first.", ["main"])
    n: int = told("How many points the history has.", 2)
    first: int = told("The first row of those shown.", 0)
    last: int = told("The last row of those shown; `first` − 1 where there is none.", 1)
    thinned: bool = told("Whether rows between them are left out.", False)
    points: TrendPointsAnswer = told("The points, as columns; with `fields` only those.")
    changes: list[TrendChangeAnswer] = told("The changes that stand.")
    machines: int = told("How many machines measured the history, as far as they are told.", 2)
    epochs: list[TrendEpochAnswer] = told(
        "Where a machine arrives, in the whole history; empty where they come and go all the time."
    )
    control: TrendControlAnswer = told("The control workload beside the points shown.")
    void: list[TrendVoidAnswer] = told("Those of the points shown that have values that do not count.")
    failed: list[TrendFailedAnswer] = told(
        "Runs without a point in the whole history, of the project's last 200 checks."
    )
    budget: TrendBudgetAnswer | None = told(
        "The budget of the newest settings that have landed; null where it is about no series like this."
    )


class ComparedAnswer(SeriesAnswer):
    """One series on both sides; what is of a side is null where the series is not on it."""

    base_median: float | None = told("Base's value [unit].", 0.0018)
    base_low: float | None = told("Base's smallest value.", 0.00179)
    base_high: float | None = told("Base's largest value.", 0.00181)
    base_n: int | None = told("Of how many values.", 4)
    base_run: str | None = told("Where it comes from.", "upload-11")
    base_commit: str | None = told("The commit that it is of.", PREVIOUS)
    head_median: float | None = told("Head's value [unit].", 0.0019)
    head_low: float | None = told("Head's smallest value.", 0.00189)
    head_high: float | None = told("Head's largest value.", 0.00191)
    head_n: int | None = told("Of how many values.", 4)
    head_run: str | None = told("Where it comes from.", "upload-12")
    head_commit: str | None = told("The commit that it is of.", SHA)
    change: float | None = told("head/base − 1; null where one is missing, or base is 0.", 0.0556)


class ComparisonAnswer(Answer):
    """Stored numbers of two commits, branches or device classes side by side. It is no verdict."""

    project: str = told("The project's name.", "acme/vision")
    base: str = told("The commit's id, or the branch.", PREVIOUS)
    head: str = told("The commit's id, or the branch.", SHA)
    note: str = told("Why it is no verdict.", "A comparison of stored numbers. It is no verdict.")
    hardware: HardwareAnswer | None = told(
        "What the sides' device classes do, draw and cost; null unless both sides name one, and not the same."
    )
    series: list[ComparedAnswer] = told("Series that are on both sides.")
    only_base: list[ComparedAnswer] = told("Series that only base has.", [])
    only_head: list[ComparedAnswer] = told("Series that only head has.", [])
