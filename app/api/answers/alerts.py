"""Alerts: what is worse and waits for somebody, and how right the detector was."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict

from app.api.answers.one_series import PREVIOUS, SHA, TIME
from app.api.answers.shape import Answer, told
from app.domain.alerts import AlertEvent, AlertState


class AlertCommitAnswer(Answer):
    """A commit."""

    sha: str = told("Its id.", SHA)
    subject: str = told("The first line of its message.", "Use cubic filter")
    author: str = told("Its author.", "Grace")
    time: datetime | None = told("Its time, where somebody said it.", TIME)


class AlertChangeAnswer(Answer):
    """A change of an alert."""

    id: int = told("Its number.", 7)
    series: int = told("The series' number.", 34)
    benchmark: str = told("The benchmark's name.", "resize")
    params: dict[str, str | int | float | bool | None] = told("The case's parameters.", {"batch": 32})
    metric: str = told("What is measured.", "latency_p50")
    unit: str = told("The series' unit.", "s")
    device_class: str = told("What it is measured on.", "nvidia-h100-sxm5-80gb")
    before: float | None = told("Level before [unit].", 0.0018)
    after: float | None = told("Level after [unit].", 0.0019)
    change: float | None = told("after/before − 1.", 0.0556)
    ci_low: float | None = told("Lower end of its 95 % interval.", 0.049)
    ci_high: float | None = told("Upper end.", 0.061)
    commit: str = told("The first commit of the new level.", SHA)
    previous: str = told("The one before it in the history.", PREVIOUS)
    stands: bool = told("Whether it holds as far as is known.", True)
    reason: str | None = told("Why it is in its state.", None)
    accepted_by: str | None = told("Who said that it is wanted.", None)


class AlertCheckAnswer(Answer):
    """A failed check of an alert."""

    id: int = told("Its number.", 5)
    title: str | None = told("What it says.", "1 regression in 8 cases")
    concluded_at: datetime | None = told("When it was complete.", TIME)


class AlertLineAnswer(Answer):
    """An alert as a list has it."""

    id: int = told("Its number.", 3)
    project: str = told("The project's name.", "acme/vision")
    branch: str = told("The branch.", "main")
    state: AlertState = told("Where it stands.", "new")
    owner: str | None = told("Whose it is; null for nobody's.", "ada")
    commit: AlertCommitAnswer = told("The last commit that it can have come with.")
    previous: str | None = told("The commit before the first one.", PREVIOUS)
    pull_request: int | None = told("The pull request that it came with.", 6)
    pull_request_url: str | None = told("Its address.", "https://github.com/acme/vision/pull/6")
    n_changes: int = told("How many changes it has.", 1)
    n_checks: int = told("How many failed checks it has.", 1)
    changes: list[AlertChangeAnswer] = told("The largest of its changes.")
    checks: list[AlertCheckAnswer] = told("Its failed checks.")
    opened_at: datetime = told("When it was opened.", TIME)
    moved_at: datetime = told("When it came to its state.", TIME)


class AlertListAnswer(Answer):
    """Alerts, the newest first."""

    alerts: list[AlertLineAnswer] = told("The alerts.")
    counts: dict[str, int] = told("How many there are, by state.", {"new": 1})
    more: bool = told("Whether the list goes on.", True)
    next: int | None = told("What `cursor` has to be for the next page; null on the last one.", 3)


class DeedAnswer(Answer):
    """What happened to an alert; further keys say more of it."""

    model_config = ConfigDict(extra="allow")

    at: datetime = told("When.", TIME)
    by: str = told("Who did it; `ratchet` where nobody did.", "ada")
    what: AlertEvent = told("What happened.", "moved")


class AlertAnswer(AlertLineAnswer):
    """An alert with its history."""

    history: list[DeedAnswer] = told("Who did what with it.")


class ProportionAnswer(Answer):
    """A share with its 95 % interval."""

    share: float | None = told("k of n; null where n is 0.", 0.9)
    low: float | None = told("Lower end of its interval.", 0.6)
    high: float | None = told("Upper end.", 0.98)
    k: int = told("How many are.", 9)
    n: int = told("Of how many.", 10)


class QualityAnswer(Answer):
    """How right the detector was, by what people made of its alerts."""

    precision: ProportionAnswer = told("Of the alerts that were judged, those that were real.")
    recall: ProportionAnswer = told("Of the changes that were real, those that it found.")
    not_ours: int = told("Alerts of which something moved, but not the code.", 1)
    open: int = told("Alerts that nobody has judged.", 4)


class AnsweredAnswer(Answer):
    """Which alerts were answered."""

    answered: list[int] = told("Their numbers.", [3, 4])


class MissedAnswer(Answer):
    """Whether a missed change was noted."""

    new: bool = told("Whether nobody had told of it.", True)
