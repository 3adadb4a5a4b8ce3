"""What Prometheus answers to the dashboards of fleet and service: every query, and the numbers that matter by hand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.factories import grafana
from tests.factories.grafana import PROMETHEUS, Query, Times
from tests.factories.own_metrics import API_ROUTE, HISTOGRAMS, LABELS, PAGE_ROUTE
from tests.factories.waiting import wait_for
from tests.integration.dashboards.recorded import (
    BUSY,
    IDLE,
    POWER,
    SILENT,
    Recorded,
    newest,
    recorded,
)
from tests.integration.dcgm.world import prometheus, scraping, serving

FLEET, SERVICE = "ratchet-fleet", "ratchet-service"
QUERIES = [pytest.param(query, id=query.name) for query in grafana.queries(PROMETHEUS)]
SELECTOR = re.compile(r"\b((?:ratchet|DCGM)_\w+)\{([^}]*)\}")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with recorded(tmp_path_factory.mktemp("recorded")) as its:
        yield its


@pytest.mark.parametrize("query", QUERIES)
def test_query_tells_numbers_with_the_labels_that_its_legend_names(world: Recorded, query: Query) -> None:
    found = world.answers(query)
    assert found != [], "nothing"
    assert [one["metric"] for one in found if not math.isfinite(newest(one))] == []
    legend = set(re.findall(r"\{\{(\w+)\}\}", query.raw["legendFormat"])) - {"GPU_I_ID"}
    assert [one["metric"] for one in found if not legend <= set(one["metric"])] == []
    if legend:
        names = [named(query.raw["legendFormat"], one["metric"]) for one in found]
        assert len(set(names)) == len(names), "two lines of one name"
    else:
        panel = grafana.panel_of(query.board, query.owner)
        assert panel["type"] == "table" or len(found) == 1, "several lines and no names"


def named(legend: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), legend)


TABLES = [
    pytest.param(uid, panel, id=f"{uid} / {panel['title']}")
    for uid in (FLEET, SERVICE)
    for panel in grafana.panels(grafana.boards()[uid])
    if panel["type"] == "table"
]


@pytest.mark.parametrize(("uid", "panel"), TABLES)
def test_table_has_the_columns_that_it_names(world: Recorded, uid: str, panel: dict[str, Any]) -> None:
    columns: set[str] = set()
    for target in panel["targets"]:
        found = world.answers(Query(uid, panel["title"], target))
        value = "Value" if len(panel["targets"]) == 1 else f"Value #{target['refId']}"
        columns |= {value, "Time"} | {
            label for one in found for label in one["metric"] if label != "__name__"
        }
    (options,) = [step["options"] for step in panel["transformations"] if step["id"] == "organize"]
    assert set(options["renameByName"]) <= columns
    assert columns - set(options["renameByName"]) == set(options["excludeByName"]), (
        "each is named or left out"
    )
    shown = set(options["renameByName"].values())
    sorted_by = {one["displayName"] for one in panel["options"].get("sortBy", [])}
    assert set(grafana.overridden(panel)) | sorted_by <= shown
    merged = [step for step in panel["transformations"] if step["id"] == "merge"]
    assert bool(merged) == (len(panel["targets"]) > 1)


@pytest.mark.parametrize("uid", [FLEET, SERVICE])
def test_variables_offer_what_was_scraped(world: Recorded, uid: str) -> None:
    offered = {
        variable["name"]: world.choices(variable["query"]["query"], world.chosen(uid))
        for variable in grafana.variables(uid, PROMETHEUS)
    }
    assert offered.pop("job") == ["ratchet"]
    if uid == FLEET:
        assert offered == {
            "device_class": ["cpu-8t", "nvidia-h100"],
            "host": ["node-a", "node-b"],
            "gpu": ["0", "1"],
        }


def test_choice_of_hosts_and_gpus_leaves_others_out(world: Recorded) -> None:
    power = world.panel(FLEET, "Power", host=["node-a"], gpu=["0", "1"])
    assert {one["metric"]["Hostname"] for one in power} == {"node-a"}
    (one,) = world.panel(FLEET, "Power", host=["node-a", "node-b"], gpu=["1"])
    assert (one["metric"]["Hostname"], newest(one)) == ("node-a", POWER[IDLE])
    (waiting,) = world.panel(FLEET, "Jobs that wait", device_class=["cpu-8t"])
    assert newest(waiting) == 3
    assert world.panel(FLEET, "Power", host=["node.a"]) == [], "a name is no pattern"


def number(world: Recorded, uid: str, title: str) -> float:
    (one,) = world.panel(uid, title)
    return newest(one)


@pytest.mark.parametrize(
    ("title", "value"),
    [
        ("Jobs that wait", 5),
        ("Oldest of them", 900),
        ("Workers live", 3),
        ("Heard of longest ago", 12),
        ("Devices not good", 3),
        ("GPUs seen", 4),
        ("GPUs that are idle", 2),
        ("Share of GPUs that is idle", 0.5),
        ("Energy in this time range", sum(POWER.values()) / 1000),
    ],
)
def test_number_of_the_fleet(world: Recorded, title: str, value: float) -> None:
    assert number(world, FLEET, title) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("title", "value"),
    [
        ("API available", 1 - 0.04 / 8),
        ("Webhooks answered, p99", 0.9),
        ("Check visible, p95", 20),
        ("Verdict after the last sample, p95", 570),
        ("Checks overdue", 0),
        ("Age of the last sweep", 4),
        ("Jobs lost", 3),
        ("Double effects: late posts refused", 1),
        ("Double effects: webhooks repeated", 5),
        ("Quota left", 1250),
        ("Disk free", 0.125),
        ("Free", 0.25e12),
        ("Age of the backup", 36_000),
        ("Restored, and observes", 0),
        ("Clock's offset", 1.5),
        ("Since retention ran", 7_200),
        ("Connections in use", 7.5 / 20),
    ],
)
def test_number_of_the_service(world: Recorded, title: str, value: float) -> None:
    assert number(world, SERVICE, title) == pytest.approx(value, rel=1e-6)


def lines(world: Recorded, uid: str, title: str, label: str, ref: str = "A") -> dict[str, float]:
    return {one["metric"].get(label, ""): newest(one) for one in world.panel(uid, title, ref=ref)}


def test_numbers_of_the_database_are_not_added_up_over_processes(world: Recorded) -> None:
    assert lines(world, FLEET, "Jobs that wait, by band", "band") == {"pull_request": 2, "nightly": 3}
    assert lines(world, FLEET, "Age of the oldest, by band", "band") == {"pull_request": 60, "nightly": 900}
    health = lines(world, FLEET, "Devices by health", "health")
    assert health == {"good": 4, "suspect": 1, "quarantined": 2}
    assert lines(world, FLEET, "Incidents of machines", "kind") == {"quarantined": 2, "lost": 1}
    assert lines(world, FLEET, "What waits for which devices", "device_class") == {
        "cpu-8t": 3,
        "nvidia-h100": 2,
    }
    assert lines(world, FLEET, "What waits for which devices", "device_class", "B") == {
        "cpu-8t": 300,
        "nvidia-h100": 900,
    }


def test_what_processes_count_is_added_up(world: Recorded) -> None:
    requests = lines(world, SERVICE, "Requests a second, by answer", "status")
    assert requests == {
        "200": pytest.approx(9.96),
        "500": pytest.approx(0.04),
        "503": pytest.approx(1),
    }
    assert lines(world, SERVICE, "Share of API requests that fail", "") == {"": pytest.approx(0.005)}
    routes = lines(world, SERVICE, "Routes", "route")
    assert routes == {API_ROUTE: pytest.approx(0.15), PAGE_ROUTE: pytest.approx(2.0)}
    failed = lines(world, SERVICE, "Routes", "route", "C")
    assert failed == {API_ROUTE: pytest.approx(144), PAGE_ROUTE: pytest.approx(3600)}
    calls = lines(world, SERVICE, "Calls of GitHub a second, by answer", "code")
    assert calls == {"200": pytest.approx(1), "403": pytest.approx(0.1)}, (
        "the database counts them, once for all"
    )
    wrong = [lines(world, SERVICE, "What goes wrong with leases", "", ref)[""] for ref in "ABC"]
    assert wrong == [pytest.approx(2), pytest.approx(1), pytest.approx(4)]
    attempts = lines(world, SERVICE, "Attempts that ended, by outcome", "outcome")
    assert attempts == {"ok": pytest.approx(6, rel=0.05), "lost": 0}


def test_gpus_are_told_once_whatever_pods_share_them_and_instances_by_themselves(world: Recorded) -> None:
    active = {
        (one["metric"]["Hostname"], one["metric"]["gpu"], one["metric"].get("GPU_I_ID", "")): newest(one)
        for one in world.panel(FLEET, "Multiprocessors with work")
    }
    assert active == {
        (*BUSY, ""): 0.8,
        (*IDLE, ""): 0.01,
        ("node-b", "0", "7"): 0.6,
        ("node-b", "0", "8"): 0.2,
        ("node-b", "1", ""): 0.3,
    }, "the last is told under the field's newer name"


def test_blank_of_dcgm_is_no_power(world: Recorded) -> None:
    power = {
        (one["metric"]["Hostname"], one["metric"]["gpu"]): newest(one) for one in world.panel(FLEET, "Power")
    }
    assert power == POWER


def test_idle_gpu_is_named_with_what_it_draws(world: Recorded) -> None:
    silent, busy = sorted(world.panel(FLEET, "Which are idle"), key=newest, reverse=True)
    assert [(one["metric"]["Hostname"], one["metric"]["gpu"]) for one in (silent, busy)] == [SILENT, IDLE]
    (power,) = world.panel(FLEET, "Which are idle", ref="B")
    assert newest(power) == POWER[IDLE], "a blank is no power"
    assert busy["metric"] == power["metric"], "one row of the table"


def test_reasons_of_a_slow_clock_are_counted_bit_by_bit(world: Recorded) -> None:
    panel = grafana.panel_of(FLEET, "GPUs that something slows down")
    counts = {
        target["legendFormat"]: newest(world.answers(Query(FLEET, panel["title"], target))[0])
        for target in panel["targets"]
    }
    assert counts == {
        "power cap": 2,
        "hw slowdown": 0,
        "sync boost": 0,
        "sw thermal": 0,
        "hw thermal": 1,
        "hw brake": 0,
    }
    at_limit = lines(world, FLEET, "Share of time at a limit", "Hostname")
    assert at_limit == {"node-a": pytest.approx(0.25), "node-b": 0}
    heat = lines(world, FLEET, "Share of time at a limit", "Hostname", "B")
    assert heat["node-a"] == pytest.approx(0.01)


def test_energy_is_in_kilowatt_hours_clocks_in_hertz_and_links_in_bytes_a_second(world: Recorded) -> None:
    energy = lines(world, FLEET, "Energy of the last hour, by host", "Hostname")
    assert energy == {"node-a": pytest.approx(0.41), "node-b": pytest.approx(0.2)}
    assert set(lines(world, FLEET, "Clock of the multiprocessors", "gpu").values()) == {1.98e9}
    assert set(lines(world, FLEET, "Over PCIe", "gpu").values()) == {3e9}
    assert set(lines(world, FLEET, "Over NVLink", "gpu").values()) == {70e9}


def test_faults_are_told_of_the_gpu_that_has_them(world: Recorded) -> None:
    (xid,) = world.panel(FLEET, "XID errors")
    assert (xid["metric"]["Hostname"], xid["metric"]["gpu"], newest(xid)) == (*IDLE, 79)
    mapped = grafana.panel_of(FLEET, "XID errors")["fieldConfig"]["overrides"][0]["properties"][0]["value"]
    assert mapped[0]["options"]["79"]["text"] == "79: fell off the bus"
    uncorrected = world.panel(FLEET, "Faults of memory and links", ref="B")
    assert {newest(one) for one in uncorrected if one["metric"]["gpu"] == "1"} == {1}


def test_service_that_never_fails_is_wholly_available(tmp_path: Path) -> None:
    asked = iter(range(0, 1_000_000, 100))

    def told(path: str) -> tuple[int, dict[str, str], bytes]:
        line = f'ratchet_http_requests_total{{route="{API_ROUTE}",method="GET",status="200"}} {next(asked)}\n'
        return 200, {"Content-Type": "text/plain; version=0.0.4"}, line.encode()

    with (
        serving(told) as address,
        prometheus(tmp_path / "p", scraping(ratchet=(address, "250ms"))) as (port, _),
    ):
        world = Recorded(f"http://127.0.0.1:{port}", last_minute())
        wait_until_scraped(world, "ratchet_http_requests_total", samples=3)
        world.times = last_minute()
        assert number(world, SERVICE, "API available") == 1


def last_minute() -> Times:
    end = datetime.now(UTC)
    return Times(end - timedelta(minutes=1), end)


def wait_until_scraped(world: Recorded, name: str, samples: int) -> None:
    """Wait until each series of this name has so many samples."""

    def are_there() -> bool:
        counts = world.get("query", query=f"count_over_time({name}[1m])")["result"]
        return bool(counts) and all(newest(one) >= samples for one in counts)

    wait_for(are_there, 30)


def test_recorded_scrapes_of_real_exporters_fill_the_panels_whose_fields_they_have(
    recordings: Path, tmp_path: Path
) -> None:
    scrapes = sorted((recordings / "dcgm-exporter").glob("*.prom"))
    assert len(scrapes) >= 2
    texts = [scrape.read_bytes() for scrape in scrapes]
    plain = {"Content-Type": "text/plain; version=0.0.4"}
    with ExitStack() as stack:
        jobs = {
            f"dcgm{nth}": (stack.enter_context(serving(lambda _, text=text: (200, plain, text))), "250ms")
            for nth, text in enumerate(texts)
        }
        port, _ = stack.enter_context(prometheus(tmp_path / "p", scraping(**jobs)))
        world = Recorded(f"http://127.0.0.1:{port}", last_minute())
        wait_until_scraped(world, "DCGM_FI_DEV_GPU_UTIL", samples=3)
        world.times = last_minute()
        known = set(re.findall(rb"^(DCGM_\w+)\{", b"\n".join(texts), re.MULTILINE))
        told, silent = {}, []
        for query in grafana.queries(PROMETHEUS):
            fields = {name.encode() for name, _ in SELECTOR.findall(query.text) if name.startswith("DCGM")}
            if fields and not fields & known:
                continue
            if fields:
                told[query.owner] = world.answers(query)
                silent += [] if told[query.owner] else [query.name]
    assert silent == []
    assert {"A kernel runs", "Matrix units at work", "Power", "Temperature", "Which are idle"} <= set(told)
    hosts = {one["metric"]["Hostname"]: newest(one) for one in told["A kernel runs"]}
    assert hosts["cp-bm14r7"] == 91, "the busy T4"


def test_names_and_labels_are_those_that_the_service_tells() -> None:
    used: dict[str, set[str]] = {}
    for query in grafana.queries(PROMETHEUS):
        for name, inside in SELECTOR.findall(query.text):
            if name.startswith("ratchet_"):
                labels = set(re.findall(r"(\w+)(?:=|!=|=~|!~)\"", inside))
                grouped = {
                    one.strip() for by in re.findall(r"by \(([^)]*)\)", query.text) for one in by.split(",")
                }
                used.setdefault(name, set()).update(labels | grouped)
    told = LABELS | {f"{name}_bucket": (*labels, "le") for name, labels in HISTOGRAMS.items()}
    assert {name for name in used if name not in told} == set()
    everywhere = {"job", "instance", ""}
    wrong = {name: labels - set(told[name]) - everywhere for name, labels in used.items()}
    assert {name: labels for name, labels in wrong.items() if labels} == {}
    shown = json.dumps([query.text for query in grafana.queries(PROMETHEUS)])
    assert [name for name in LABELS if name not in shown] == [], "each metric is on a dashboard"


@pytest.mark.postgres
def test_real_scrape_has_the_names_and_labels_of_the_contract(client: TestClient) -> None:
    text = client.get("/metrics").text
    families = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    late = set(
        "ratchet_backup_age_seconds ratchet_retention_seconds ratchet_sweep_age_seconds ratchet_heartbeat_age_seconds"
        " ratchet_forge_quota_remaining".split()
    )
    assert set(LABELS) - late - set(families) == set()
    for name, labels in re.findall(r"^(\w+)\{([^}]*)\} ", text, re.MULTILINE):
        family = re.sub(r"_(bucket|sum|count)$", "", name) if name not in LABELS else name
        if family in LABELS:
            assert set(re.findall(r'(\w+)="', labels)) - {"le"} == set(LABELS[family]), name
