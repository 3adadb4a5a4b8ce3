"""What somebody wants checked: which commits from where, under which settings, on what."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.results import CommitRef
from app.services.plan_check import Wish
from app.settings import Settings


@dataclass(frozen=True)
class CheckRequest:
    """A check to be made: which commits from where, under which settings, which suites and device classes.

    `suites` and `devices` narrow the settings; empty means all. `key` makes asking twice one request; without one
    each call is a request of its own. `benchmarks_from` says whose benchmark files both arms run.
    """

    settings: Settings
    source: dict[str, str]
    base: CommitRef
    head: CommitRef
    suites: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    benchmarks_from: str = "head"
    trigger: str = "manual"
    key: str | None = None
    band: int = 0
    branch: str | None = None
    """The branch whose history both commits are of; None where head is on none yet."""
    base_branch: str | None = None
    """The branch that base is of; None for the project's own."""
    wishes: tuple[Wish, ...] = ()
    """What somebody wants besides; where there are such, and no suites, they are all that is measured."""
    beside: int | None = None
    """An earlier check of the same commits by the same settings: all that it measured, but for the wishes, stands."""
    untrusted: bool = False
    """Head is a stranger's: it is measured in a sandbox, by the untrusted pool, and nothing of it joins a history."""
