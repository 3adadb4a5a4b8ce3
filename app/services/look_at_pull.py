"""What a pull request is now, and what is to be measured for it: asked of the forge, without a session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place, Pull
from app.domain.results import CommitRef
from app.integrations.forge import Forge
from app.services.mirrors import SETTINGS_FILE, Mirror, fetched, ours
from app.settings import Settings, settings_digest
from app.store.tables import Repository

EVENT = "pull_request"

FORK = "it comes from a fork, and code from forks is not run"


def why_not_run(pull: Pull) -> str:
    """Return why a pull request's code is not run, in words for its author; empty where it is."""
    return FORK if pull.is_fork else ""


@dataclass(frozen=True)
class Seen:
    """A pull request, and of an open one where it left its branch, and what is to be measured.

    `trouble` says why nothing is, in words for the author; then there are no suites.
    """

    pull: Pull
    base: CommitRef | None = None
    head: CommitRef | None = None
    settings: Settings | None = None
    suites: tuple[str, ...] = ()
    bundle: str = ""
    """The digest of the bundle with both commits; empty where there is a check that compares them."""
    trouble: str = ""


def place_of(session: Session, repository_id: int) -> tuple[Place, int]:
    """Return where a repository is, and the forge's id of it."""
    its = session.get_one(Repository, repository_id)
    return its.place, its.external_id


Compared = tuple[str, str, str]
"""What a check compares: base's and head's sha, and the digest of the settings."""


def look_at_pull(
    forge: Forge,
    settings: ServiceSettings,
    place: Place,
    external_id: int,
    number: int,
    compared: Compared | None = None,
    suites: tuple[str, ...] = (),
) -> Seen:
    """Ask the forge for the pull request, fetch its commits, and read the settings of where it left its branch.

    `compared` is what the check that there is compares: for that no bundle is made. `suites` are measured whatever
    starts them by themselves.

    Raises what the forge raises, and DataError where git cannot make sense of what was fetched.
    """
    pull = forge.pull(place, number)
    if not pull.is_open:
        return Seen(pull)
    why = why_not_run(pull)
    if why:
        return Seen(pull, trouble=why)
    refs = f"refs/heads/{pull.base_ref}", f"refs/pull/{number}/head"
    with fetched(forge, settings, place, external_id, *refs) as mirror:
        return _read(mirror, pull, compared, suites)


def _read(mirror: Mirror, pull: Pull, compared: Compared | None, suites: tuple[str, ...]) -> Seen:
    head = mirror.commit(pull.head_sha)
    base_sha = mirror.git.merge_base(ours(f"refs/heads/{pull.base_ref}"), head.sha)
    if base_sha is None:
        return Seen(pull, trouble=f"it has no commit in common with {pull.base_ref}")
    return measured(mirror, Seen(pull, mirror.commit(base_sha), head), base_sha, compared, suites)


def measured(
    mirror: Mirror,
    seen: Seen,
    settings_of: str,
    compared: Compared | None = None,
    named: tuple[str, ...] = (),
) -> Seen:
    """Return what is to be measured, by the settings of a commit that others have merged.

    So nobody changes what is measured of his change with it.
    """
    assert seen.base is not None
    assert seen.head is not None
    try:
        settings = mirror.settings_at(settings_of)
    except DataError as error:
        return replace(seen, trouble=str(error))
    if settings is None:
        trouble = f"{seen.pull.base_ref} has no {SETTINGS_FILE}: it tells what is measured, once it is merged"
        return replace(seen, trouble=trouble)
    suites = named or mirror.touched(settings, EVENT, seen.base, seen.head)
    if not suites:
        trouble = "it touches no path of a suite that is measured on pull requests"
        return replace(seen, settings=settings, trouble=trouble)
    is_compared = compared == (seen.base.sha, seen.head.sha, settings_digest(settings))
    bundle = "" if is_compared else mirror.bundle(seen.base, seen.head)
    return replace(seen, settings=settings, suites=suites, bundle=bundle)
