"""The sweep as one list of steps: what one that fails means for the others, and for whether the sweep was whole."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import OperationalError

from app.integrations.queue import SWEEP
from app.store.repositories import metrics
from app.tasks import celery_app, sweeping
from app.tasks.sweeping import STEPS, STEPS_OF_FORGE, Step, sweep_all
from app.wiring import Service

pytestmark = pytest.mark.postgres


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The list of steps is `broken`, which is not needed, and `leases`; what was done is told here."""
    told: list[str] = []
    monkeypatch.setattr(
        sweeping, "STEPS", (_broken(RuntimeError("out of order")), Step("leases", _telling(told)))
    )
    return told


def _broken(error: Exception, *, is_needed: bool = False) -> Step:
    def fail(_: Service) -> None:
        raise error

    return Step("something", fail, is_needed)


def _telling(told: list[str]):
    return lambda _: told.append("leases")


def is_swept(service: Service) -> bool:
    with service.database.session() as session:
        return metrics.last_swept_s(session) is not None


def test_step_that_fails_is_told_and_keeps_no_other_from_being_done(
    service: Service, done: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    celery_app(service).tasks[SWEEP].apply(throw=True)
    assert done == ["leases"]
    assert "something could not be looked at; it is tried again later" in caplog.text
    assert is_swept(service), "what failed is of the forge or of machines"


def test_sweep_without_a_step_that_is_needed_has_not_come_to_its_end(
    service: Service, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (_broken(RuntimeError("out of order"), is_needed=True), *sweeping.STEPS)
    monkeypatch.setattr(sweeping, "STEPS", steps)
    celery_app(service).tasks[SWEEP].apply(throw=True)
    assert done == ["leases"]
    assert not is_swept(service)


def test_database_that_is_away_ends_the_sweep_at_once(
    service: Service, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    away = OperationalError("select", {}, Exception("connection refused"))
    monkeypatch.setattr(sweeping, "STEPS", (_broken(away), *sweeping.STEPS))
    with pytest.raises(OperationalError):
        sweep_all(service)
    assert done == []


def test_every_step_is_done_on_an_empty_service(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sweeping, "STEPS", (*STEPS, *STEPS_OF_FORGE))
    assert sweep_all(service)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
