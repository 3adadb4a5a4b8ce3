"""What GPUs did while nobody held them, as the report tells it: by a real Prometheus, and by one that fails."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import UnavailableError
from app.domain.week import Week, week_of
from app.services.access import Scope
from app.services.weekly.current import CurrentReports
from app.services.weekly.kept_weekly import kept_html
from app.services.weekly.make_due import PATIENCE, make_due
from app.services.weekly.watch import Watch
from app.wiring import Service
from tests.factories.browser import Page
from tests.factories.own_metrics import Series
from tests.factories.posted_results import bound_token
from tests.factories.waiting import wait_for
from tests.factories.weekly import Rows, at
from tests.integration.dcgm.world import remembering
from tests.integration.weekly.conftest import Lead

pytestmark = pytest.mark.postgres

GPU, UNKNOWN = "GPU-11111111-aaaa", "GPU-22222222-bbbb"
LAST = week_of(datetime.now(UTC)).before()
EVERY = timedelta(seconds=60)
HOUR, DAY = 3600.0, 86400.0
PRICES = """
[prices."h100"]
hour = 4.0
currency = "EUR"
date = 2026-10-01
[power]
kwh = 0.25
currency = "EUR"
date = 2026-10-01
pue = 1.2
"""


@pytest.fixture
def fleet(service: Service, tmp_path: Path) -> None:
    """Two GPUs and a host's processor that were there all week; one GPU was held on Monday until ten."""
    (tmp_path / "costs.toml").write_text(PRICES)
    service.settings.costs_file = str(tmp_path / "costs.toml")
    with service.database.session() as session:
        rows = Rows(session)
        gpu = rows.device("h100", kind="nvidia", hardware_id=GPU)
        rows.device("h100", kind="nvidia", hardware_id=UNKNOWN)
        rows.device("cpu-x")
        job = rows.job("h100", created=at(0, week=LAST))
        rows.attempt(job, [gpu], at(0, week=LAST), at(0, 10, week=LAST))


def busy(elapsed: float) -> float | None:
    """Half of the lease; four fifths of Tuesday, by others; not scraped on Wednesday; else at rest."""
    if elapsed < 10 * HOUR:
        return 50
    day = int(elapsed // DAY)
    return {1: 80, 2: None}.get(day, 0)


def millijoules(elapsed: float) -> float | None:
    """300 W where it was busy, 60 W else."""
    busy_s = min(elapsed, 10 * HOUR) + min(max(0.0, elapsed - DAY), DAY)
    return None if busy(elapsed) is None else 1e9 + 1000 * (60 * elapsed + 240 * busy_s)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    labels = {"UUID": GPU, "Hostname": "bench-01", "gpu": "0"}
    script = [
        Series("DCGM_FI_DEV_GPU_UTIL", labels, busy),
        Series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", labels, millijoules),
    ]
    folder = tmp_path_factory.mktemp("week")
    with remembering(folder, script, LAST.start + EVERY / 2, timedelta(days=7) - EVERY, EVERY) as url:
        yield url


def hours(part: dict[str, Any]) -> float:
    return float(part["seconds"]) / HOUR


@pytest.mark.usefixtures("fleet")
def test_the_week_is_split_by_what_prometheus_saw(service: Service, lead: Lead, prometheus: str) -> None:
    service.settings.prometheus_url = prometheus
    told = lead.report(week=str(LAST))["fleet"]
    devices = {its["hardware_id"]: its for its in told["devices"]}
    its = devices[GPU]["unheld"]
    assert (its["used"]["cost"]["amount"], hours(its["idle"]), hours(its["unknown"])) == (96.0, 110.0, 24.0)
    assert its["busy_s"] == pytest.approx(0.8 * 24 * HOUR)
    # The counter is read once a step, at its last scrape: what lies between two steps is the later one's.
    assert its["drawn_idle"]["joules"] == pytest.approx(60 * 110 * HOUR, rel=0.002)
    assert its["drawn"]["joules"] == pytest.approx((60 * 168 + 240 * 34) * HOUR, rel=0.002)
    assert its["drawn"]["is_counted"]
    assert its["drawn_idle_cost"]["amount"] == pytest.approx(6.6 * 1.2 * 0.25, rel=0.002)
    assert hours(devices[UNKNOWN]["unheld"]["unknown"]) == 168.0
    assert told["watched"] == {"n_told": 1, "n": 2, "reason": None}
    classes = {its["device_class"]: its for its in told["classes"]}
    assert classes["h100"]["idle_s"] == 110 * HOUR
    assert classes["h100"]["idle_cost"]["amount"] == 440.0
    assert classes["h100"]["unheld"]["unknown"]["cost"]["amount"] == 4.0 * (24 + 168)
    assert (classes["cpu-x"]["unheld"], classes["cpu-x"]["idle_s"]) == (None, 168 * HOUR)


@pytest.mark.usefixtures("fleet")
def test_the_page_says_who_used_them_and_who_says_so(service: Service, lead: Lead, prometheus: str) -> None:
    service.settings.prometheus_url = prometheus
    text = Page(lead.html(week=str(LAST))).text.replace("\u00a0", " ")
    assert (
        "10 h of 504 h of device time were held (2.0 %). Of the rest others used 24 h, 278 h were idle, and of 192 h"
        " nothing is known: DCGM tells of 1 of 2 GPUs; of other devices leases alone tell, and what nobody held counts"
        " as idle. Idle time costs 440 EUR at the stated prices."
    ) in text
    assert "idle by DCGM and leases: 278 h" in text
    assert re.search(
        r"Of that, while idle 6\.\d+ kWh, measured by their energy counters, over 110 h of 110 h of idle time",
        text,
    )


def numbers(told: dict[str, Any]) -> Any:
    """What does not hang on when it was asked."""
    return {key: value for key, value in told.items() if key != "watched"}


@pytest.mark.usefixtures("fleet")
def test_where_prometheus_does_not_answer_the_report_says_so_and_stands_on_leases(
    service: Service, lead: Lead
) -> None:
    without = lead.report(week=str(LAST))["fleet"]
    assert without["watched"] is None
    del service.weekly  # which was made without a Prometheus
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service.settings.prometheus_url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    told = lead.report(week=str(LAST))["fleet"]
    assert numbers(told) == numbers(without)
    assert "cannot be reached: Connection refused" in told["watched"]["reason"]
    text = Page(lead.html(week=str(LAST))).text
    assert text.count("By leases alone, what others used counts as idle: http://127.0.0.1:") == 1


class Steady:
    """Stands for a Prometheus: a GPU's share of time in kernels by UUID, the same in every step."""

    url = "http://prometheus.test:9090"

    def __init__(self, **shares: float) -> None:
        self.shares = {uuid.replace("_", "-"): share for uuid, share in shares.items()}
        self.away_behind = 1_000
        self.looks = 0
        self.queries: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    @contextmanager
    def look_up(self) -> Iterator[Steady]:
        self.looks += 1
        self.gate.wait(10)
        yield self

    def steps(self, query: str, first: float, last: float, step_s: float) -> list[dict[str, Any]]:
        self.queries.append(query)
        if len(self.queries) > self.away_behind:
            raise UnavailableError(f"{self.url} takes longer than 5 s")
        if "DCGM_FI_DEV_GPU_UTIL" not in query or ",GPU_I_ID" not in query or '{UUID=~"' not in query:
            return []
        named = re.search(r'UUID=~"([^"]*)"', query)
        assert named is not None
        moments = [first + n * step_s for n in range(round((last - first) / step_s) + 1)]
        return [
            {
                "metric": {"UUID": uuid},
                "values": [[moment, f"{100 * self.shares[uuid]}"] for moment in moments],
            }
            for uuid in named[1].split("|")
            if uuid in self.shares
        ]


def watched_by(service: Service, steady: Steady) -> Watch:
    """Have the service ask this one."""
    watch = Watch(steady)  # type: ignore[arg-type]
    service.weekly = CurrentReports(service.database, service.settings, watch)
    return watch


@pytest.mark.usefixtures("fleet")
def test_a_week_is_asked_about_once_however_many_read_it(service: Service, lead: Lead) -> None:
    steady = Steady(GPU_11111111_aaaa=0.0)
    watched_by(service, steady)
    for _ in range(3):
        assert lead.report(week=str(LAST))["fleet"]["watched"]["n_told"] == 1
    assert "idle by DCGM" in lead.client.get(f"/weekly/{LAST}", headers=lead.headers).text
    assert steady.looks == 1
    lead.report(week=str(LAST.before()))
    assert steady.looks == 2


@pytest.mark.usefixtures("fleet")
def test_who_may_not_see_all_devices_has_nobody_asked(service: Service, lead: Lead) -> None:
    steady = Steady(GPU_11111111_aaaa=0.0)
    watched_by(service, steady)
    assert lead.report(week=str(LAST), project="acme/vision")["fleet"]["watched"] is None
    stranger = Lead(lead.client, bound_token(service, "acme/vision", Scope.RESULTS_READ))
    assert stranger.report(week=str(LAST))["fleet"]["devices"] == []
    lead.report(week="2019-W20")  # no device was there yet
    assert steady.looks == 0


@pytest.mark.usefixtures("fleet")
def test_what_was_told_before_the_server_gave_up_is_used_and_the_rest_is_asked_again_soon(
    service: Service, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.integrations.dcgm.steps.AT_ONCE", 1)
    monkeypatch.setattr("app.services.weekly.watch.AGAIN_S", 0.0)
    steady = Steady(GPU_11111111_aaaa=0.6, GPU_22222222_bbbb=0.0)
    watched_by(service, steady)
    lead.report(week=str(LAST))
    steady.away_behind = len(steady.queries) + len(steady.queries) // 2
    watched_by(service, steady)
    told = lead.report(week=str(LAST))["fleet"]
    assert told["watched"] == {"n_told": 1, "n": 2, "reason": f"{steady.url} takes longer than 5 s"}
    text = Page(lead.html(week=str(LAST))).text
    assert "Not all was told: http://prometheus.test:9090 takes longer than 5 s." in text
    assert steady.looks == 3, "what was told first is told again, though nothing was this time"
    steady.away_behind = 1_000
    assert lead.report(week=str(LAST))["fleet"]["watched"]["n_told"] == 2


def kept(service: Service, week: Week) -> str | None:
    with service.database.session() as session:
        return kept_html(session, Rows(session).scope(whole=True), week)


@pytest.mark.usefixtures("fleet")
def test_the_kept_report_is_made_with_what_prometheus_told_and_stays_so(service: Service) -> None:
    service.settings.weekly_report_after_h = 0
    watch = watched_by(service, Steady(GPU_11111111_aaaa=0.0, GPU_22222222_bbbb=0.6))
    assert make_due(service.database, service.settings, watch) >= 1
    html = kept(service, LAST)
    assert html is not None
    assert "DCGM tells of 2 of 2 GPUs" in Page(html).text.replace("\u00a0", " ")


@pytest.mark.usefixtures("fleet")
def test_the_kept_report_of_everything_waits_an_hour_for_a_server_that_is_away(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    since_monday = datetime.now(UTC) - LAST.end
    steady = Steady()
    steady.away_behind = 0
    monkeypatch.setattr("app.services.weekly.make_due.PATIENCE", since_monday + PATIENCE)
    service.settings.weekly_report_after_h = 0
    make_due(service.database, service.settings, watched_by(service, steady))
    assert kept(service, LAST) is None
    monkeypatch.setattr("app.services.weekly.make_due.PATIENCE", since_monday - PATIENCE)
    make_due(service.database, service.settings, watched_by(service, steady))
    html = kept(service, LAST)
    assert html is not None
    assert "By leases alone" in Page(html).text


@pytest.mark.usefixtures("fleet")
def test_while_prometheus_is_waited_for_no_transaction_is_open(service: Service, lead: Lead) -> None:
    steady = Steady(GPU_11111111_aaaa=0.0)
    watched_by(service, steady)
    steady.gate.clear()
    readers = [threading.Thread(target=lead.report, kwargs={"week": str(LAST)}) for _ in range(3)]
    for reader in readers:
        reader.start()
    wait_for(lambda: steady.looks == 1, 10)
    wait_for(lambda: service.database.engine.pool.checkedout() == 0, 10)  # type: ignore[attr-defined]
    steady.gate.set()
    for reader in readers:
        reader.join()
    assert steady.looks == 1
