"""Checks of suites that say what they work off, on a device with known peaks: values made by the real formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app.accelerators.lookup import figures_of
from app.analysis.efficiency.bottleneck import Signs, classify
from app.analysis.efficiency.cost import cost_per_sample, price_of
from app.analysis.efficiency.energy import energy_per_iter
from app.analysis.efficiency.roofline import roofline
from app.analysis.efficiency.utilisation import bandwidth_util, mfu
from app.domain.derived import Derived, Given
from app.domain.efficiency import (
    Activity,
    ArmEfficiency,
    CaseEfficiency,
    Evidence,
    Peak,
    Place,
    SuiteEfficiency,
)
from app.domain.results import CaseVerdict, CheckResult
from app.domain.verdicts import Conclusion, Verdict
from tests.factories import results

H100 = figures_of("NVIDIA H100 80GB HBM3")
BF16, BANDWIDTH = H100.peak("bf16"), H100.bandwidth()
DEVICES = Given(1, "1", "devices of the lease")
PRICE = price_of(2.49, "EUR", "2026-11-01", "nvidia-h100-*")


def case(
    benchmark: str,
    flop: float,
    moved: float,
    base_s: float,
    head_s: float,
    *,
    params: dict[str, Any] | None = None,
    head_watched: dict[str, float] | None = None,
    verdict: Verdict = Verdict.REGRESSED,
    peak: Given = BF16,
    joules: tuple[float, float] | None = None,
) -> tuple[list[CaseVerdict], CaseEfficiency]:
    """A case by its work and both arms' times: its results, and what is known of its efficiency."""
    params = params or {}
    work = {"flop": flop, "bytes": moved}
    arms = {"base": base_s, "head": head_s}
    made: dict[str, Callable[[str], Derived]] = {
        "mfu": lambda arm: mfu(_flop(work), _time(arms[arm]), DEVICES, peak),
        "bandwidth_util": lambda arm: bandwidth_util(_bytes(work), _time(arms[arm]), BANDWIDTH, DEVICES),
        "cost_per_sample": lambda arm: cost_per_sample(
            PRICE, DEVICES, Given(64 / arms[arm], "samples/s", "units()['samples'] / time")
        ),
    }
    if joules:
        drawn = dict(zip(arms, joules, strict=True))
        made["energy_per_iter"] = lambda arm: energy_per_iter(
            Given(4000 * drawn[arm], "J", "the devices' energy between first and last call"),
            Given(4000, "1", "calls under the clock"),
            Given(4000 * arms[arm], "s", "first to last call under the clock"),
        )
    rows = [
        _verdict(benchmark, params, metric, {arm: make(arm) for arm in arms}, verdict)
        for metric, make in made.items()
    ]
    watched = {"util": 0.97, "power_throttle_share": 0.02, "clock_share": 0.99}
    of_arm = {"base": watched, "head": watched | (head_watched or {})}
    base, head = (_arm(rows, arm, work, peak, arms[arm], of_arm[arm]) for arm in arms)
    return rows, CaseEfficiency(benchmark, params, "bf16", base, head)


def _flop(work: dict[str, float]) -> Given:
    return Given(work["flop"], "FLOP", "units()['flop'] of the benchmark")


def _bytes(work: dict[str, float]) -> Given:
    return Given(work["bytes"], "B", "units()['bytes'] of the benchmark")


def _time(seconds: float) -> Given:
    return Given(seconds, "s", "mean time of a call under the clock")


def _verdict(
    benchmark: str, params: dict[str, Any], metric: str, made: dict[str, Derived], verdict: Verdict
) -> CaseVerdict:
    base, head = made["base"].value, made["head"].value
    assert base is not None
    assert head is not None
    better = "lower" if metric.startswith(("energy", "cost")) else "higher"
    is_worse = head < base if better == "higher" else head > base
    unit = {"cost_per_sample": "EUR", "energy_per_iter": "J"}.get(metric, "1")
    return CaseVerdict(
        benchmark, params, metric, unit, better, metric == "mfu", verdict if metric == "mfu" else Verdict.NO_REGRESSION,
        change=head / base - 1, worse=is_worse, ci_low=head / base - 1.005, ci_high=head / base - 0.995,
        ci_level=0.99, n_pairs=12, grade="B", base_geomean=base, head_geomean=head, base_median=base, head_median=head,
        exploratory=metric != "mfu", provenance={arm: derived.document() for arm, derived in made.items()},
    )  # fmt: skip


def _arm(
    rows: list[CaseVerdict],
    arm: str,
    work: dict[str, float],
    peak: Given,
    seconds: float,
    watched: dict[str, float],
) -> ArmEfficiency:
    roof = roofline(_flop(work), _bytes(work), _time(seconds), peak, BANDWIDTH, DEVICES)
    levels = {row.metric: row.level(arm) for row in rows if row.metric in ("mfu", "bandwidth_util")}
    signs = {**watched, **levels, "intensity": roof.intensity.value, "ridge": roof.ridge.value}
    found = classify(Signs(**signs))
    evidence = tuple(
        Evidence(one.name, one.value, one.text, one.kind and one.kind.value, one.is_decisive)
        for one in found.findings
    )
    return ArmEfficiency(
        found.kind.value,
        tuple(kind.value for kind in found.also),
        evidence,
        tuple(note.text for note in found.missing),
        signs,
        Place(roof.intensity.value, roof.achieved.value, roof.share.value),
    )


def suite_efficiency(*cases: CaseEfficiency, peak: Given = BF16, **fields: Any) -> SuiteEfficiency:
    """The efficiency of a suite on one H100."""
    given: dict[str, Any] = {
        "peaks": (Peak("bf16", peak.value, peak.origin, peak.is_verified),),
        "bandwidth": Peak("memory", BANDWIDTH.value, BANDWIDTH.origin, BANDWIDTH.is_verified),
    }
    return SuiteEfficiency("H100-SXM (1 GPU)", cases, **(given | fields))


def efficient(*, peak: Given = BF16, activity: bool = True) -> CheckResult:
    """Three cases: one that a power limit holds back on head, one under the memory's roof, one under no roof."""
    found = [
        case(
            "gemm", 2 * 8192**3, 6 * 8192**2, 1.55e-3, 1.79e-3, params={"n": 8192, "dtype": "bf16"}, peak=peak,
            head_watched={"power_throttle_share": 0.83, "clock_share": 0.86}, joules=(1.05, 1.22),
        ),
        case(
            "layer_norm", 9.4e8, 5.4e8, 2.11e-4, 2.12e-4, params={"rows": 16384}, peak=peak,
            verdict=Verdict.NO_REGRESSION,
        ),
        case(
            "attention", 1.1e11, 2.7e8, 4.1e-4, 3.9e-4, params={"heads": 16, "seq": 2048}, peak=peak,
            verdict=Verdict.NO_REGRESSION, head_watched={"util": 0.96},
        ),
    ]  # fmt: skip
    rows = [row for of_case, _ in found for row in of_case]
    told = (
        Activity("GPU-1", "sm_active", 0.91, "1"),
        Activity("GPU-1", "tensor_active", 0.44, "1"),
        Activity("GPU-1", "pcie_tx_b_s", 2.1e8, "B/s"),
    )
    efficiency = suite_efficiency(*(one for _, one in found), peak=peak, activity=told if activity else ())
    latency = results.measured("gemm", 0.14, params={"n": 8192, "dtype": "bf16"}, level=1.55e-3, m=4)
    job = results.suite(
        latency, *rows, name="kernels", device_class="nvidia-h100-sxm-80gb", efficiency=efficiency
    )
    return results.check(Conclusion.REGRESSED, job)


def hostile() -> CheckResult:
    """Names and origins that try to break out of a page."""
    script = "<script>alert(1)</script>"
    rows, found = case("x" * 200, 2e12, 4e8, 3e-3, 3.3e-3, params={script: "'\"&<"})
    peak = Peak("bf16", 989e12, script)
    for row in rows:
        for document in (row.provenance or {}).values():
            document["inputs"][-1]["origin"] = script
            document["notes"] = [{"code": "odd", "text": script}]
    assert found.head is not None
    head = replace(found.head, missing=(script,), bottleneck=script)
    told = SuiteEfficiency(
        script,
        (replace(found, head=head, dtype=script),),
        (peak,),
        None,
        script,
        (Activity(script, script, 1.0, script),),
    )
    return results.check(Conclusion.REGRESSED, results.suite(*rows, name=script, efficiency=told))


def many(count: int) -> CheckResult:
    """As many cases, each with everything that can be told."""
    rows, cases = case("gemm", 2e12, 4e8, 3e-3, 3.3e-3, joules=(1.0, 1.2))
    named = [f"gemm_{number:03}" for number in range(count)]
    every = [replace(row, benchmark=one) for one in named for row in rows]
    return results.check(
        Conclusion.REGRESSED,
        results.suite(*every, efficiency=suite_efficiency(*(replace(cases, benchmark=one) for one in named))),
    )
