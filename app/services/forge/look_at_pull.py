"""What a pull request is now, and what is to be measured for it: asked of the forge, without a session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place, Pull
from app.integrations.forge import Forge
from app.services.forge.comparison import Compared, Comparison
from app.services.forge.mirrors import SETTINGS_FILE, Mirror, fetched, ours
from app.services.plan_check import Wish
from app.settings import Settings
from app.store.tables import Repository

EVENT = "pull_request"

UNAPPROVED = "it comes from a fork, and nobody has approved this commit"


@dataclass(frozen=True)
class Seen:
    """A pull request, and of an open one where it left its branch, and what is to be measured, or why nothing is."""

    pull: Pull
    base_sha: str | None = None
    comparison: Comparison | None = None
    trouble: str = ""
    """Why nothing is to be measured, in words for the author."""
    wishes: tuple[Wish, ...] = ()
    """What was known to be wanted besides when it was looked at."""

    @property
    def settings(self) -> Settings | None:
        """The settings of what is to be measured."""
        return None if self.comparison is None else self.comparison.settings


def place_of(session: Session, repository_id: int) -> tuple[Place, int]:
    """Return where a repository is, and the forge's id of it."""
    its = session.get_one(Repository, repository_id)
    return its.place, its.external_id


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
    base_sha = mirror.git.merge_base(ours(f"refs/heads/{pull.base_ref}"), pull.head_sha)
    if base_sha is None:
        return Seen(pull, trouble=f"it has no commit in common with {pull.base_ref}")
    return measured(mirror, Seen(pull, base_sha), pull.head_sha, base_sha, known, suites)


def measured(
    mirror: Mirror,
    seen: Seen,
    head_sha: str,
    settings_of: str,
    known: Known | None = None,
    named: tuple[str, ...] = (),
) -> Seen:
    """Return what is to be measured of a head, by the settings of a commit that others have merged.

    So nobody changes what is measured of his change with it.
    """
    known = known or Known()
    assert seen.base_sha is not None
    base, head = mirror.commit(seen.base_sha), mirror.commit(head_sha)
    try:
        settings = mirror.settings_at(settings_of)
    except DataError as error:
        return replace(seen, trouble=str(error))
    if settings is None:
        trouble = f"{seen.pull.base_ref} has no {SETTINGS_FILE}: it tells what is measured, once it is merged"
        return replace(seen, trouble=trouble)
    suites = named or mirror.touched(settings, EVENT, base, head)
    comparison = Comparison(base, head, settings, suites, "")
    is_compared = known.compared == comparison.compared
    wishes = wished_of(known.wishes, settings)
    if not suites and not wishes and not is_compared:  # what was asked for by hand has its check, too
        trouble = "it touches no path of a suite that is measured on pull requests"
        return replace(seen, trouble=trouble)
    if not is_compared or known.is_again or wishes:
        comparison = replace(comparison, bundle=mirror.bundle(base, head))
    return replace(seen, comparison=comparison)


def wished_of(wishes: tuple[Wish, ...], settings: Settings) -> tuple[Wish, ...]:
    """Return the wishes for suites that there are."""
    known = {suite.name for suite in settings.suites}
    return tuple(wish for wish in wishes if wish.suite in known)
