"""Efficiency from what an agent posts to what people read: gates on it, its sources, what holds a case back."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.services.conclude_check import conclude_check
from app.wiring import Service
from tests.factories.agent import FakeAgent
from tests.factories.browser import counted
from tests.factories.checks import SETTINGS
from tests.factories.histories import deliver
from tests.factories.posted_results import post_results, posted_document, posted_result
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

H100 = "nvidia-h100-80gb-hbm3"
GEMM = protocol.CaseId(benchmark="gemm", params={"n": 8192})
FLOP, BYTES, SAMPLES = 1.1e12, 4.0e8, 64.0
PEAK = 989e12
CALLS = 4_000
SECOND_NS = 10**9
GATE = """
[[suite]]
name = "kernels"
benchmarks = "benchmarks/bench_*.py"
devices = ["nvidia-*"]
gate = ["mfu"]

[gate]
device_minutes = 1

[[budget]]
benchmark = "gemm"
metric = "mfu"
min = "0.4"

[prices."nvidia-h100-*"]
hour = 2.49
currency = "EUR"
date = 2026-11-01
"""
KERNELS = '[project]\nname = "acme/kernels"\n' + GATE

Seconds = Callable[[str, int], float]
"""(arm, pair) -> what a call takes [s]."""


class Gpu(FakeAgent):
    """An agent with an H100, which measures what a test says that a call takes."""

    model = "NVIDIA H100 80GB HBM3"

    def register(self) -> Any:
        device = protocol.DeviceReport(
            hardware_id=self.hardware_id,
            kind="nvidia",
            device_class=self.device_class,
            model=self.model,
            fingerprint={"machine": {}, "soft": {"sm_clock_max_hz": 1.98e9}},
        )
        message = protocol.Register(name=self.name, host=self.host, instance=self.instance, devices=[device])
        response = self.post("register", message)
        self.worker_id = response.json()["worker_id"]
        return response

    def prepare_case(self, **listing: Any) -> protocol.OpenCases:
        """Post a listing of the case on both arms, on a device that draws 100 W when idle."""
        metric = protocol.MetricDecl(metric="latency_p50", unit="s", better="lower")
        told = {"units": {"flop": FLOP, "bytes": BYTES, "samples": SAMPLES}, "dtype": "bf16", "timed_s": 6.0}
        case = protocol.CaseListing(
            benchmark=GEMM.benchmark,
            params=GEMM.params,
            file_digest="f1",
            metrics=[metric],
            **(told | listing),
        )
        arms = [protocol.ArmReport(arm=arm, status="ok", cases=[case]) for arm in ("base", "head")]
        idle = [{"power_w": 100.0, "energy_j_total": 5e6}]
        message = protocol.Prepared(
            arms=arms, machine_hash="m1", order_seed=1, device_s=0.5, idle=idle, fingerprint={"machine": {}}
        )
        response = self.post(self._lease("prepared"), message)
        assert response.status_code == 200, response.text
        return protocol.OpenCases.model_validate(response.json())

    def measure(self, seconds: Seconds, *, blocks: int = 12, **fields: Any) -> protocol.OpenCases:
        """Post blocks of two pairs until nothing is open."""
        answer = protocol.OpenCases(open=[GEMM])
        for _ in range(2 * blocks):
            for position, arm in enumerate(("base", "head")):
                message = self.one(arm, position, seconds(arm, self.pairs), **fields)
                response = self.post(self._lease("invocations"), message)
                assert response.status_code == 200, response.text
                answer = protocol.OpenCases.model_validate(response.json())
            self.pairs += 1
            if self.pairs % 2 == 0 and not answer.open:
                break
        return answer

    def one(
        self, arm: str, position: int, seconds: float, *, watts: Any = None, ticks: Any = None, **fields: Any
    ) -> protocol.Invocation:
        """Return an invocation whose window begins a second after its readings; `ticks` has an arm's readings."""
        window_s = fields.pop("window_s", CALLS * seconds)
        window = (SECOND_NS, SECOND_NS + round(window_s * 1e9))
        measured = protocol.CaseMeasurement(
            benchmark=GEMM.benchmark,
            params=GEMM.params,
            status="ok",
            k=CALLS,
            batches=protocol.Batches(host_ns=[round(CALLS * seconds * 1e9)]),
            values=[protocol.Value(metric="latency_p50", value=seconds, unit="s", better="lower")],
            units={"flop": fields.pop("flop", FLOP), "bytes": BYTES, "samples": SAMPLES},
            dtype="bf16",
            iterations=CALLS,
            window_ns=window,
            energy_j=None if watts is None else watts[arm] * window_s,
        )
        if ticks is not None:
            fields["ticks"] = packed(ticks[arm])
        return self.invocation(arm, self.pairs, position, [measured], **fields)  # type: ignore[arg-type]


def packed(readings: Sequence[dict[str, Any]]) -> str:
    """Readings of one device ten times a second, as an agent sends them."""
    columns: dict[str, list[Any]] = {"t_ns": [round(i * SECOND_NS / 10) for i in range(len(readings))]}
    for name in readings[0]:
        columns[name] = [reading[name] for reading in readings]
    return base64.b64encode(zlib.compress(json.dumps([columns]).encode())).decode()


def wobbling(base_s: float, head_s: float) -> Seconds:
    """Times with a little noise that is the same in both runs of a test."""
    return lambda arm, pair: (
        (base_s if arm == "base" else head_s) * (1 + 0.0005 * ((pair * 7 + 3 * (arm == "head")) % 5 - 2))
    )


@pytest.fixture
def gpu(client: TestClient, worker_token: str) -> Gpu:
    agent = Gpu(client, worker_token, device_class=H100, hardware_id="GPU-1")
    assert agent.register().status_code == 200
    return agent


@pytest.fixture
def read(client: TestClient, admin_token: str) -> Callable[[str], Any]:
    def get(path: str) -> Any:
        response = client.get(path, headers={"Authorization": f"Bearer {admin_token}"})
        assert response.status_code == 200, response.text
        return response.json() if "json" in response.headers["content-type"] else words_of(response.text)

    return get


def words_of(html: str) -> str:
    """What a page says, tags and style left out."""
    bare = re.sub(r"<(style|script|title|desc)>.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", bare).replace("\u00a0", " ").replace("&#39;", "'").split())


def case_of(document: Any, metric: str) -> Any:
    (suite,) = document["suites"]
    (case,) = [one for one in suite["cases"] if one["metric"] == metric]
    return case


def inputs_of(provenance: Any, arm: str) -> dict[str, Any]:
    return {given["name"]: given for given in provenance[arm]["inputs"]}


def test_mfu_below_its_budget_regresses_and_every_page_says_how_it_was_made(
    service: Service, gpu: Gpu, ask: Ask, read: Any
) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    assert not gpu.measure(wobbling(2.4e-3, 3.2e-3)).open
    assert gpu.finish().status_code == 200
    with service.database.session() as session:
        assert str(conclude_check(session, check_id)) == "regressed"

    document = read(f"/api/v1/checks/{check_id}")
    mfu = case_of(document, "mfu")
    assert (mfu["verdict"], mfu["gating"], mfu["worse"]) == ("regressed", True, True)
    assert mfu["base_geomean"] == pytest.approx(FLOP / (2.4e-3 * PEAK), rel=2e-3)
    assert mfu["head_geomean"] < 0.4 < mfu["base_geomean"]
    assert not {"beyond_peak", "peak_not_verified"} & set(mfu["flags"])

    made = inputs_of(mfu["provenance"], "head")
    assert mfu["provenance"]["head"]["formula"] == "model FLOP / (time · devices · peak)"
    assert (made["peak"]["value"], made["peak"]["unit"], made["peak"]["is_verified"]) == (
        PEAK,
        "FLOP/s",
        True,
    )
    assert made["peak"]["origin"].startswith("H100-SXM (1 GPU), https://www.nvidia.com/")
    assert case_of(document, "latency_p50")["provenance"] is None

    cost = case_of(document, "cost_per_sample")
    assert (cost["unit"], cost["head_geomean"]) == ("EUR", pytest.approx(2.49 / 3600 * 3.2e-3 / 64, rel=2e-3))
    assert (
        inputs_of(cost["provenance"], "base")["price"]["origin"]
        == '[prices."nvidia-h100-*"], EUR of 2026-11-01'
    )

    for path in (f"/api/v1/checks/{check_id}/report", f"/checks/{check_id}"):
        shown = read(path)
        assert "model FLOP / (time · devices · peak)" in shown, path
        assert re.search(r"head 1\.1 TFLOP / \(3\.[12]\d? ms · 1 · 989 TFLOP/s\) = 34\.\d+ %", shown), path
        assert "units()['flop'] of the benchmark" in shown
        assert "H100-SXM (1 GPU), https://www.nvidia.com/" in shown
        assert "[prices.&#34;nvidia-h100-*&#34;], EUR of 2026-11-01" in shown
        assert "Roofline of H100-SXM (1 GPU)" in shown


def test_mfu_within_its_minimum_effect_regresses_by_the_budget_alone(gpu: Gpu, ask: Ask, read: Any) -> None:
    settings = KERNELS.replace('min = "0.4"', 'min = "0.47"')
    check_id = ask(settings=settings)["check"]
    gpu.claim()
    gpu.prepare_case()
    gpu.measure(wobbling(2.36e-3, 2.37e-3), blocks=48)
    mfu = case_of(read(f"/api/v1/checks/{check_id}"), "mfu")
    assert mfu["head_geomean"] == pytest.approx(FLOP / (2.37e-3 * PEAK), rel=2e-3)
    assert (mfu["verdict"], "budget" in mfu["flags"]) == ("regressed", True)


def test_peak_that_nobody_compared_and_work_beyond_it_are_flags_of_the_verdict(
    client: TestClient, worker_token: str, ask: Ask, read: Any
) -> None:
    gpu = Gpu(client, worker_token, device_class="nvidia-a100-sxm4-80gb", hardware_id="GPU-2")
    gpu.model = "NVIDIA A100-SXM4-80GB"
    assert gpu.register().status_code == 200
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    gpu.measure(wobbling(3.0e-3, 3.0e-3), blocks=2)
    document = read(f"/api/v1/checks/{check_id}")
    assert case_of(document, "bandwidth_util")["flags"] == ["peak_not_verified"]
    assert case_of(document, "mfu")["flags"] == ["beyond_peak"]
    efficiency = document["suites"][0]["efficiency"]
    assert [(peak["name"], peak["is_verified"]) for peak in efficiency["peaks"]] == [("bf16", True)]
    assert efficiency["bandwidth"]["is_verified"] is False
    shown = read(f"/checks/{check_id}")
    assert "not verified" in shown
    assert "beyond_peak: more than the device's peak" in shown


def test_energy_of_a_short_window_is_no_value_and_the_verdict_says_why(gpu: Gpu, ask: Ask, read: Any) -> None:
    check_id = ask(settings=KERNELS.replace('gate = ["mfu"]', 'gate = ["mfu", "energy_per_iter"]'))["check"]
    gpu.claim()
    gpu.prepare_case()
    gpu.measure(wobbling(2.4e-3, 2.4e-3), blocks=2, watts={"base": 500.0, "head": 500.0}, window_s=2.0)
    energy = case_of(read(f"/api/v1/checks/{check_id}"), "energy_per_iter")
    assert (energy["base_geomean"], energy["head_geomean"]) == (None, None)
    assert "energy_window_short" in energy["flags"]
    assert "energy over 2 s says nothing; it takes 5 s" in read(f"/checks/{check_id}")


def test_what_a_void_invocation_was_made_of_is_not_kept(gpu: Gpu, ask: Ask, read: Any) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    gpu.measure(wobbling(2.4e-3, 2.4e-3), blocks=1)
    spoilt = {"void": True, "void_reason": "ecc: 1 uncorrected memory errors", "flop": 5e12}
    gpu.measure(wobbling(9e-3, 9e-3), blocks=1, **spoilt)
    mfu = case_of(read(f"/api/v1/checks/{check_id}"), "mfu")
    for arm in ("base", "head"):
        assert inputs_of(mfu["provenance"], arm)["time"]["value"] == pytest.approx(2.4e-3, rel=2e-3)
    assert mfu["flags"] == []


def test_statements_of_a_post_do_not_grow_with_its_cases_and_only_a_whole_block_writes_verdicts(
    service: Service, gpu: Gpu, ask: Ask
) -> None:
    ask(settings=KERNELS)
    gpu.claim()
    metric = protocol.MetricDecl(metric="latency_p50", unit="s", better="lower")
    told = {"units": {"flop": FLOP, "bytes": BYTES, "samples": SAMPLES}, "dtype": "bf16", "timed_s": 6.0}
    cases = [
        protocol.CaseListing(benchmark="gemm", params={"n": n}, file_digest="f1", metrics=[metric], **told)
        for n in range(20)
    ]
    arms = [protocol.ArmReport(arm=arm, status="ok", cases=cases) for arm in ("base", "head")]
    idle = [{"power_w": 100.0, "energy_j_total": 5e6}]
    prepared = protocol.Prepared(arms=arms, machine_hash="m1", order_seed=1, device_s=0.5, idle=idle)
    assert gpu.post(gpu._lease("prepared"), prepared).status_code == 200
    sent, written = [], []
    for pair in range(4):
        gpu.pairs = pair
        for position, arm in enumerate(("base", "head")):
            message = gpu.one(arm, position, 2.4e-3 * (1 + pair / 1000), watts={"base": 500.0, "head": 500.0})
            (one,) = message.cases
            all_cases = [one.model_copy(update={"params": {"n": n}}) for n in range(20)]
            with counted(service.database.engine) as statements:
                response = gpu.post(
                    gpu._lease("invocations"), message.model_copy(update={"cases": all_cases})
                )
            assert response.status_code == 200, response.text
            sent.append(len(statements))
            written.append(sum(statement.startswith("UPDATE verdict") for statement in statements))
    with service.database.session() as session:
        made = session.scalar(text("select count(*) from verdict where provenance is not null"))
    assert made == 20 * 6
    assert max(sent) < 60, sent
    assert [count > 0 for count in written] == [True, True, False, True, False, False, False, True], written


# --- what holds a case back ---


def readings(*, of_window: dict[str, Any], window_s: float) -> list[dict[str, Any]]:
    """An idle second, readings of the window, and an idle second after it."""
    idle = {"util": 0.0, "sm_clock_hz": 3.45e8, "throttle_reasons": ["idle"]}
    return [idle] * 10 + [of_window] * round(10 * window_s + 1) + [idle] * 10


def test_power_limit_that_holds_head_back_is_told_with_its_evidence(gpu: Gpu, ask: Ask, read: Any) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    free = {"util": 0.98, "sm_clock_hz": 1.97e9, "throttle_reasons": []}
    held = {"util": 1.0, "sm_clock_hz": 1.584e9, "throttle_reasons": ["power_cap"]}
    ticks = {
        "base": readings(of_window=free, window_s=CALLS * 1.8e-3),
        "head": readings(of_window=held, window_s=CALLS * 2.2e-3),
    }
    watts = {"base": 600.0, "head": 690.0}
    gpu.measure(wobbling(1.8e-3, 2.2e-3), blocks=2, ticks=ticks, watts=watts)

    (suite,) = read(f"/api/v1/checks/{check_id}")["suites"]
    (case,) = suite["efficiency"]["cases"]
    assert (case["base"]["bottleneck"], case["head"]["bottleneck"], case["changed"]) == (
        "compute",
        "power",
        True,
    )
    assert case["base"]["signs"]["util"] == pytest.approx(0.98)
    assert case["head"]["signs"]["power_throttle_share"] == 1.0
    assert case["head"]["signs"]["clock_share"] == pytest.approx(0.8)
    assert case["head"]["evidence"][0]["text"] == (
        "100 % of the time a limit of power held; the median clock was 80 % of the highest"
    )
    place = case["base"]["roofline"]
    assert place["intensity"] == FLOP / BYTES
    assert place["achieved"] == pytest.approx(FLOP / 1.8e-3, rel=2e-3)
    assert place["share"] == pytest.approx(FLOP / 1.8e-3 / PEAK, rel=2e-3)

    shown = read(f"/checks/{check_id}")
    assert "changed compute → power" in shown
    assert "base: the model's operations take 61.8 % of the arithmetic peak" in shown
    assert "no time waiting for input was reported" in shown
    assert "1.080 → 1.518 J per iteration" in shown


def test_busy_processor_time_of_a_start_says_nothing_of_a_case_without_readings_in_its_window(
    gpu: Gpu, ask: Ask, read: Any
) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    early = {"util": 0.0, "sm_clock_hz": 3.45e8, "throttle_reasons": []}
    gpu.measure(wobbling(6e-3, 6e-3), blocks=1, ticks={"base": [early] * 9, "head": [early] * 9})
    (case,) = read(f"/api/v1/checks/{check_id}")["suites"][0]["efficiency"]["cases"]
    assert case["head"]["bottleneck"] == "unclear"
    assert "how long the device worked on the step is not known" in case["head"]["missing"]


def test_what_dcgm_told_of_the_run_is_evidence_for_its_only_case(
    service: Service, gpu: Gpu, ask: Ask, read: Any
) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    gpu.measure(wobbling(6e-3, 6e-3), blocks=1)
    told = {
        "GPU-1": {
            "readings": {
                "dram_active": {"value": 0.71, "unit": "1"},
                "pcie_rx_b_s": {"value": 2.5e9, "unit": "B/s"},
                "nvlink_tx_b_s": {"value": None, "unit": "B/s", "reason": "not told"},
            }
        }
    }
    with service.database.engine.begin() as connection:
        connection.execute(text("update run set activity = cast(:told as jsonb)"), {"told": json.dumps(told)})
    efficiency = read(f"/api/v1/checks/{check_id}")["suites"][0]["efficiency"]
    assert [(one["device"], one["name"], one["value"]) for one in efficiency["activity"]] == [
        ("GPU-1", "dram_active", 0.71),
        ("GPU-1", "pcie_rx_b_s", 2.5e9),
    ]
    assert efficiency["cases"][0]["head"]["bottleneck"] == "memory"
    assert "Memory active 71.0 % Received over PCIe 2.5 GB/s" in read(f"/checks/{check_id}")


def test_timings_of_no_duration_leave_the_check_readable(gpu: Gpu, ask: Ask, read: Any) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    message = gpu.one("head", 0, 2.4e-3)
    (measured,) = message.cases
    nothing = measured.model_copy(update={"batches": protocol.Batches(host_ns=[0], device_ns=[5])})
    response = gpu.post(gpu._lease("invocations"), message.model_copy(update={"cases": [nothing]}))
    assert response.status_code == 200, response.text
    (told,) = read(f"/api/v1/checks/{check_id}")["suites"][0]["efficiency"]["cases"]
    assert "device_share" not in told["head"]["signs"]


def test_case_that_only_head_has_is_shown_with_what_is_known_of_it(gpu: Gpu, ask: Ask, read: Any) -> None:
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    metric = protocol.MetricDecl(metric="latency_p50", unit="s", better="lower")
    case = protocol.CaseListing(
        benchmark=GEMM.benchmark,
        params=GEMM.params,
        file_digest="f1",
        metrics=[metric],
        units={"flop": FLOP, "bytes": BYTES},
        dtype="torch.bfloat16",
    )
    gpu.prepare([], [case])
    response = gpu.post(gpu._lease("invocations"), gpu.one("head", 0, 2.4e-3))
    assert response.status_code == 200, response.text
    (told,) = read(f"/api/v1/checks/{check_id}")["suites"][0]["efficiency"]["cases"]
    assert (told["base"], told["dtype"]) == (None, "bf16")
    assert told["head"]["roofline"]["share"] == pytest.approx(FLOP / 2.4e-3 / PEAK, rel=2e-3)
    assert "gemm[n=8192] bf16 unclear" in read(f"/checks/{check_id}")


def test_suite_of_which_nothing_is_known_has_no_efficiency(agent: FakeAgent, ask: Ask, read: Any) -> None:
    check_id = ask(settings=SETTINGS.format(devices="cpu-*"))["check"]
    agent.claim()
    listing = protocol.CaseListing(
        benchmark="resize",
        file_digest="f1",
        metrics=[protocol.MetricDecl(metric="latency_p50", unit="s", better="lower")],
    )
    agent.prepare([listing], [listing])
    agent.block(protocol.CaseId(benchmark="resize"), lambda arm, pair: 1e-3)
    (suite,) = read(f"/api/v1/checks/{check_id}")["suites"]
    assert suite["efficiency"] is None
    assert suite["devices"] == []
    assert "Efficiency" not in read(f"/checks/{check_id}")


# --- what cannot be had ---


def test_mfu_of_a_device_without_listed_peaks_is_not_measured_before_any_time_is_spent(
    client: TestClient, worker_token: str, ask: Ask, read: Any
) -> None:
    gpu = Gpu(client, worker_token, device_class="nvidia-h100-mig-1g-10gb", hardware_id="MIG-1")
    gpu.model = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    assert gpu.register().status_code == 200
    check_id = ask(settings=KERNELS)["check"]
    gpu.claim()
    gpu.prepare_case()
    mfu = case_of(read(f"/api/v1/checks/{check_id}"), "mfu")
    assert (mfu["verdict"], mfu["gating"]) == ("not_measured", True)
    assert mfu["reason"].startswith('unknown_peak: "NVIDIA H100 80GB HBM3 MIG 1g.10gb" is a MIG instance')
    assert "the device's peak is not known" in read(f"/checks/{check_id}")
    watts = {"base": 500.0, "head": 500.0}
    assert not gpu.measure(wobbling(2.4e-3, 2.4e-3), watts=watts).open
    assert gpu.pairs < 10


def test_gate_on_mfu_does_not_hold_for_a_case_that_declares_no_flop(gpu: Gpu, ask: Ask, read: Any) -> None:
    gate = KERNELS.replace('gate = ["mfu"]', 'gate = ["latency_p50", "mfu"]')
    check_id = ask(settings=gate)["check"]
    gpu.claim()
    gpu.prepare_case(units={"samples": SAMPLES})
    (suite,) = read(f"/api/v1/checks/{check_id}")["suites"]
    assert [case["metric"] for case in suite["cases"] if case["gating"]] == ["latency_p50"]
    assert "mfu" not in {case["metric"] for case in suite["cases"]}


def test_cost_that_a_budget_limits_without_a_price_says_what_is_missing(
    gpu: Gpu, ask: Ask, read: Any
) -> None:
    settings = KERNELS.replace("nvidia-h100-*", "nvidia-b200-*").replace(
        'metric = "mfu"\nmin = "0.4"', 'metric = "cost_per_sample"\nmax = "0.1 EUR"'
    )
    check_id = ask(settings=settings)["check"]
    gpu.claim()
    gpu.prepare_case()
    cost = case_of(read(f"/api/v1/checks/{check_id}"), "cost_per_sample")
    assert (cost["verdict"], cost["reason"]) == ("not_measured", f"no_price: no [prices] entry fits {H100}")


def test_device_classes_are_compared_by_what_runs_measured_at_the_price_that_has_landed(
    service: Service, client: TestClient, admin_token: str, gpu: Gpu, ask: Ask, read: Any
) -> None:
    for base, head in (("a" * 40, "b" * 40), ("b" * 40, "c" * 40)):
        ask(settings=KERNELS, base={"sha": base}, head={"sha": head})
        gpu.claim()
        gpu.prepare_case()
        gpu.pairs = 0
        assert not gpu.measure(lambda arm, pair: 2e-3, watts={"base": 400.0, "head": 400.0}).open
        assert gpu.finish().status_code == 200
    slower = posted_result("gemm", [8.0, 8.0], params=GEMM.params, version="f1")
    document = posted_document(slower, project="acme/kernels", commit="b" * 40, device_class="nvidia-l4")
    assert post_results(client, admin_token, document).status_code == 201
    deliver(service)

    told = read(f"/api/v1/compare?project=acme/kernels&base=nvidia-l4&head={H100}")["hardware"]
    assert told["head"]["price"] == {
        "hour": 2.49,
        "currency": "EUR",
        "day": "2026-11-01",
        "devices": "nvidia-h100-*",
    }
    assert told["base"]["why"] == "no [prices] entry fits nvidia-l4"
    (case,) = told["cases"]
    assert case["performance"]["ratio"] == pytest.approx(4.0)
    energy, work, cost = (case[name]["head"] for name in ("energy", "perf_per_watt", "cost"))
    assert (energy["value"], energy["source"]) == (pytest.approx(0.8), "energy_counter")
    assert (work["value"], work["unit"]) == (pytest.approx(SAMPLES / 0.8), "samples/J")
    assert (cost["value"], cost["per"]) == (pytest.approx(1e6 * 2e-3 / 3600 * 2.49), "million iterations")
    assert case["cost"]["why"] == ["base: no price is known"]
