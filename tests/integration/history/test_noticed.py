"""What a pull request is told of a change that our own agents measured: how it was confirmed, and what it costs."""

from __future__ import annotations

import pytest

from app.services.forge.tell_notice import notice_of
from app.store.repositories import origins
from app.store.tables import Origin, Repository
from tests.factories.histories import deliver, sha
from tests.integration.history.conftest import Branch
from tests.integration.history.test_confirming import LEVEL, SLOWER, suspected

pytestmark = pytest.mark.postgres

__all__ = ["suspected"]


def test_change_that_was_measured_in_pairs_names_its_run_and_its_device_time(suspected: Branch):
    suspected.agent.claim()
    suspected.measure(LEVEL, SLOWER)
    deliver(suspected.poster.service)
    with suspected.poster.service.database.session() as session:
        repository = Repository(external_id=5, slug="acme/vision", branch="main", project_id=1)
        session.add(repository)
        session.flush()
        came_with = {"commits": [[sha(12), "slower"]], "n_commits": 1, "shown": "confirmed"}
        session.add(Origin(change_point_id=1, repository_id=repository.id, number=12, **came_with))
        session.flush()
        (change,) = notice_of(session, repository, origins.told(session, repository.id, 12)).changes
    assert change.reason == "measured in pairs: regressed"
    assert change.run is not None
    assert change.stands
    assert change.cost is not None
    hours = 1e6 * (SLOWER - LEVEL) / 3600
    assert (change.cost.per, change.cost.money) == ("million iterations", None)
    assert change.cost.device_hours == pytest.approx(hours, rel=0.2)
