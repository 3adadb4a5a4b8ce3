"""PostgreSQL or an examination dies in the middle: in the end everything was examined once."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.config import ServiceSettings
from app.embedded import EmbeddedPostgres
from app.services import examine_series as examining
from app.services.announce_results import find_unexamined
from app.store.migrate import migrate
from app.store.repositories import projects, series
from app.store.repositories.series import SeriesKey
from app.tasks import examine_project
from app.wiring import Service
from tests.factories.histories import Poster, sha, stepped, store_all

pytestmark = pytest.mark.postgres


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    """A server of this test alone, which writes as safely as that of a user."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-test-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with EmbeddedPostgres(folder / "postgres") as its_server:
            yield its_server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def crashing(server: EmbeddedPostgres, tmp_path: Path) -> Iterator[Service]:
    """A service on that server, which has been migrated."""
    nobody = f"redis+socket://{tmp_path}/nobody-listens.sock"
    service = Service(
        ServiceSettings(database_url=server.url(), redis_url=nobody, data_dir=tmp_path, hint_age_s=0.001)
    )
    migrate(service.database.engine)
    yield service
    service.close()


def kill(server: EmbeddedPostgres) -> None:
    """Kill the server and all its processes outright, and start it again."""
    os.kill(int((server.data / "postmaster.pid").read_text().partition("\n")[0]), signal.SIGKILL)
    until = time.monotonic() + 30
    while server.alive() and time.monotonic() < until:
        time.sleep(0.02)
    server.start()


def make_series(service: Service) -> int:
    """Make the first project's one series."""
    with service.database.session() as session:
        project = projects.project(session, "acme/crash")
        case = projects.case_ids(session, project.id, [("resize", "{}")])[0]
        key = SeriesKey(case, "latency_p50", "cpu")
        return series.ensure(session, project.id, {key: ("s", "lower")})[key].id


def stored(service: Service) -> dict[str, Any]:
    """Return what examinations have stored: the order of the points, and the changes."""
    with service.database.session() as session:
        order = "select sha from result join commit on commit.id = commit_id order by place, result.id"
        told = (
            "select sha, state, index, before, after, p_value from change_point"
            " join commit on commit.id = commit_id order by change_point.id"
        )
        return {
            "due": session.scalar(text("select count(*) from result where place is null")),
            "order": list(session.scalars(text(order))),
            "history": [
                tuple(row) for row in session.execute(text("select length, last_place from history"))
            ],
            "changes": [tuple(row) for row in session.execute(text(told))],
        }


def test_server_that_is_killed_after_examinations_makes_none_of_them_count_twice_or_not_at_all(
    server: EmbeddedPostgres, crashing: Service
):
    """What of the last examinations was not on disk yet is due again; the results themselves never go."""
    values = stepped(37, at=30, by=0.05)
    series_id = make_series(crashing)
    store_all(crashing, series_id, values[:30])
    examine_project(crashing, 1)
    for i in range(30, 37):
        store_all(crashing, series_id, [values[i]], first=i)
        examine_project(crashing, 1)
        if i % 2:
            kill(server)
            crashing.database.engine.dispose()
            with crashing.database.session() as session:
                find_unexamined(session, crashing.settings)
            examine_project(crashing, 1)
    found = stored(crashing)
    assert found["due"] == 0
    assert found["order"] == [sha(i) for i in range(37)]
    assert found["history"] == [(37, 37.0)]
    assert [change[:3] for change in found["changes"]] == [(sha(30), "confirmed", 30)]


def test_examination_that_breaks_off_after_it_stored_a_change_is_as_if_it_had_not_been(
    poster: Poster, monkeypatch: pytest.MonkeyPatch
):
    values = stepped(37, at=30, by=0.05)
    poster.tell_all(values[:33])
    before = poster.changes("all")
    track = examining.track_changes

    def broken(*given: Any, **named: Any) -> Any:
        track(*given, **named)
        raise RuntimeError("out of order")

    monkeypatch.setattr(examining, "track_changes", broken)
    for i in range(33, 37):
        poster.tell(values[i], i, parent=sha(i - 1))
    assert poster.changes("all") == before
    monkeypatch.undo()
    examine_project(poster.service, 1)
    (change,) = poster.changes("all")
    assert (change["commit"], change["state"], change["index"]) == (sha(30), "confirmed", 30)
