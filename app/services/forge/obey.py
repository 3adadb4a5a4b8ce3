"""Do what somebody asked for in a pull request's comment, if he may, and answer where that shows nowhere else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.commands import USAGE, Accept, Approve, Command, Help, Rerun, Run, read_command
from app.domain.forge import CommentText
from app.reports.pull_request.markdown import code, words
from app.services.forge.accept_changes import accept_told
from app.services.forge.answer_of import why_not
from app.services.forge.receive_delivery import OBEY, want_look
from app.services.forge.tell_notice import tell_notice
from app.services.forge.tell_pull import tell_pull
from app.services.forge.want_text import want_text
from app.services.plan_check import Wish
from app.store.repositories import access, clock, forge, outbox, pulls
from app.store.tables import PullRequest, Repository

FRESH = timedelta(minutes=10)
"""For so long a command waits for its pull request to be known."""

AGAIN_S = 10.0


@dataclass(frozen=True)
class Asked:
    """A comment, a label or a button that asks for something."""

    repository_id: int
    number: int
    comment: int
    """The forge's id of the comment; below zero what came without one."""
    author: str
    text: str
    at: str = ""
    """When, by the forge's clock, in ISO 8601; empty where it did not say."""

    @property
    def key(self) -> str:
        """What its message is known by."""
        return f"{OBEY}/{self.repository_id}/{self.number}/{self.comment}"

    @property
    def asked_at(self) -> datetime | None:
        """When it was asked."""
        return datetime.fromisoformat(self.at) if self.at else None


def ask_again(session: Session, asked: Asked, *, delay_s: float) -> None:
    """Have it looked at once more."""
    outbox.put_again(session, OBEY, asked.key, asdict(asked), delay_s=delay_s)


def drop(session: Session, asked: Asked) -> None:
    """Let it be: the forge does not say who asked."""
    outbox.forget(session, asked.key)


def obey(session: Session, settings: ServiceSettings, asked: Asked, *, may_write: bool) -> None:
    """Do what was asked; a refusal and a call for help are answered in a comment of their own."""
    if not outbox.forget(session, asked.key):  # another has done it
        return
    repository = forge.locked(session, asked.repository_id)
    pull = pulls.locked(session, asked.repository_id, asked.number)
    command = read_command(asked.text) or Help()
    if (
        pull is None and may_write and _is_fresh(session, asked)
    ):  # it has overtaken the news of its pull request
        want_look(session, asked.repository_id, asked.number)
        ask_again(session, asked, delay_s=AGAIN_S)
        return
    if (
        isinstance(command, Accept)
        and may_write
        and _accept_told(session, settings, repository, asked, command)
    ):
        return
    refusal = _refusal(session, settings, asked, command, pull, may_write=may_write)
    if refusal:
        marker = f"<!-- ratchet:answer:{asked.comment} -->"
        text = CommentText(asked.number, marker, f"{marker}\n{refusal}\n")
        want_text(session, repository, f"answer/{repository.id}/{asked.comment}", text)
        return
    assert pull is not None
    if isinstance(command, Accept):
        pull.accepted_sha, pull.accepted_by = pull.head_sha, asked.author
        pull.accepted_reason, pull.accepted_at = command.reason, clock.now(session)
        session.flush()
        tell_pull(session, settings, repository, pull)
    else:
        _have_measured(pull, command, asked.author)
        want_look(session, repository.id, pull.number)
    object_ = f"pull/{repository.id}/{pull.number}"
    access.audit(session, asked.author, "pull.command", object_, asked=asked.text[:500], head=pull.head_sha)


def _is_fresh(session: Session, asked: Asked) -> bool:
    return asked.asked_at is not None and clock.now(session) - asked.asked_at < FRESH


def _have_measured(pull: PullRequest, command: Command, author: str) -> None:
    """Note what is to be measured at the next look."""
    if isinstance(command, Approve):
        pull.approved_sha, pull.approved_by = pull.head_sha, author
    elif isinstance(command, Run):
        pull.wishes = [*pull.wishes, asdict(Wish(command.suite, command.device))]
    elif isinstance(command, Rerun) and command.suite:
        pull.wishes = [*pull.wishes, asdict(Wish(command.suite))]
    else:
        pull.rerun = True


def _accept_told(
    session: Session, settings: ServiceSettings, repository: Repository, asked: Asked, command: Accept
) -> bool:
    """Accept what a pull request was told after it was merged, whose comment then says so; False if that is nothing."""
    n = accept_told(session, repository, asked.number, asked.author, command.reason)
    if n == 0:
        return False
    tell_notice(session, settings, repository, asked.number, is_silent=True)
    object_ = f"pull/{repository.id}/{asked.number}"
    access.audit(session, asked.author, "changes.accepted", object_, asked=asked.text[:500], changes=n)
    return True


def _refusal(
    session: Session,
    settings: ServiceSettings,
    asked: Asked,
    command: Command,
    pull: PullRequest | None,
    *,
    may_write: bool,
) -> str:
    """Return what is answered in place of doing it; empty where it is done, and the check itself is the answer."""
    if isinstance(command, Help):
        return _help(command.trouble)
    if not may_write:
        return "Only people with write access to this repository can ask for that."
    if pull is None or pull.state != "open":
        return "This pull request is not open, so there is nothing to do."
    return why_not(session, settings, pull, command, asked.asked_at)


def _help(trouble: str) -> str:
    lines = [f"- {code(usage)} {words(what)}" for usage, what in USAGE]
    opening = f"{trouble[:1].upper()}{trouble[1:]}. " if trouble else ""
    return "\n".join([f"{opening}What can be asked for:", "", *lines])
