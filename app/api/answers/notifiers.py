"""Who is told of a project's alerts and machines, and what became of it."""

from __future__ import annotations

from datetime import datetime

from app.api.answers.one_series import TIME
from app.api.answers.shape import Answer, told
from app.domain.notifications import About, MessageKind, NotifierKind, Pace, SendState


class WishesAnswer(Answer):
    """What of a project's alerts and machines a notifier is told, and when."""

    about: list[About] = told(
        "What it is told of: `changes` and `checks` of alerts; of the machines that the project uses `fleet`, what "
        "cannot measure, and `control`, what is not what it was.",
        ["changes", "checks", "fleet"],
    )
    min_change: float = told("Smaller changes are not told: 0.05 is 5 %. Machines have no size.", 0.05)
    owners: list[str] = told(
        "Only alerts of these people; empty: of everybody. Machines are nobody's.", ["ada"]
    )
    pace: Pace = told("When it is told.", "at_once")
    hour: int = told("The hour of a digest.", 9)
    weekday: int = told("The day of a weekly digest; 0 is Monday.", 0)
    zone: str = told("The time zone of its hours.", "Europe/Berlin")
    quiet_from: str = told("When its quiet hours begin; empty: it has none.", "22:00")
    quiet_until: str = told("When they end.", "07:00")
    breaks_through: float | None = told("A change so large is told in quiet hours, too.", 0.2)
    empty_digests: bool = told("Whether a digest comes that has nothing to say.", False)
    reports: list[str] = told("Reports that it asked for.", ["weekly_report"])


class NotificationAnswer(Answer):
    """A message and what became of it."""

    key: str = told("What it is known by, at every try.", "msg_0b54f2")
    kind: MessageKind = told("What it is.", "alerts")
    title: str = told("What it says, in a line.", "acme/vision: new: resize latency_p50 +36 %")
    state: SendState = told("What became of it.", "sent")
    attempts: int = told("How often it was tried.", 1)
    error: str = told("What was wrong the last time; empty: nothing.", "")
    created_at: datetime = told("When it was made.", TIME)
    sent_at: datetime | None = told("When it arrived.", TIME)
    next_at: datetime | None = told("When it is tried again.", None)


class NotifierAnswer(Answer):
    """Somebody who is told. What is secret of its address is never told."""

    name: str = told("What it is called.", "ops")
    kind: NotifierKind = told("What it is.", "slack")
    shown: str = told("What of its address may be seen.", "https://hooks.slack.com/…abcd")
    wishes: WishesAnswer = told("What it is told, and when.")
    paused: bool = told("Whether it is told nothing now.", False)
    paused_because: str = told("Why.", "")
    due_at: datetime | None = told("When its next message is made, where that is known.", TIME)
    waiting: int = told("Messages that are not sent yet.", 0)
    created_by: str = told("Who added it.", "ada")
    created_at: datetime = told("When.", TIME)
    deliveries: list[NotificationAnswer] = told("Its newest messages.")


class AddedNotifierAnswer(NotifierAnswer):
    """A new notifier, with what of its address was made here: told this once."""

    made: dict[str, str] = told("The key to check signatures with, where none was given.", {"key": "whsec_…"})


class NotifierListAnswer(Answer):
    """A project's notifiers, by name."""

    notifiers: list[NotifierAnswer] = told("The notifiers.")


class SentTestAnswer(Answer):
    """A message that was asked for to see whether messages arrive."""

    key: str = told("What it is known by among the notifier's deliveries.", "msg_0b54f2")


class RemovedNotifierAnswer(Answer):
    """A notifier that is no more."""

    removed: str = told("What it was called.", "ops")
