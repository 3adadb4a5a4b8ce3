"""Two device classes held against each other: speed, energy, work per joule and cost, with where each is from."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from app.store.repositories import projects
from app.store.tables import Attempt, Job, Run
from app.wiring import Service
from ratchet_perf import Ratchet
from tests.factories import stored
from tests.factories.browser import Page
from tests.factories.histories import Poster, deliver, sha
from tests.factories.posted_results import post_results, posted_document, posted_result
from tests.factories.serving import served

pytestmark = pytest.mark.postgres

OLD, NEW = "gpu-old", "gpu-new"
PRICES = [
    {"devices": "gpu-o*", "hour": 0.36, "currency": "EUR", "date": "2026-11-01"},
    {"devices": "gpu-*", "hour": 1.44, "currency": "EUR", "date": "2026-11-02"},
]


def latency(seconds: float, benchmark: str = "resize", spread: float = 0.01) -> dict[str, Any]:
    return posted_result(benchmark, [seconds * (1 - spread), seconds, seconds * (1 + spread)], unit="s")


def energy(joules: float, benchmark: str = "resize") -> dict[str, Any]:
    return posted_result(benchmark, [joules] * 3, metric="energy_per_iter", unit="J")


def post(poster: Poster, device_class: str, *its: dict[str, Any], commit: int = 0, **fields: Any) -> None:
    """Post results of a commit on a device class, of one device unless the environment says otherwise."""
    given = {"environment": {"devices": 1}} | fields
    document = posted_document(*its, commit=sha(commit), device_class=device_class, **given)
    answer = post_results(poster.client, poster.token, document)
    assert answer.status_code == 201, answer.text
    deliver(poster.service)


def compare(poster: Poster, base: str = OLD, head: str = NEW, **more: str) -> dict[str, Any]:
    return poster.get("compare", project="acme/vision", base=base, head=head, **more)


def hardware(poster: Poster, base: str = OLD, head: str = NEW) -> dict[str, Any]:
    found: dict[str, Any] = compare(poster, base, head)["hardware"]
    return found


def look(poster: Poster, query: str) -> str:
    headers = {"Authorization": f"Bearer {poster.token}", "Accept": "text/html"}
    answer = poster.client.get(f"/compare?project=acme/vision&{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def measured(
    service: Service,
    device_class: str,
    *,
    head: int,
    base: int,
    prices: list[dict[str, Any]],
    idle: dict[str, float],
    devices: int = 1,
    kind: str = "nvidia",
) -> None:
    """Have the newest results of a class be of a run of ours instead of posts: its job has these prices."""
    with service.database.session() as session:
        project = projects.project(session, "acme/vision")
        ids = {n: projects.commit(session, project.id, sha(n)).id for n in (head, base)}
        job = Job(
            project_id=project.id, key=f"{device_class}/{head}", suite="s", device_class=device_class,
            devices_needed=devices, base_commit_id=ids[base], head_commit_id=ids[head], spec={},
            policy={"prices": prices}, budget_s=60.0, max_pairs=4,
        )  # fmt: skip
        session.add(job)
        for state in ("queued", "leased", "running", "succeeded"):
            job.state = state
            session.flush()
        worker = stored.worker(session)
        attempt = Attempt(
            job_id=job.id, number=1, lease_id=job.key, worker_id=worker.id, outcome="ok", phase="", detail=""
        )
        session.add(attempt)
        device = stored.device(session, worker, device_class, kind=kind)
        session.execute(
            text("insert into lease_device (lease_id, device_id, active) values (:lease, :device, false)"),
            {"lease": job.key, "device": device.id},
        )
        session.flush()
        run = Run(project_id=project.id, job_id=job.id, attempt_id=attempt.id, idle=[idle])
        session.add(run)
        session.flush()
        session.execute(
            text(
                "update result set run_id = :run, upload_id = null, arm = 'base' where commit_id = :commit and"
                " series_id in (select id from series where device_class = :device_class)"
            ),
            {"run": run.id, "commit": ids[base], "device_class": device_class},
        )


def landed(
    service: Service, device_class: str, *, prices: list[dict[str, Any]] = PRICES, **told: Any
) -> None:
    """Have a job of ours have measured commit 1, and another one that commit as its base: its settings have landed."""
    given: dict[str, Any] = {"idle": {"power_w": 40.0, "energy_j_total": 1e6}}
    measured(service, device_class, head=1, base=0, prices=prices, **(given | told))
    measured(service, device_class, head=2, base=1, prices=[], **(given | told))


@pytest.fixture
def two(poster: Poster) -> Poster:
    """Two cases on an old and a new device class, one with energy, on commits 0 and 1 of the branch."""
    for commit in (0, 1):
        more = {"commit": commit, "parent": sha(commit - 1)} if commit else {"commit": 0}
        post(poster, OLD, latency(0.036), energy(4.0), latency(0.1, "decode"), **more)
        post(poster, NEW, latency(0.009), energy(2.0), latency(0.1, "decode"), **more)
    return poster


def case(told: dict[str, Any], benchmark: str) -> dict[str, Any]:
    (found,) = [one for one in told["cases"] if one["benchmark"] == benchmark]
    return found


def test_two_device_classes_are_compared_by_speed_energy_and_work_per_joule(two: Poster) -> None:
    told = hardware(two)
    assert (told["base"]["device_class"], told["head"]["device_class"]) == (OLD, NEW)
    resize = case(told, "resize")
    assert resize["performance"]["ratio"] == pytest.approx(4.0)
    assert resize["performance"]["ratio_low"] == pytest.approx(4 * 0.99 / 1.01)
    assert (resize["performance"]["base"]["metric"], resize["performance"]["best"]) == ("latency_p50", "head")
    assert (resize["energy"]["base"]["value"], resize["energy"]["base"]["unit"]) == (4.0, "J/iteration")
    assert resize["perf_per_watt"]["ratio"] == pytest.approx(2.0)
    assert told["means"]["performance"]["ratio"] == pytest.approx(2.0), "of 4 and 1"
    assert (told["means"]["performance"]["n"], told["means"]["energy"]["n"]) == (2, 1)
    assert case(told, "decode")["energy"]["why"] == [
        "base: no energy_per_iter or perf_per_watt is stored",
        "head: no energy_per_iter or perf_per_watt is stored",
    ]
    assert {its["source"] for its in (resize["energy"]["base"], resize["performance"]["head"])} == {"posted"}


def test_without_a_price_that_has_landed_cost_is_not_known_and_the_rest_is(two: Poster) -> None:
    measured(
        two.service, OLD, head=2, base=1, prices=PRICES, idle={"power_w": 1.0}
    )  # nobody has built upon its head
    told = hardware(two)
    assert (told["base"]["price"], told["base"]["why"]) == (None, "no ratchet.toml is known that has landed")
    assert (told["means"]["cost"]["n"], told["means"]["performance"]["n"]) == (0, 2)
    assert "best cost: not known (base: no price is known; head: no price is known)" in told["sentence"]


def test_cost_is_by_the_first_price_that_fits_of_the_settings_that_landed(two: Poster) -> None:
    landed(two.service, OLD, devices=2)
    told = hardware(two)
    assert told["base"]["price"] == {
        "hour": 0.36,
        "currency": "EUR",
        "day": "2026-11-01",
        "devices": "gpu-o*",
    }
    assert told["head"]["price"]["hour"] == 1.44
    cost = case(told, "resize")["cost"]
    # a million iterations: 36 000 s on two devices at 0.36 an hour; 9 000 s on one at 1.44
    assert (cost["base"]["value"], cost["base"]["per"]) == (pytest.approx(7.2), "million iterations")
    assert (cost["head"]["value"], cost["head"]["unit"]) == (pytest.approx(3.6), "EUR")
    assert (cost["ratio"], cost["best"]) == (pytest.approx(0.5), "head")
    assert (cost["base"]["source"], cost["base"]["formula"]) == (
        "stated_price",
        "price · devices · latency_p50",
    )


def test_prices_are_of_the_newest_settings_that_landed_whatever_series_they_measured(two: Poster) -> None:
    landed(two.service, OLD)
    post(two, OLD, latency(0.02, "young"), commit=1)
    measured(
        two.service, OLD, head=3, base=1, prices=[PRICES[0] | {"hour": 99.0}], idle={"power_w": 1.0}
    )  # a proposal
    assert hardware(two)["base"]["price"]["hour"] == 0.36


def test_a_price_that_fits_one_class_alone_leaves_the_others_cost_open(two: Poster) -> None:
    landed(two.service, OLD, prices=PRICES[:1])
    told = hardware(two)
    assert told["head"] == {
        "device_class": NEW, "price": None, "why": f"no [prices] entry fits {NEW}"
    }  # fmt: skip
    cost = case(told, "resize")["cost"]
    assert (cost["base"]["value"], cost["head"], cost["why"]) == (
        pytest.approx(3.6),
        None,
        ["head: no price is known"],
    )


def test_a_post_that_does_not_tell_its_devices_has_no_cost_by_a_price(two: Poster) -> None:
    landed(two.service, OLD)
    for wrong in ({}, {"devices": "8"}, {"devices": True}, {"devices": 0}):
        post(two, NEW, latency(0.009), commit=3, parent=sha(1), environment=wrong | {"n": str(wrong)})
        cost = case(hardware(two), "resize")["cost"]
        assert cost["head"] is None
        assert "does not tell how many devices worked" in cost["why"][0]


@pytest.mark.parametrize(
    ("idle", "kind", "source"),
    [
        ({"power_w": 40.0, "energy_j_total": 1e6}, "nvidia", "energy_counter"),
        ({"power_w": 40.0, "energy_j_total": None}, "nvidia", "power_samples"),
        ({"power_w": 40.0}, "simulated", "simulated"),
        ({"power_w": None}, "nvidia", "measured"),
    ],
)
def test_energy_says_whether_a_counter_or_power_told_it(
    two: Poster, idle: dict[str, float], kind: str, source: str
) -> None:
    landed(two.service, OLD, idle=idle, kind=kind)
    resize = case(hardware(two), "resize")
    assert resize["energy"]["base"]["source"] == source
    assert resize["energy"]["head"]["source"] == "posted"


def test_where_one_side_alone_has_energy_it_is_shown(two: Poster) -> None:
    post(two, "npu", latency(0.018), commit=1)
    told = hardware(two, OLD, "npu")
    its = case(told, "resize")["energy"]
    assert (its["base"]["value"], its["head"], its["ratio"], its["best"]) == (4.0, None, None, None)
    text_of = Page(look(two, f"base={OLD}&head=npu")).text
    assert "4 J/iteration" in text_of
    assert "head: no energy_per_iter or perf_per_watt is stored" in text_of


def test_without_common_cases_the_page_says_so(two: Poster) -> None:
    post(two, "npu", latency(0.018, "other"))
    told = hardware(two, OLD, "npu")
    assert (told["cases"], told["means"]["performance"]["why"]) == ([], "no case is on both device classes")
    assert "No case is on both device classes" in Page(look(two, f"base={OLD}&head=npu")).text


def test_numbers_of_two_commits_are_said_to_be_so(two: Poster) -> None:
    post(two, NEW, latency(0.009), commit=2, parent=sha(1))
    told = hardware(two)
    assert (told["two_commits"], case(told, "resize")["two_commits"], case(told, "decode")["two_commits"]) == (
        1, True, False,
    )  # fmt: skip
    assert "numbers are of two commits" in Page(look(two, f"base={OLD}&head={NEW}")).text


def test_of_several_versions_of_a_benchmark_the_newest_that_both_have_counts(two: Poster) -> None:
    for device, seconds in ((OLD, 0.02), (NEW, 0.01)):
        post(two, device, latency(seconds) | {"version": "v2"}, commit=1)
    post(two, NEW, latency(0.001) | {"version": "v3"}, commit=1)
    assert case(hardware(two), "resize")["performance"]["ratio"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("base", "head"), [("main", "main"), (OLD, OLD), (OLD, "main")], ids=["branches", "one class", "one side"]
)
def test_there_is_no_hardware_comparison_of_anything_else(two: Poster, base: str, head: str) -> None:
    assert compare(two, base, head)["hardware"] is None
    assert "Geometric means of the ratios of cases" not in look(two, f"base={base}&head={head}")


def test_classes_of_two_commits_or_branches_are_compared_too(two: Poster) -> None:
    told = compare(two, sha(0), sha(1), base_device_class=OLD, head_device_class=NEW)["hardware"]
    assert (told["two_commits"], told["means"]["performance"]["n"]) == (2, 2)


def test_page_says_first_which_side_is_best(two: Poster) -> None:
    landed(two.service, OLD)
    text_of = Page(look(two, f"base={OLD}&head={NEW}")).text.replace("\u2068", "").replace("\u2069", "")
    assert f"Best performance: {NEW}, 2.00 times as fast as {OLD} over 2 cases" in text_of
    assert f"best performance per watt: {NEW}, 2.00 times the work per joule of {OLD} over 1 case" in text_of
    assert f"best cost: {OLD}, 0.500 times the cost of {NEW} over 2 cases" in text_of
    assert "0.36 EUR an hour, stated for gpu-o* as of 2026-11-01" in text_of
    assert "energy counter" in text_of
    assert "3.6 EUR per million iterations" in text_of


def test_words_narrow_the_cases(two: Poster) -> None:
    html = look(two, f"base={OLD}&head={NEW}&q=DECODE")
    assert "resize" not in Page(html).text.partition("Each case that has the words")[2].partition("pair")[0]


def test_names_are_text(two: Poster) -> None:
    evil = "<script>alert(1)</script>"
    own = posted_result(evil, [1.0, 1.1], metric=evil, unit="s", params={evil: evil})
    post(two, evil, own, energy(3.0, "watched"), latency(0.02))
    post(two, NEW, own, posted_result("watched", [2.0], metric="perf_per_watt", unit=f"{evil[:8]}/J"))
    html = look(two, "base=%3Cscript%3Ealert(1)%3C/script%3E&head=gpu-new")
    assert "<script>alert" not in html
    text_of = Page(html).text
    assert f"{evil}[{evil}={evil}]" in text_of
    assert "Performance " + evil in text_of
    assert case(hardware(two, evil), "watched")["perf_per_watt"]["ratio"] is None


def test_the_python_client_reads_it(two: Poster, service: Service) -> None:
    landed(service, OLD)
    with served(service) as address, Ratchet(address, token=two.token) as ratchet:
        told = ratchet.compare(OLD, NEW, project="acme/vision").hardware
        assert told is not None
        (resize,) = [one for one in told.cases if one.benchmark == "resize"]
        assert (told.base.price.currency, told.head.price.day) == ("EUR", "2026-11-02")
        assert resize.cost.base.value == pytest.approx(3.6)
        assert resize.performance.best == "head"
        assert told.means["perf_per_watt"].ratio == pytest.approx(2.0)
        frame = told.cases.to_frame()
        assert sorted(frame["performance_ratio"]) == pytest.approx([1.0, 4.0])
        assert sorted(frame["cost_base_value"]) == pytest.approx([3.6, 10.0])
        assert ratchet.compare("main", "main", project="acme/vision").hardware is None
