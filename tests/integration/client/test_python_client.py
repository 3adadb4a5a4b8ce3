"""The Python client against a service: its page's examples print what the page says, and posts come back."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import ratchet_perf
from app.services.alerts.raise_alerts import raise_alerts
from app.services.publish import publish_run
from app.store.tables import Run
from app.wiring import Service
from ratchet_perf import Budget, ConflictError, Control, Fact, NotAllowedError, Ratchet, Result, VoidValues
from tests.factories import results, stored
from tests.factories.histories import PROJECT, Poster, sha, stepped
from tests.factories.serving import served
from tests.integration.history.conftest import Branch, branch
from tests.integration.series.conftest import grown, poster
from tests.integration.series.test_marks import marked

__all__ = ["branch", "marked", "poster"]

pytestmark = pytest.mark.postgres

PAGE = Path(__file__).parents[3] / "docs" / "python-client.md"
BLOCKS = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def ratchet(
    service: Service, client: TestClient, admin_token: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ratchet]:
    """A client of a service that has a history of 60 points, whose level changes at the 30th."""
    grown(Poster(client, service, admin_token), stepped(60, 30, 0.2))
    with service.database.session() as session:
        raise_alerts(session, 1)
    with served(service) as address:
        monkeypatch.setenv("RATCHET_URL", f"{address}/")
        monkeypatch.setenv("RATCHET_TOKEN", admin_token)
        with Ratchet() as its:
            yield its


@pytest.mark.usefixtures("ratchet")
def test_examples_of_the_page_print_what_it_says() -> None:
    names: dict[str, Any] = {}
    printed = ""
    for kind, block in BLOCKS:
        if kind == "text":
            assert printed == block
            printed = ""
            continue
        assert printed == "", block
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(block, str(PAGE), "exec"), names)  # it is what is tested
        printed = output.getvalue()
    assert [kind for kind, _ in BLOCKS].count("text") > 5


def test_every_question_is_answered_with_records(ratchet: Ratchet, service: Service) -> None:
    assert [(one.project, one.branch, one.series) for one in ratchet.projects()] == [(PROJECT, "main", 1)]
    (found,) = ratchet.series("resize cpu-test", metric="latency_p50")
    assert (found.last_commit, found.n) == (sha(59), 60)
    assert found.last_time is not None
    assert datetime.now(UTC) - found.last_time < timedelta(hours=1)
    assert ratchet.series("nothing") == ()
    few = ratchet.trend(found.id, first=10, last=19)
    assert ([point.row for point in few.points], few.n, few.thinned) == ([*range(10, 20)], 60, False)
    (change,) = ratchet.changes(PROJECT, states=["confirmed", "suspected"], since=datetime(2020, 1, 1))  # noqa: DTZ001
    assert (change.commit, change.index, change.series.id) == (sha(30), 30, found.id)
    assert ratchet.changes(PROJECT, since="2099-01-01") == ()
    (alert,) = ratchet.alerts(owner="")
    assert (alert, alert.commit, alert.changes[0].series) == (ratchet.alert(alert.id), sha(30), found.id)
    assert ratchet.alerts(states=["fixed", "noise"]) == ()
    assert list(ratchet.history("resize", branch="none")) == []
    with service.database.session() as session:
        stored.check(session, results.regressed())
        for one in session.query(Run):
            publish_run(session, one)
    check = results.regressed()
    (measured,) = ratchet.runs(commit=check.head.sha)
    assert (measured.kind, measured.base, measured.suite is None) == ("measured", check.base.sha, False)
    assert ratchet.runs(limit=1).more
    detail = ratchet.run(measured.run)
    assert {sample.arm for sample in detail.samples} == {"base", "head"}
    assert all(len(sample.counted) == sample.n for sample in detail.samples)
    one_sided = ratchet.compare(sha(0), check.base.sha, project=PROJECT)
    assert (one_sided.pairs, one_sided.only_base[0].head) == ((), None)
    assert set(one_sided.only_head.to_frame()["head_commit"]) == {check.base.sha}


def test_what_stands_beside_a_trend_is_told_as_records(marked: Branch) -> None:
    with served(marked.poster.service) as address, Ratchet(address, token=marked.poster.token) as its:
        trend = its.trend(marked.poster.series)
    (epoch,) = trend.epochs
    assert (trend.machines, epoch.row, epoch.changes) == (2, 4, (Fact("driver", "550.54", "560.28"),))
    assert trend.control[4] == Control(4, 0.05)
    assert trend.void == (VoidValues(2, 1, 2, ("foreign_process",)),)
    assert [(run.row, run.commit, run.verdict) for run in trend.failed] == [
        (6, sha(6), "base_fails"),
        (7, sha(8), None),
    ]
    assert trend.budget == Budget("res*", 0.011, None)


def test_post_is_stored_once_and_comes_back_whole(ratchet: Ratchet) -> None:
    values = [0.1, 1 / 3, 2]
    told = Result("decode", "time", "s", "lower", values, low=0.05, high=2.5, version="v2")

    def post(one: Result) -> ratchet_perf.Posted:
        return ratchet.post_results(
            PROJECT, sha(70), "gpu-x", [one], parent=sha(59), author="Ada", subject="s", position=70,
            time=datetime(2026, 1, 1, tzinfo=UTC), measured_at="2026-01-02T00:00:00Z", key="build-7",
        )  # fmt: skip

    first, again = post(told), post(told)
    assert (first.is_new, again.is_new, first.run) == (True, False, again.run)
    (sample,) = ratchet.run(first.run).samples
    assert (sample.values, sample.low, sample.high) == ((0.1, 1 / 3, 2.0), 0.05, 2.5)
    assert (sample.series.version, sample.measured_at) == ("v2", datetime(2026, 1, 2, tzinfo=UTC))
    with pytest.raises(ConflictError) as caught:
        post(Result("decode", "time", "s", "lower", [1.0]))
    assert (caught.value.code, caught.value.status) == ("idempotency_conflict", 409)
    with Ratchet(ratchet.url, token="nobody's") as stranger, pytest.raises(NotAllowedError):
        stranger.projects()
