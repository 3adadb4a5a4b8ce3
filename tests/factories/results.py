"""Checks as a service would assemble them, for tests of everything that shows one.

Samples are drawn from a seeded generator and judged with the interval of the sequential rule, so that medians,
looks, intervals and verdicts agree with each other as real ones do.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean, geometric_mean, median, stdev
from typing import Any, Literal

from app.domain.results import (
    CaseVerdict,
    CheckResult,
    CommitRef,
    Estimate,
    Look,
    Params,
    SuiteResult,
    VoidPair,
    Written,
)
from app.domain.verdicts import Conclusion, Verdict

BASE = CommitRef(
    "4f1d2c9ab07e6d5583b1c2ef90a4477d1e6c3b58",
    "Merge branch 'faster-tokenizer'",
    "Ada Byron",
    datetime(2026, 11, 18, 9, 12, tzinfo=UTC),
)
HEAD = CommitRef(
    "b83e07d1c45f92a6600dfe1378c2b9aa5d04e7c1",
    "Normalise images before batching",
    "Grace Murray",
    datetime(2026, 11, 20, 16, 40, tzinfo=UTC),
)
ENVIRONMENT = {
    "device": "Intel Xeon Platinum 8488C",
    "kernel": "6.8.0-49-generic",
    "clock policy": "performance, turbo off",
    "python": "3.11.7",
    "numpy": "2.1.3",
    "worker": "bench-01",
}
ALPHA, TAU0, TAU, PRIOR = 0.01, 0.005, 0.02, 4.0


def half_width(effects: list[float], level: float) -> float:
    """The half-width of the rule's interval over pairwise effects (measurement page, section 6)."""
    n = len(effects)
    a = 1 + n * PRIOR
    k = (math.sqrt(a) / level) ** (2 / n)
    if k >= a:
        return math.inf
    return stdev(effects) / math.sqrt(n) * math.sqrt((n - 1) * (k - 1) / (1 - k / a))


def judged(effects: list[float], m: int, better: str = "lower") -> dict[str, Any]:
    """Verdict, change and interval after these pairs, as the fields of a `CaseVerdict`."""
    mean, h, h_pass = fmean(effects), half_width(effects, ALPHA / m), half_width(effects, 0.05)
    verdict = Verdict.INCONCLUSIVE
    if mean - h > TAU0:
        verdict = Verdict.REGRESSED
    elif mean + h < -TAU0:
        verdict = Verdict.IMPROVED
    elif mean + h_pass < TAU:
        verdict = Verdict.NO_REGRESSION
    low, high = (mean - h, mean + h) if better == "lower" else (-mean - h, -mean + h)
    hidden = math.expm1(max(0.0, mean + h_pass)) if math.isfinite(h_pass) else None
    return {
        "verdict": verdict,
        "change": math.expm1(mean if better == "lower" else -mean),
        "worse": mean > 0,
        "ci_low": math.expm1(low) if math.isfinite(h) else None,
        "ci_high": math.expm1(high) if math.isfinite(h) else None,
        "ci_level": 1 - ALPHA / m,
        "could_hide": hidden if verdict is Verdict.INCONCLUSIVE else None,
        "bound_pass": _bound(mean + h_pass, better),
    }


def measured(
    benchmark: str,
    effect: float,
    *,
    params: Params | None = None,
    metric: str = "latency_p50",
    unit: str = "s",
    better: Literal["lower", "higher"] = "lower",
    level: float = 0.0124,
    noise: float = 0.004,
    pairs: int = 12,
    m: int = 48,
    void: tuple[int, ...] = (),
    seed: int = 1,
    **fields: Any,
) -> CaseVerdict:
    """A case measured over `pairs` valid pairs with a true `effect` (ln units, positive = worse)."""
    draw = random.Random(f"{benchmark}{params}{metric}{seed}")
    sign = 1.0 if better == "lower" else -1.0
    estimates, effects, looks = [], [], []
    for pair in range(pairs + len(void)):
        drift = draw.gauss(0, noise)
        arms = {
            "base": level * math.exp(drift + draw.gauss(0, noise)),
            "head": level * math.exp(sign * effect + drift + draw.gauss(0, noise)),
        }
        order = ("base", "head") if pair % 4 in (0, 3) else ("head", "base")
        for place, arm in enumerate(order):
            spoilt = pair in void
            value = arms[arm] * (1.06 if spoilt else 1.0)
            reason = "foreign_process" if spoilt else None
            estimates.append(Estimate(pair, arm, pair % 2 * 2 + place, value, spoilt, reason))
        if pair not in void:
            effects.append(sign * math.log(arms["head"] / arms["base"]))
        if len(effects) >= 4 and len(effects) % 2 == 0 and pair not in void:
            seen = judged(effects, m, better)
            looks.append(
                Look(len(effects), *(seen[name] for name in ("change", "ci_low", "ci_high", "bound_pass")))
            )
    found: dict[str, Any] = judged(effects, m, better) if len(effects) > 1 else {"verdict": None}
    found |= {
        "base_median": _median(estimates, "base"),
        "head_median": _median(estimates, "head"),
        "base_geomean": _geomean(estimates, "base"),
        "head_geomean": _geomean(estimates, "head"),
        "sigma_pair": stdev(effects) if len(effects) > 1 else None,
        "n_pairs": len(effects),
        "n_void": len(void),
        "device_s": 1.9 * len(effects),
        "grade": "B",
    }
    return CaseVerdict(
        benchmark,
        params or {},
        metric,
        unit,
        better,
        fields.pop("gating", True),
        estimates=tuple(estimates),
        looks=tuple(looks),
        **(found | fields),
    )


def exact(
    benchmark: str, base: float, head: float, *, params: Params | None = None, **fields: Any
) -> CaseVerdict:
    """A deterministic metric, peak memory: compared exactly, without an interval."""
    change = head / base - 1
    verdict = Verdict.REGRESSED if change > TAU else Verdict.NO_REGRESSION
    given = {
        "change": change,
        "worse": change > 0,
        "verdict": verdict,
        "n_pairs": 4,
        "kind": "exact",
        "base_median": base,
        "head_median": head,
        "grade": "B",
    }
    return CaseVerdict(
        benchmark, params or {}, "peak_memory", "B", "lower", fields.pop("gating", True), **(given | fields)
    )


def untold(benchmark: str, verdict: Verdict | None, **fields: Any) -> CaseVerdict:
    """A case that has no change to show."""
    return CaseVerdict(
        benchmark,
        fields.pop("params", {}),
        "latency_p50",
        "s",
        "lower",
        fields.pop("gating", True),
        verdict,
        **fields,
    )


def suite(*cases: CaseVerdict, name: str = "inference", **fields: Any) -> SuiteResult:
    """A job that ran to its end on a CPU worker."""
    given: dict[str, Any] = {
        "device_class": "cpu-xeon-platinum-8488c-8t",
        "state": "succeeded",
        "job": 31,
        "run": 17,
        "worker": "bench-01",
        "environment": ENVIRONMENT,
        "pairs_done": max((case.n_pairs for case in cases), default=0),
        "device_s": 492.0,
        "budget_s": 1200.0,
        "started_at": datetime(2026, 11, 21, 11, 20, tzinfo=UTC),
        "finished_at": datetime(2026, 11, 21, 11, 28, tzinfo=UTC),
    }
    return SuiteResult(name, cases=cases, **(given | fields))


def check(conclusion: Conclusion | None, *suites: SuiteResult, **fields: Any) -> CheckResult:
    """A check of the two example commits."""
    given: dict[str, Any] = {
        "id": 12,
        "project": "acme/vision",
        "base": BASE,
        "head": HEAD,
        "state": "complete" if conclusion else "running",
        "alpha": ALPHA,
        "minimum_effect": TAU0,
        "tolerance": TAU,
        "created_at": datetime(2026, 11, 21, 11, 19, tzinfo=UTC),
        "concluded_at": datetime(2026, 11, 21, 11, 28, tzinfo=UTC) if conclusion else None,
        "reproduce": f"ratchet check --repo . --base {BASE.sha[:12]} --head {HEAD.sha[:12]} --suite inference",
    }
    return CheckResult(suites=suites, conclusion=conclusion, **(given | fields))


def grid(count: int, **fields: Any) -> list[CaseVerdict]:
    """Neutral cases over a grid of parameters."""
    models = ["resnet50", "bert", "vit", "whisper", "unet"]
    cases = []
    for index in range(count):
        params: Params = {"batch": 2 ** (index // 10 % 6), "dtype": ("fp32", "bf16")[index // 5 % 2]}
        if index >= 60:
            params["seq"] = 128 * (index // 60)
        cases.append(measured(models[index % 5], 0.0, params=params, level=0.001 * (index + 2), **fields))
    return cases


def passed() -> CheckResult:
    """Forty-eight quiet results, and some exploratory ones."""
    shown = [
        measured("bert", 0.001, metric=f"latency_p{q}", gating=False, exploratory=True, m=1) for q in (90, 99)
    ]
    return check(Conclusion.PASSED, suite(*_all(grid(48, noise=0.003), Verdict.NO_REGRESSION), *shown))


def improved() -> CheckResult:
    """Two cases faster, the rest as before."""
    faster = [
        measured("resize", -0.42, params={"batch": 32}, m=12, pairs=6),
        measured(
            "tokenize",
            -0.06,
            metric="tokens_per_s",
            unit="tokens/s",
            better="higher",
            level=48_200,
            m=12,
            pairs=6,
        ),
    ]
    return check(Conclusion.PASSED, suite(*faster, *_all(grid(10, noise=0.003, m=12), Verdict.NO_REGRESSION)))


def regressed() -> CheckResult:
    """Eight gating results of every kind, software that differs, void pairs and exploratory metrics."""
    few = {"m": 8}
    cases = [
        measured(
            "bert", 0.059, params={"batch": 32, "dtype": "bf16"}, pairs=6, noise=0.003, void=(3,), **few
        ),
        measured("resize", 0.31, params={"batch": 8}, level=0.00083, pairs=6, noise=0.004, **few),
        measured("decode", 0.012, params={"seq": 512}, noise=0.014, pairs=24, level=0.21, void=(5, 9), **few),
        measured(
            "tokenize",
            -0.09,
            metric="tokens_per_s",
            unit="tokens/s",
            better="higher",
            level=48_200,
            pairs=6,
            **few,
        ),
        measured("bert", 0.001, params={"batch": 1, "dtype": "bf16"}, noise=0.003, level=0.0031, **few),
        exact("bert", 1_288_490_188.0, 1_288_752_332.0, params={"batch": 32, "dtype": "bf16"}),
        untold("flash_attention", Verdict.NEW, params={"heads": 16}),
        measured(
            "vit",
            0.002,
            noise=0.003,
            level=0.044,
            flags=("benchmark_changed",),
            attribution=("power_cap",),
            **few,
        ),
    ]
    shown = {"gating": False, "exploratory": True, "m": 1}
    cases += [
        measured(
            "bert",
            0.055,
            params={"batch": 32, "dtype": "bf16"},
            metric="latency_p99",
            level=0.0169,
            noise=0.02,
            **shown,
        ),
        measured(
            "bert",
            -0.001,
            params={"batch": 32},
            metric="samples_per_s",
            unit="samples/s",
            better="higher",
            level=2500,
            **shown,
        ),
        measured("vit", 0.001, metric="startup_s", level=1.42, **shown),
    ]
    flagged = tuple(replace(case, flags=(*case.flags, "control_unavailable")) for case in cases)
    job = suite(
        *flagged,
        software_changes=(
            ("torch", "2.5.0", "2.5.1"),
            ("pillow", "11.0.0", None),
            ("pillow-simd", None, "9.5.0"),
        ),
        void_pairs=(
            VoidPair(3, "foreign_process", "base"),
            VoidPair(5, "host", "head"),
            VoidPair(9, "host", "base"),
        ),
    )
    return check(Conclusion.REGRESSED, job)


def over_budget() -> CheckResult:
    """One result over a budget that base kept, one over a budget that base breaks as well."""
    cases = [
        measured("serving", 0.09, metric="latency_p99", level=0.047, m=2, flags=("budget",)),
        measured(
            "search", 0.001, metric="latency_p99", level=0.081, m=2, noise=0.002, flags=("already_broken",)
        ),
    ]
    return check(Conclusion.REGRESSED, suite(*cases))


def inconclusive() -> CheckResult:
    """A noisy machine on which the device time ran out, with one case that excludes nothing."""
    noisy = [
        measured(
            "serve", 0.01, params={"clients": n}, noise=0.05, pairs=16, m=6, grade="C", reason="device_time"
        )
        for n in (1, 8, 64)
    ]
    barely = measured("coldstart", 0.02, noise=0.03, pairs=2, m=6, grade="C", level=2.4)
    return check(Conclusion.INCONCLUSIVE, suite(*noisy, barely, *_all(grid(2, m=6), Verdict.NO_REGRESSION)))


def no_capacity() -> CheckResult:
    """No worker has the device class that the suite asks for."""
    job = suite(
        device_class="nvidia-h100-sxm5-80gb",
        state="no_capacity",
        reason="no_capacity: no live worker has a device of class nvidia-h100-sxm5-80gb; connected now: cpu-8t",
        worker=None,
        environment={},
        device_s=0.0,
        started_at=None,
    )
    return check(Conclusion.NOT_MEASURED, job)


def failing() -> CheckResult:
    """Two cases break on head with one error, one breaks on base."""
    log = 'Traceback (most recent call last):\n  File "bench_resize.py", line 12, in run\n    resize(ctx.state)\n'
    log += "TypeError: resize() missing 1 required positional argument: 'mode'"
    broken = [
        untold(
            "resize", Verdict.HEAD_FAILS, params={"batch": n}, reason="failed: exit status 1", log_tail=log
        )
        for n in (8, 32)
    ]
    reverse = untold("legacy", Verdict.BASE_FAILS, reason="failed: exit status 3", log_tail="no such model\n")
    return check(Conclusion.REGRESSED, suite(*broken, reverse, *_all(grid(3, m=6), Verdict.NO_REGRESSION)))


def running() -> CheckResult:
    """Half-way: some cases are settled, the others still open; a second job waits."""
    settled = _all(grid(3, m=8), Verdict.NO_REGRESSION)
    still = [
        replace(measured("bert", 0.01, params={"batch": n}, noise=0.02, pairs=6, m=8), verdict=None)
        for n in (1, 2)
    ]
    job = suite(*settled, *still, state="running", phase="measuring", finished_at=None)
    waiting = suite(
        device_class="jetson-orin-agx-64gb",
        state="queued",
        worker=None,
        started_at=None,
        finished_at=None,
        device_s=0.0,
    )
    return check(None, job, waiting)


def queued() -> CheckResult:
    """Nothing has begun."""
    return check(None, suite(state="queued", worker=None, started_at=None, finished_at=None), state="queued")


def empty() -> CheckResult:
    """A check without a suite."""
    return check(Conclusion.NOT_MEASURED, reason="no suite of ratchet.toml runs for this change")


def hostile() -> CheckResult:
    """Names that try to break out of HTML, of a terminal and of a table."""
    script = "<script>alert(1)</script>"
    names = [
        script,
        '"><img src=x onerror=alert(1)>',
        "مقياس-السرعة",
        "🚀🔥 launch",
        "a\x1b[31mred\nline",
        "\u202egnp.exe",
        "x" * 250,
    ]
    cases = [
        measured(name, 0.06, params={script: "'\"&<", "π": float("nan")}, m=7, pairs=6) for name in names
    ]
    cases[0] = replace(
        cases[0], verdict=Verdict.HEAD_FAILS, reason=script, log_tail=f"{script}\x1b]0;title\x07 &amp;"
    )
    job = suite(
        *cases,
        name=script,
        worker=script,
        environment={script: script},
        software_changes=((script, script, None),),
        void_pairs=(VoidPair(1, script, "base"),),
    )
    bad = CommitRef("c" * 40, subject=f"{script} {'y' * 300}", author=script)
    return check(
        Conclusion.REGRESSED, job, project=script, head=bad, reproduce=f"ratchet check --repo '{script}'"
    )


def not_finite() -> CheckResult:
    """Every number that could be NaN or infinite is."""
    nan, inf = float("nan"), float("inf")
    case = untold(
        "odd", Verdict.INCONCLUSIVE, change=nan, ci_low=-inf, ci_high=inf, ci_level=nan, could_hide=inf,
        base_median=nan, head_median=inf, sigma_pair=nan, device_s=nan, params={"x": nan},
        looks=(Look(4, nan, -inf, inf),), estimates=(Estimate(0, "base", 0, nan), Estimate(0, "head", 1, inf)),
    )  # fmt: skip
    return check(Conclusion.INCONCLUSIVE, suite(case, device_s=nan, budget_s=inf))


def large(count: int = 500) -> CheckResult:
    """Many cases, a few of which moved; beyond some hundreds they differ by their parameters alone."""
    distinct = _all(grid(min(count, 500) - 5, m=count, noise=0.003), Verdict.NO_REGRESSION)
    copies = [
        replace(case, params={**case.params, "copy": n}) for n in range(1, count // 500) for case in distinct
    ]
    quiet = [*distinct, *copies]
    moved = [measured("resnet152", 0.05 + 0.02 * n, params={"batch": n}, m=count) for n in range(3)]
    opened = [measured("wav2vec", 0.01, params={"batch": n}, noise=0.03, pairs=40, m=count) for n in range(2)]
    return check(Conclusion.REGRESSED, suite(*quiet, *moved, *opened, device_s=1180.0))


def worst_case(count: int = 500) -> CheckResult:
    """As large as a check gets: all cases regressed over the most pairs, as many others failed, each with a log."""
    one = measured("case", 0.06, m=count, pairs=96)
    cases = [
        replace(one, benchmark=f"case_{n:03}", params={"batch": n, "dtype": "bf16"}) for n in range(count)
    ]
    shown = [replace(case, metric=f"m{n}", gating=False) for case in cases for n in range(2)]
    failed = [
        untold(
            f"broken_{n:03}",
            Verdict.HEAD_FAILS,
            reason="failed",
            log_tail="line of output\n" * 600 + f"error {n}",
        )
        for n in range(count)
    ]
    return check(Conclusion.REGRESSED, suite(*cases, *shown, *failed))


EVERY = {
    make.__name__: make
    for make in (
        passed, improved, regressed, inconclusive, no_capacity, failing, running, queued, empty, hostile, not_finite,
    )
}  # fmt: skip
"""Every kind of check by name, the very large ones excepted."""


def in_files(result: CheckResult) -> CheckResult:
    """The same, every benchmark in a file of its own."""

    def placed(case: CaseVerdict) -> CaseVerdict:
        return replace(case, written=Written(f"benchmarks/bench_{case.benchmark}.py", 3))

    suites = [replace(suite, cases=tuple(map(placed, suite.cases))) for suite in result.suites]
    return replace(result, suites=tuple(suites))


def _all(cases: list[CaseVerdict], verdict: Verdict) -> list[CaseVerdict]:
    return [replace(case, verdict=verdict, could_hide=None) for case in cases]


def _bound(worst: float, better: str) -> float | None:
    return math.expm1(worst if better == "lower" else -worst) if math.isfinite(worst) else None


def _geomean(estimates: list[Estimate], arm: str) -> float:
    return geometric_mean(e.value for e in estimates if e.arm == arm and not e.void)


def _median(estimates: list[Estimate], arm: str) -> float:
    return median(e.value for e in estimates if e.arm == arm and not e.void)
