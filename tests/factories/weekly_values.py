"""Values of a made-up week, as the services return them: a full one, and names that mean harm."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from app.analysis.efficiency.advice import advice
from app.analysis.efficiency.hardware import compare_hardware
from app.domain.alerts import AlertState
from app.domain.device_use import Drawn
from app.domain.hardware import HardwareSide, Measured, MeasuredCase, Price
from app.domain.weekly import Money
from app.domain.weekly_alerts import AlertsWeek, OpenAlert, Rate, WorstChange
from app.domain.weekly_bottlenecks import CaseBottleneck
from app.domain.weekly_fleet import (
    Activity,
    ClassWeek,
    DeviceWeek,
    Energy,
    FleetWeek,
    Part,
    Queue,
    Spoiled,
    Unheld,
    Use,
    Waits,
    Watched,
)
from app.domain.weekly_hardware import HardwareWeek
from app.domain.weekly_scaling import ScalingCase
from app.services.read_efficiency import arm_efficiency

BASE = "https://ratchet.example.org"
NOW = datetime(2026, 11, 23, 6, 0, tzinfo=UTC)
HOSTILE = '"><script>alert(1)</script>\u202e{{ 7*7 }}\x1b[31m' + "x" * 300
HOUR = 3600.0
PEAKS = {"fp32": 67e12, "bf16": 989e12, "fp16": 989e12, "fp8": 1979e12}


def unheld(used: float, idle: float, unknown: float, price: float = 4.0) -> Unheld:
    """Hours that nobody held; a GPU at rest draws 70 W, and energy is told of all of them but one hour."""
    used_part, idle_part, unknown_part = (
        Part(hours * HOUR, Money(price * hours, "EUR")) for hours in (used, idle, unknown)
    )
    idle_j = 70.0 * (idle - 1) * HOUR
    return Unheld(
        used_part,
        idle_part,
        unknown_part,
        0.61 * used * HOUR,
        Drawn(4 * idle_j, 4 * idle_j, 4 * idle_j, (used + idle) * HOUR, is_counted=True),
        Drawn(idle_j, idle_j, idle_j, (idle - 1) * HOUR, is_counted=True),
        Money(idle_j / 3.6e6 * 1.2 * 0.25, "EUR"),
    )


def device(n: int, *, device_class: str = "nvidia-h100-80gb-hbm3", **fields: Any) -> DeviceWeek:
    """A device of a week."""
    given: dict[str, Any] = {
        "hardware_id": f"GPU-6c5f3a1e-{n:04d}", "worker": f"bench-{n:02d}", "health": "good", "grade": "A",
        "there_s": 168 * HOUR, "held_s": (20 + 8 * n) % 160 * HOUR,
    }  # fmt: skip
    if "unheld" not in given | fields and device_class.startswith("nvidia"):
        rest = 168 - given["held_s"] / HOUR
        given["unheld"] = unheld(0.4 * rest, 0.5 * rest, 0.1 * rest)
    return DeviceWeek(device_id=n, device_class=device_class, **(given | fields))


def fleet(name: str = "acme/vision", n_devices: int = 16) -> FleetWeek:
    """A fleet with something in every row."""
    devices = [device(n) for n in range(n_devices)]
    devices.append(
        device(
            90, device_class="cpu-epyc-9554-64c", health="quarantined", grade=None, held_s=0.0,
            quarantined_at=NOW - timedelta(days=3), why="gemm of its control took 12.4 ms, 10.1 ms is usual (+23 %)",
        )
    )  # fmt: skip
    gpu = ClassWeek(
        "nvidia-h100-80gb-hbm3", n_devices, 700 * HOUR, 2688 * HOUR, 988 * HOUR, Money(3952.0, "EUR"),
        Money(2800.0, "EUR"), Waits(212, 64.0, 1900.0), Queue(4, NOW - timedelta(hours=2)), Activity(0.62, 0.21, 40),
        unheld(900.0, 988.0, 100.0),
    )  # fmt: skip
    cpu = ClassWeek("cpu-epyc-9554-64c", 1, 0.0, 168 * HOUR, 168 * HOUR)
    suites = [
        Use(name, f"suite-{n}", (300 / (n + 1)) * HOUR, (Money(1200 / (n + 1), "EUR"),)) for n in range(11)
    ]
    purposes = [
        Use("", what, held * HOUR, (Money(4 * held, "EUR"),), 2 * HOUR if what == "manual" else 0.0)
        for what, held in (("pull_request", 520.0), ("push", 110.0), ("self_check", 40.0), ("manual", 30.0))
    ]
    return FleetWeek(
        is_whole=True,
        classes=(gpu, cpu),
        devices=tuple(sorted(devices, key=lambda its: -its.idle_s)),
        suites=(*suites, Use("", "", 60 * HOUR, (Money(240.0, "EUR"),))),
        purposes=tuple(purposes),
        retired_s=3 * HOUR,
        outcomes={"ok": 402, "contaminated": 9, "infra_failed": 7, "lost": 2, "bench_failed": 12},
        reasons=(("foreign_process", 9), ("worker_lost", 2)),
        spoiled=Spoiled(310, 18_400, 290, 432),
        energy=Energy(1.6e9, 1.5e9, 1.7e9, 410 * HOUR, 690 * HOUR, 290, 432, is_counted=True),
        energy_cost=Money(133.0, "EUR"),
        pue=1.2,
        watched=Watched(15, 16, None),
        drawn_cost=Money(82.91, "EUR"),
        drawn_idle_cost=Money(20.73, "EUR"),
    )


def by_leases(reason: str | None = None) -> FleetWeek:
    """The same where leases alone tell, for the reason that is given; or where nobody was asked."""
    week = fleet()
    classes = (
        replace(
            week.classes[0],
            unheld=None,
            idle_s=1988 * HOUR,
            idle_cost=Money(7952.0, "EUR"),
        ),
        week.classes[1],
    )
    return replace(
        week,
        classes=classes,
        devices=tuple(replace(its, unheld=None) for its in week.devices),
        watched=Watched(0, 0, reason) if reason else None,
        drawn_cost=None,
        drawn_idle_cost=None,
    )


def case(
    n: int, benchmark: str = "decode", *, project: str = "acme/vision", **signs: float
) -> CaseBottleneck:
    """A case with these signs, and the advice that follows."""
    found = arm_efficiency(dict(signs))
    return CaseBottleneck(
        project=project,
        benchmark=benchmark,
        params={"batch": 2**n, "dtype": "bf16"},
        device_class="nvidia-h100-80gb-hbm3",
        commit="c0ffee" * 6 + "abcd",
        at=NOW - timedelta(days=3),
        run=str(700 + n),
        series={name: 30 + n for name in signs},
        dtype="bf16",
        found=found,
        has_timings=n % 2 == 0,
        advice=advice((found.bottleneck, *found.also), signs, dtype="bf16", peaks=PEAKS),
    )


def cases(project: str = "acme/vision", benchmark: str = "decode") -> tuple[CaseBottleneck, ...]:
    """Cases of every class."""
    signs: list[dict[str, float]] = [
        {"input_wait_share": 0.34, "mfu": 0.21},
        {"comm_share": 0.27, "mfu": 0.33, "bandwidth_util": 0.2},
        {"util": 0.55, "sm_active": 0.2, "mfu": 0.08},
        {"power_throttle_share": 0.8, "clock_share": 0.85, "mfu": 0.45},
        {"tensor_active": 0.04, "mfu": 0.06, "bandwidth_util": 0.11},
        {"bandwidth_util": 0.71, "mfu": 0.12},
        {"mfu": 0.74},
        {"sm_active": 0.9},
        *({"mfu": 0.1 + 0.02 * n} for n in range(8)),
    ]
    return tuple(case(n, benchmark, project=project, **its) for n, its in enumerate(signs))


def measured(metric: str, unit: str, value: float, better: str = "higher") -> Measured:
    """A stored number on one device."""
    return Measured(metric, unit, better, value, value * 0.99, value * 1.01, 5, "12", "c" * 40, devices=1)


def hardware(
    project: str = "acme/vision", other: str = "nvidia-h200-141gb-hbm3e"
) -> tuple[HardwareWeek, ...]:
    """Two classes against a reference, which both have in common with it."""
    price = Price(4.0, "EUR", "2026-10-01", "nvidia-*")
    base = HardwareSide("nvidia-h100-80gb-hbm3", price)

    def against(name: str, times: float, joules: float) -> Any:
        its = [
            MeasuredCase(
                f"decode{n}",
                {},
                (measured("tokens_per_s", "tokens/s", 1e4), measured("energy_per_iter", "J", 350.0, "lower")),
                (
                    measured("tokens_per_s", "tokens/s", 1e4 * times),
                    measured("energy_per_iter", "J", joules, "lower"),
                ),
            )
            for n in range(6)
        ]
        return compare_hardware(base, HardwareSide(name, price), its)

    compared = (against(other, 1.62, 260.0), against("nvidia-l4", 0.21, 347.0))
    return (HardwareWeek(project, base.device_class, 14, compared, 2),)


def scaling(benchmark: str = "train_step") -> tuple[ScalingCase, ...]:
    """Series of scaling efficiency, the worst first."""
    values = ((0.61, 0.83, 64), (0.88, 0.88, 16), (0.97, None, None))
    return tuple(
        ScalingCase(
            "acme/vision", benchmark, {"n": n}, "nvidia-h100-80gb-hbm3", 50 + n, now, now - 0.02, now + 0.03, last,
            devices, str(80 + n), "c" * 40,
        )
        for n, (now, last, devices) in enumerate(values)
    )  # fmt: skip


def alerts(benchmark: str = "resize", owner: str = "ann") -> AlertsWeek:
    """Open and closed alerts."""
    oldest = (
        OpenAlert(
            3, "acme/vision", AlertState.INVESTIGATING, owner, NOW - timedelta(days=120), 4,
            WorstChange(benchmark, {"batch": 8}, "latency_p50", 0.36), None,
        ),
        OpenAlert(9, "acme/vision", AlertState.NEW, None, NOW - timedelta(days=40), 0, None, "regressed: crop +8 %"),
        OpenAlert(11, "acme/speech", AlertState.NEW, None, NOW - timedelta(hours=5), 0, None, None),
    )  # fmt: skip
    return AlertsWeek(
        ages={AlertState.NEW: (4, 2, 0, 1, 0), AlertState.INVESTIGATING: (0, 0, 1, 0, 1)},
        n_unowned=6,
        oldest=oldest,
        opened=6,
        reopened=1,
        closed={AlertState.FIXED: 3, AlertState.NOISE: 1},
        precision=Rate(18, 20, 0.9, 0.699, 0.972),
        recall=Rate(18, 19, 0.947, 0.754, 0.991),
        now=NOW,
    )
