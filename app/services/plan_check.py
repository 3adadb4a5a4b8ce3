"""Which suites a check measures on which device classes, and what of an earlier check it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.jobs import JobState
from app.settings import SuiteSettings, matching_classes
from app.store.repositories import checks, jobs
from app.store.tables import Job


@dataclass(frozen=True)
class Wish:
    """A suite that somebody wants measured, on device classes that a glob matches; without one on its own."""

    suite: str
    device: str = ""


@dataclass(frozen=True)
class Planned:
    """A suite on a device class. What matches no live device is told by its globs, and `is_live` is False."""

    suite: SuiteSettings
    device_class: str
    is_live: bool = True


@dataclass(frozen=True)
class Plan:
    """What is measured anew, and the jobs of an earlier check of the same commits that stand beside it."""

    new: tuple[Planned, ...]
    kept: tuple[Job, ...] = ()

    @property
    def n_jobs(self) -> int:
        """How many jobs share the check's alpha."""
        return max(1, len(self.new) + len(self.kept))


def plan_whole(
    suites: Iterable[SuiteSettings],
    devices: tuple[str, ...],
    wished: Sequence[tuple[SuiteSettings, str]],
    live: Sequence[str],
) -> Plan:
    """Return a plan of these suites, each on its own devices or on those that are asked for, and of the wishes.

    Args:
        suites: what is measured anyway.
        devices: globs that take the place of each suite's own; empty for those.
        wished: suites with a glob each, or an empty one for their own devices.
        live: the device classes that there are.
    """
    new = [one for suite in suites for one in _matching(suite, devices or suite.devices, live)]
    new += [
        one for suite, glob in wished for one in _matching(suite, (glob,) if glob else suite.devices, live)
    ]
    return Plan(_each_once(new))


def plan_again(
    session: Session, check_id: int, wished: Sequence[tuple[SuiteSettings, str]], live: Sequence[str]
) -> Plan:
    """Return a plan of the wishes alone, beside all that an earlier check measured otherwise.

    A suite without a glob is measured again as a whole: on its own devices, and where it was measured besides.
    """
    check = checks.one(session, check_id)
    assert check is not None
    before = jobs.of_request(session, check.request_id)
    new: list[Planned] = []
    for suite, glob in wished:
        had = [
            job.device_class
            for job in before
            if job.suite == suite.name and job.state != JobState.NO_CAPACITY
        ]
        new += _matching(suite, (glob,) if glob else (*suite.devices, *had), live)
    again = {suite.name for suite, glob in wished if not glob}
    anew = {(one.suite.name, one.device_class) for one in new}
    kept = (job for job in before if job.suite not in again and (job.suite, job.device_class) not in anew)
    return Plan(_each_once(new), tuple(kept))


def _matching(suite: SuiteSettings, globs: Sequence[str], live: Sequence[str]) -> list[Planned]:
    classes = matching_classes(tuple(globs), live)
    return [Planned(suite, one) for one in classes] or [Planned(suite, ", ".join(globs), is_live=False)]


def _each_once(planned: Iterable[Planned]) -> tuple[Planned, ...]:
    return tuple({(one.suite.name, one.device_class): one for one in planned}.values())
