"""What a pull request is now, and what is to be measured for it: asked of the forge, without a session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place, Pull
from app.domain.results import CommitRef
from app.integrations.forge import Forge
from app.services.forge.mirrors import SETTINGS_FILE, Mirror, fetched, ours
from app.services.plan_check import Wish
from app.settings import Settings, settings_digest
from app.store.tables import Repository

EVENT = "pull_request"

UNAPPROVED = "it comes from a fork, and nobody has approved this commit"


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
    wishes: tuple[Wish, ...] = ()
    """What was known to be wanted besides when it was looked at."""


def place_of(session: Session, repository_id: int) -> tuple[Place, int]:
    """Return where a repository is, and the forge's id of it."""
    its = session.get_one(Repository, repository_id)
    return its.place, its.external_id


Compared = tuple[str, str, str]
"""What a check compares: base's and head's sha, and the digest of the settings."""


@dataclass(frozen=True)
class Known:
    """What is known of a pull request before the forge is asked.

    `compared` is what the check that there is compares, None without one; `is_again` says that all of it is to be
    measured once more.
    """

    compared: Compared | None = None
    is_again: bool = False
    approved_sha: str | None = None
    wishes: tuple[Wish, ...] = ()


def look_at_pull(
    forge: Forge,
    settings: ServiceSettings,
    place: Place,
    external_id: int,
    number: int,
    known: Known | None = None,
    suites: tuple[str, ...] = (),
) -> Seen:
    """Ask the forge for the pull request, fetch its commits, and read the settings of where it left its branch.

    Of a fork nothing is fetched but the commit that was approved. No bundle is made for what there is a check of.
    `suites` are measured whatever starts them by themselves.

    Raises what the forge raises, and DataError where git cannot make sense of what was fetched.
    """
    known = known or Known()
    pull = forge.pull(place, number)
    if not pull.is_open:
        return Seen(pull)
    if pull.is_fork and pull.head_sha != known.approved_sha:
        return Seen(pull, trouble=UNAPPROVED, wishes=known.wishes)
    refs = f"refs/heads/{pull.base_ref}", f"refs/pull/{number}/head"
    with fetched(forge, settings, place, external_id, *refs) as mirror:
        return replace(_read(mirror, pull, known, suites), wishes=known.wishes)


def _read(mirror: Mirror, pull: Pull, known: Known, suites: tuple[str, ...]) -> Seen:
    head = mirror.commit(pull.head_sha)
    base_sha = mirror.git.merge_base(ours(f"refs/heads/{pull.base_ref}"), head.sha)
    if base_sha is None:
        return Seen(pull, trouble=f"it has no commit in common with {pull.base_ref}")
    return measured(mirror, Seen(pull, mirror.commit(base_sha), head), base_sha, known, suites)


def measured(
    mirror: Mirror,
    seen: Seen,
    settings_of: str,
    known: Known | None = None,
    named: tuple[str, ...] = (),
) -> Seen:
    """Return what is to be measured, by the settings of a commit that others have merged.

    So nobody changes what is measured of his change with it.
    """
    known = known or Known()
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
    is_compared = known.compared == (seen.base.sha, seen.head.sha, settings_digest(settings))
    wishes = wished_of(known.wishes, settings)
    if not suites and not wishes and not is_compared:  # what was asked for by hand has its check, too
        trouble = "it touches no path of a suite that is measured on pull requests"
        return replace(seen, settings=settings, trouble=trouble)
    is_known = is_compared and not known.is_again and not wishes
    bundle = "" if is_known else mirror.bundle(seen.base, seen.head)
    return replace(seen, settings=settings, suites=suites, bundle=bundle)


def wished_of(wishes: tuple[Wish, ...], settings: Settings) -> tuple[Wish, ...]:
    """Return the wishes for suites that there are."""
    known = {suite.name for suite in settings.suites}
    return tuple(wish for wish in wishes if wish.suite in known)
