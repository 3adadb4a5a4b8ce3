"""The list of runs and one run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.domain.results import CheckResult
from app.store.tables import Attempt, BenchmarkCase, Invocation, Run, Timing
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import shown

pytestmark = pytest.mark.postgres


def store(service: Service, *wanted: CheckResult) -> None:
    with service.database.session() as session:
        owner = stored.worker(session)
        stored.device(session, owner, "cpu-xeon-platinum-8488c-8t", hardware_id="board-7")
        for result in wanted:
            stored.check(session, result)


def test_empty_list_says_what_to_run(reader: TestClient) -> None:
    page = shown(reader, "/runs")
    assert "No runs yet" in page.text
    assert "ratchet check --repo . --base main --head HEAD" in page.text


def test_list_shows_where_a_run_ran_and_how_it_ended(reader: TestClient, service: Service) -> None:
    store(service, results.regressed())
    page = shown(reader, "/runs")
    assert "measured inference on cpu-xeon-platinum-8488c-8t" in page.text
    assert "bench-01 · 52 invocations, 4 void" in page.text
    assert "took 8 min" in page.text
    assert "/runs/1" in page.links


def test_running_run_says_what_it_does(reader: TestClient, service: Service) -> None:
    store(service, results.running())
    page = shown(reader, "/runs")
    assert "running inference on cpu-xeon-platinum-8488c-8t measuring" in page.text
    assert page.refresh_s == shown(reader, "/runs/1").refresh_s == 5
    assert shown(reader, "/runs?live=0").refresh_s is shown(reader, "/runs/1?live=0").refresh_s is None


def test_long_list_goes_on(reader: TestClient, service: Service) -> None:
    case = results.untold("resize", None)
    store(service, *[results.check(None, results.suite(case, state="running", finished_at=None))] * 52)
    first = shown(reader, "/runs")
    older = next(link for link in first.links if "before=" in link)
    seen = [
        link for page in (first, shown(reader, older)) for link in page.links if link.startswith("/runs/")
    ]
    assert seen == [f"/runs/{number}" for number in range(52, 0, -1)]


def test_run_names_job_worker_device_commits_and_check(reader: TestClient, service: Service) -> None:
    store(service, results.regressed())
    page = shown(reader, "/runs/1")
    for words in (
        "Job 1, succeeded",
        "Worker bench-01",
        "Intel Xeon Platinum 8488C board-7",
        "Base 4f1d2c9a Merge branch 'faster-tokenizer'",
        "Head b83e07d1 Normalise images before batching",
        "Device time 8 min 12 s of 20 min",
        "Invocations 52, 4 void",
        "8, fixed before the first pair",
        "Intel Xeon Platinum 8488C",
        "memory 62 GiB",
        "missing power limit w, firmware",
    ):
        assert words in page.text
    assert {"/checks/1", "/api/v1/runs/1"} <= set(page.links)


def test_software_that_differs_between_the_arms_is_said(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    page = shown(reader, "/runs/1")
    assert "4 packages, 1 unlike the other arm" in page.text
    assert "torch 2.5.0 differs" in page.text


def test_invocations_stand_in_time_order_and_void_ones_say_why(reader: TestClient, service: Service) -> None:
    store(service, results.regressed())
    page = shown(reader, "/runs/1")
    assert "4 of 52 are void: kept, but not counted, and measured again." in page.text
    assert "7 base 4 2.3 25 s 3.9 s void Another process was on the device" in page.text
    assert (
        page.text.index("1 base 1 1.1 0 s")
        < page.text.index("2 head 1 1.2 4.1 s")
        < page.text.index("7 base 4")
    )
    assert "control unavailable" in page.text


def test_what_other_programs_spoiled_is_void_in_part(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    with service.database.session() as session:
        row = session.scalars(select(Invocation).order_by(Invocation.id).limit(1)).one()
        row.void, row.void_reason = True, "host_cpu: 1.4 of them, where 0.5 may be"
    page = shown(reader, "/runs/1")
    assert "1 void in part Gating results" in page.text
    assert "One is void in part: other programs kept the processors busy." in page.text
    assert "void in part Other programs kept the host's processors busy: 1.4 of them" in page.text


def test_failing_invocation_shows_its_status_and_its_log(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    with service.database.session() as session:
        row = session.scalars(select(Invocation).order_by(Invocation.id).limit(1)).one()
        row.status, row.reason, row.exit_code, row.log_tail = (
            "failed",
            "it crashed",
            3,
            "\x1b[31mSegmentation fault",
        )
    page = shown(reader, "/runs/1")
    assert (
        "failed It crashed, exit status 3 control unavailable End of its log Segmentation fault" in page.text
    )
    assert "\x1b" not in page.html


def test_arm_that_could_not_be_prepared_shows_why(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    with service.database.session() as session:
        run = session.get_one(Run, 1)
        broken = {
            "status": "build_failed",
            "reason": "pip ended with status 1",
            "log_tail": "no wheel",
            "software": {},
        }
        run.arms = {**(run.arms or {}), "head": broken}
    page = shown(reader, "/runs/1")
    assert "not set up pip ended with status 1 End of its log no wheel" in page.text


def test_lost_run_says_how_it_ended(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    with service.database.session() as session:
        attempt = session.get_one(Attempt, 1)
        attempt.outcome, attempt.reason, attempt.message = "lost", "lease_expired", "nothing was heard of it"
    for path in ("/runs", "/runs/1"):
        page = shown(reader, path)
        assert "worker lost" in page.text
        assert "Lease expired: nothing was heard of it" in page.text


def test_run_that_was_never_prepared_has_a_page(reader: TestClient, service: Service) -> None:
    store(service, results.check(None, results.suite(state="leased", finished_at=None)))
    with service.database.session() as session:
        run = session.get_one(Run, 1)
        run.arms, run.environment_id, run.prepared_at = None, None, None
    page = shown(reader, "/runs/1")
    assert "Not yet." in page.text
    assert "None so far." in page.text


def test_each_case_has_a_picture_of_its_raw_timings(reader: TestClient, service: Service) -> None:
    store(service, results.regressed())
    page = shown(reader, "/runs/1")
    assert "decode[seq=512] 1560 batches of 1 iteration, host clock" in page.text
    assert page.html.count('<svg class="raw"') == 7
    assert "flash_attention[heads=16] nothing timed" in page.text


def test_case_that_fails_now_and_then_is_said_beside_its_picture(
    reader: TestClient, service: Service
) -> None:
    store(service, results.improved())
    with service.database.session() as session:
        resize = select(BenchmarkCase.id).where(BenchmarkCase.benchmark == "resize").scalar_subquery()
        for timing in session.scalars(select(Timing).where(Timing.case_id == resize).limit(2)):
            timing.status, timing.host_ns = "failed", []
    page = shown(reader, "/runs/1")
    assert "resize[batch=32] 300 batches of 1 iteration, host clock, failed in 2 invocations" in page.text


def test_million_batches_are_counted_but_not_drawn(reader: TestClient, service: Service) -> None:
    store(service, results.improved())
    usual = len(shown(reader, "/runs/1").html)
    with service.database.session() as session:
        timing = session.scalars(select(Timing).limit(1)).one()
        timing.host_ns = [1_000_000 + n % 977 for n in range(20_000)]
    page = shown(reader, "/runs/1")
    assert len(page.html) < usual + 20_000
    assert "20330 batches of 1 iteration" in page.text


def test_what_other_programs_took_of_a_batch_is_not_drawn(reader: TestClient, service: Service) -> None:
    store(service, results.improved())
    before = shown(reader, "/runs/1").html
    with service.database.session() as session:
        for timing in session.scalars(select(Timing)):
            timing.wait_ns = [7_000_000 + 1_000 * n for n in range(len(timing.host_ns))]
            timing.host_ns = [ns + wait for ns, wait in zip(timing.host_ns, timing.wait_ns, strict=True)]
    assert shown(reader, "/runs/1").html == before


def test_many_cases_come_in_pages(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    first = shown(reader, "/runs/1")
    assert first.html.count("<figure>") == 12
    assert "Page 1 of 5, 49 cases" in first.text
    more = next(link for link in first.links if "cases=2" in link)
    assert "Page 2 of 5" in shown(reader, more.partition("#")[0]).text


def test_names_of_a_run_are_text(reader: TestClient, service: Service) -> None:
    store(service, replace(results.hostile(), project="<i>project</i>"))
    page = shown(reader, "/runs/1")
    assert "<script>alert(1)</script>" in page.text
    assert not [tag for tag, _ in page.elements if tag in ("img", "i")]
    scripts = [attributes["src"] for tag, attributes in page.elements if tag == "script"]
    assert [script.rpartition("/")[2] for script in scripts] == ["suggest.js", "keys.js", "times.js"]


@pytest.mark.parametrize("path", ["/runs/7", "/runs/x", "/runs/0"])
def test_unknown_run_is_not_found(reader: TestClient, path: str) -> None:
    assert reader.get(path).status_code == 404
