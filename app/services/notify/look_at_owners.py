"""Whose what became worse is: those whom the repository names for the files that an alert's commits touch.

CODEOWNERS and `[owners]` of ratchet.toml are read as the repository's own branch has them, never as a fork's. It is
looked at only where somebody wants to be told of some people's alone, and what cannot be found stays unknown: an alert
of which nobody knows whose it is, is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place
from app.domain.notifications import kept_wishes
from app.formats.codeowners import LARGEST_B, PLACES, Rule, owners_of, read_codeowners
from app.integrations.forge import Forge
from app.services.forge.mirrors import Mirror, fetched, ours
from app.services.notify.tell_issue import repository_of
from app.settings.values import OwnerSettings
from app.store.repositories import notifications
from app.store.tables import Alert, Commit

MOST_ALERTS = 50
MOST_FILES = 2_000
"""Files of one range of commits that are looked at."""


@dataclass(frozen=True)
class Touched:
    """An alert and the commits that it lies between; `pull` where its newer one may be on no branch."""

    alert_id: int
    previous: str
    commit: str
    pull: int | None


@dataclass(frozen=True)
class OwnersQuestion:
    """Alerts of which it is to be found out whose they are."""

    place: Place
    external_id: int
    branch: str
    alerts: tuple[Touched, ...]


def question_of(session: Session, project_id: int) -> OwnersQuestion | None:
    """Return what is to be looked at; None where nobody wants to know, or nothing is new."""
    wanted = notifications.of_project(session, project_id)
    if not any(kept_wishes(notifier.wishes).owners for notifier in wanted):
        return None
    repository = repository_of(session, project_id)
    alerts = notifications.unowned(session, project_id, MOST_ALERTS)
    if repository is None or not alerts:
        return None
    touched = tuple(
        Touched(
            row.id,
            session.get_one(Commit, row.previous_commit_id).sha,
            session.get_one(Commit, row.commit_id).sha,
            row.number,
        )
        for row in alerts
    )
    return OwnersQuestion(repository.place, repository.external_id, repository.branch, touched)


def look_at_owners(
    forge: Forge, settings: ServiceSettings, question: OwnersQuestion
) -> dict[int, tuple[str, ...]]:
    """Return whose the alerts are whose commits the repository knows. Raises what the forge raises."""
    branch = f"refs/heads/{question.branch}"
    pulls = {f"refs/pull/{its.pull}/head" for its in question.alerts if its.pull is not None}
    with fetched(forge, settings, question.place, question.external_id, branch, *sorted(pulls)) as mirror:
        rules, mapped = _codeowners(mirror, ours(branch)), _owners(mirror, ours(branch))
        return {
            its.alert_id: _people(mirror, its, rules, mapped)
            for its in question.alerts
            if mirror.git.find(its.previous) and mirror.git.find(its.commit)
        }


def _codeowners(mirror: Mirror, ref: str) -> tuple[Rule, ...]:
    for place in PLACES:
        told = mirror.git.file_at(ref, place)
        if told is not None:
            return read_codeowners(told.decode("utf-8", "replace")) if len(told) <= LARGEST_B else ()
    return ()


def _owners(mirror: Mirror, ref: str) -> Sequence[OwnerSettings]:
    try:
        settings = mirror.settings_at(ref)
    except DataError:
        return ()
    return settings.owners if settings is not None else ()


def _people(
    mirror: Mirror, its: Touched, rules: Sequence[Rule], mapped: Sequence[OwnerSettings]
) -> tuple[str, ...]:
    named = owners_of(rules, mirror.git.changed_files(its.previous, its.commit)[:MOST_FILES])
    said = [
        person
        for part in mapped
        if mirror.git.differs(its.previous, its.commit, [part.paths])
        for person in part.people
    ]
    return tuple(dict.fromkeys([*named, *said]))


def keep_owners(session: Session, found: dict[int, tuple[str, ...]]) -> None:
    """Store whose the alerts are."""
    for alert_id, people in sorted(found.items()):
        session.get_one(Alert, alert_id, with_for_update=True).owners = list(people)
    session.flush()
