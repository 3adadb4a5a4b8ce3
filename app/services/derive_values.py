"""Metrics that are made of others: utilisation, energy, cost, of what an invocation measured and what its device is.

Which of them a case has is fixed with its plan; their values are made of each invocation's own, so that they are
judged like any other. Where one comes from (formula, inputs, doubts) is kept with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Protocol

from app.accelerators.lookup import Figures, figures_of
from app.analysis.efficiency.cost import (
    NO_PRICE,
    cost_per_million_tokens,
    cost_per_sample,
    no_price,
    price_of,
)
from app.analysis.efficiency.energy import (
    ENERGY_WINDOW_SHORT,
    MIN_WINDOW_S,
    energy_net_per_iter,
    energy_per_iter,
    perf_per_watt,
)
from app.analysis.efficiency.scaling import scaling_efficiency
from app.analysis.efficiency.utilisation import BEYOND_PEAK, UNKNOWN_PEAK, bandwidth_util, mfu
from app.analysis.efficiency.watched import is_number
from app.domain.derived import NOT_VERIFIED, Derived, Given
from app.domain.metrics import METRICS
from app.domain.results import Better
from app.store.tables import Device, Job
from workers.protocol import CaseListing, CaseMeasurement, MetricDecl, Value

ENERGY = ("energy_per_iter", "energy_net_per_iter", "perf_per_watt")
LEAST_TIMED_S = MIN_WINDOW_S + 0.5
"""How long a case is timed where its energy is wanted: readings come ten a second, and the window lies within them."""

WORK = ("tokens", "samples", "flop")
"""What work per joule is counted in: the first of these that a benchmark declares."""


DOUBTS = {
    BEYOND_PEAK: "beyond_peak",
    NOT_VERIFIED: "peak_not_verified",
    ENERGY_WINDOW_SHORT: "energy_window_short",
}
"""Notes of derived values that are said beside a verdict on them, and the flag that says so."""


@dataclass(frozen=True)
class Circumstances:
    """What a run's derived values rest on besides its measurements."""

    figures: Figures
    devices: Given
    price: Given
    idle_power: Given
    tells_energy: bool


def circumstances(job: Job, devices: Sequence[Device], idle: Sequence[Mapping[str, Any]]) -> Circumstances:
    """Return them for a run of a job on its devices; `idle` are their readings before anything ran."""
    device = devices[0] if devices else None
    figures = figures_of_device(job.device_class, device)
    powers = [reading.get("power_w") for reading in idle]
    known = [watts for watts in powers if is_number(watts)]
    return Circumstances(
        figures=figures,
        devices=Given(len(devices) or 1, "1", "devices of the lease"),
        price=price_for(job),
        idle_power=Given(
            sum(known) if known and len(known) == len(powers) else None,
            "W",
            "read before anything ran" if known else "the device does not tell its power",
        ),
        tells_energy=bool(idle)
        and all(
            is_number(reading.get("energy_j_total")) or is_number(reading.get("power_w")) for reading in idle
        ),
    )


class KnownDevice(Protocol):
    """What tells the figures of a device: its model, its kind and its fingerprint."""

    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def fingerprint(self) -> dict[str, Any]: ...  # noqa: D102


def figures_of_device(device_class: str, device: KnownDevice | None) -> Figures:
    """Return the figures of a device of a class; of one that nobody knows by the name of the class alone."""
    if device is None:
        return figures_of(None, device_class)
    machine, soft = device.fingerprint.get("machine", {}), device.fingerprint.get("soft", {})
    return figures_of(
        device.model,
        device_class,
        memory_b=machine.get("memory_b") if device.kind != "cpu" else None,
        cores=soft.get("cores"),
        partition=machine.get("partition_mode"),
        power_mode=machine.get("power_mode"),
    )


def price_for(job: Job) -> Given:
    """Return the price of one of the job's devices for an hour, as its settings state it."""
    price = stated_price(job.policy, job.device_class)
    if price is None:
        return no_price(job.device_class)
    return price_of(price["hour"], price["currency"], price["date"], price["devices"])


def stated_price(policy: Mapping[str, Any], device_class: str) -> Mapping[str, Any] | None:
    """Return the first of a job's prices that fits a device class: `devices` (the glob), `hour`, `currency`, `date`."""
    prices = policy.get("prices", ())
    return next((price for price in prices if fnmatchcase(device_class, price["devices"])), None)


def wants_energy(metrics: Iterable[str]) -> bool:
    """Tell whether energy is among metrics that somebody named."""
    return any(metric in ENERGY for metric in metrics)


# --- the plan ---------------------------------------------------------------------------------------------------


class Derivable(NamedTuple):
    """A metric that a case may have; `lack` is why this device does not give it, a code and a sentence, else empty."""

    metric: MetricDecl
    lack: str


def derived_metrics(given: Circumstances, case: CaseListing, named: frozenset[str]) -> list[Derivable]:
    """Return the metrics that can be made for a case, and those that a gate or a budget names.

    What a case does not declare the work for is none of its metrics, named or not, as is a metric that it does not
    report. What only the device does not tell is: it is not measured, for a reason that somebody may mend.
    """
    lacks = _lacks(given, case)
    has_time = (case.timed_s or 0.0) >= MIN_WINDOW_S
    wanted = [
        metric
        for metric, lack in lacks.items()
        if metric in named or not (lack or (metric in ENERGY and not has_time))
    ]
    return [Derivable(_declared(metric, given, case.units), lacks[metric]) for metric in wanted]


def _lacks(given: Circumstances, case: CaseListing) -> dict[str, str]:
    """Return the metrics of which the case declares the work, and why each cannot be had, if so."""
    units = case.units
    peak = given.figures.peak(case.dtype) if case.dtype else Given(None, "FLOP/s", "no dtype declared")
    energy = "" if given.tells_energy else "no_energy: the device tells neither energy nor power"
    idle = energy or _lack("no_energy", given.idle_power)
    price = _lack(NO_PRICE, given.price)
    of_work = {
        "mfu": ("flop" in units, _lack(UNKNOWN_PEAK, peak)),
        "bandwidth_util": ("bytes" in units, _lack(UNKNOWN_PEAK, given.figures.bandwidth())),
        "energy_per_iter": (True, energy),
        "energy_net_per_iter": (True, idle),
        "perf_per_watt": (any(name in units for name in WORK), energy),
        "cost_per_million_tokens": ("tokens" in units, price),
        "cost_per_sample": ("samples" in units, price),
        "scaling_efficiency": ({"mode", "n", "n0", "base_s"} <= case.scaling.keys(), ""),
    }
    return {metric: lack for metric, (is_declared, lack) in of_work.items() if is_declared}


def _lack(code: str, figure: Given) -> str:
    return "" if figure.value is not None else f"{code}: {figure.origin}"


def _declared(metric: str, given: Circumstances, units: Mapping[str, float]) -> MetricDecl:
    entry = METRICS[metric]
    unit = entry.unit
    if metric == "perf_per_watt":
        unit = f"{_work_name(units).replace('flop', 'FLOP')}/J"
    elif metric.startswith("cost_"):
        unit = given.price.unit.partition("/")[0]
    better: Better = entry.better or "lower"
    return MetricDecl(metric=metric, unit=unit, better=better)


def _work_name(units: Mapping[str, float]) -> str:
    return next((name for name in WORK if name in units), "units")


# --- values -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """What one invocation measured of a case, as inputs of formulas."""

    time: Given
    units: Mapping[str, float]
    dtype: str | None
    iterations: Given
    energy: Given
    window: Given
    scaling: Mapping[str, Any]

    def count(self, name: str, unit: str) -> Given:
        """Return what one call works off of something."""
        value = self.units.get(name)
        return Given(
            value, unit, f"units()['{name}'] of the benchmark" if value is not None else f"no {name} declared"
        )

    def work(self, name: str) -> Given:
        """Return the work under the clock."""
        per_call, calls = self.units.get(name), self.iterations.value
        known = per_call is not None and calls is not None
        unit = {"flop": "FLOP", "units": "1"}.get(name, name)
        value = per_call * calls if known and per_call is not None and calls is not None else None
        return Given(value, unit, f"units()['{name}'] · iterations" if known else f"no {name} declared")

    def rate(self, name: str) -> Given:
        """Return work over time."""
        per_call, seconds = self.units.get(name), self.time.value
        value = per_call / seconds if per_call is not None and seconds else None
        return Given(value, f"{name}/s", f"units()['{name}'] / time")


def step_of(measured: CaseMeasurement, *, net: bool = False) -> Step | None:
    """Return an invocation's step; None where nothing was timed, or its net time is not known."""
    batches, calls = measured.batches, measured.iterations
    if measured.status != "ok" or not batches.host_ns or not calls:
        return None
    if net and not any(value.net is not None for value in measured.values):
        return None
    spent = batches.net_ns if net else batches.host_ns
    return Step(
        time=Given(sum(spent) / 1e9 / (measured.k * len(spent)), "s", "mean time of a call under the clock"),
        units=measured.units,
        dtype=measured.dtype,
        iterations=Given(calls, "1", "calls under the clock"),
        energy=Given(
            measured.energy_j,
            "J",
            "the devices' energy between first and last call"
            if measured.energy_j is not None
            else "the device tells no energy",
        ),
        window=Given(measured.window_s, "s", "first to last call under the clock"),
        scaling=measured.scaling,
    )


def doubts(derived: Derived) -> list[str]:
    """Return the flags of a verdict on the value."""
    return [flag for code, flag in DOUBTS.items() if code in derived.codes]


def derive(metric: str, given: Circumstances, step: Step) -> Derived:
    """Return one metric's value with what it was made of."""
    return FORMULAS[metric](given, step)


def _mfu(given: Circumstances, step: Step) -> Derived:
    peak = given.figures.peak(step.dtype) if step.dtype else Given(None, "FLOP/s", "no dtype declared")
    return mfu(step.count("flop", "FLOP"), step.time, given.devices, peak)


def _bandwidth(given: Circumstances, step: Step) -> Derived:
    return bandwidth_util(step.count("bytes", "B"), step.time, given.figures.bandwidth(), given.devices)


def _scaling(given: Circumstances, step: Step) -> Derived:
    told = step.scaling

    def declared(name: str, unit: str) -> Given:
        return Given(told.get(name), unit, f"units()['scaling']['{name}'] of the benchmark")

    return scaling_efficiency(
        told.get("mode"), declared("n", "1"), declared("n0", "1"), declared("base_s", "s"), step.time
    )


FORMULAS: dict[str, Callable[[Circumstances, Step], Derived]] = {
    "mfu": _mfu,
    "bandwidth_util": _bandwidth,
    "energy_per_iter": lambda given, step: energy_per_iter(step.energy, step.iterations, step.window),
    "energy_net_per_iter": lambda given, step: energy_net_per_iter(
        step.energy, step.iterations, step.window, given.idle_power
    ),
    "perf_per_watt": lambda given, step: perf_per_watt(
        step.work(_work_name(step.units)), step.energy, step.window
    ),
    "cost_per_million_tokens": lambda given, step: cost_per_million_tokens(
        given.price, given.devices, step.rate("tokens")
    ),
    "cost_per_sample": lambda given, step: cost_per_sample(given.price, given.devices, step.rate("samples")),
    "scaling_efficiency": _scaling,
}
"""Metric → how it is made."""


def derived_values(
    given: Circumstances, measured: CaseMeasurement, planned: Mapping[str, str]
) -> tuple[list[Value], dict[str, Derived]]:
    """Return the values of the derived metrics that are planned for a case, and what each was made of.

    Args:
        given: the run's circumstances.
        measured: what one invocation says of the case.
        planned: the case's planned metrics with their units.
    """
    step, net = step_of(measured), step_of(measured, net=True)
    wanted = [metric for metric in FORMULAS if metric in planned]
    if step is None or not wanted:
        return [], {}
    made = {metric: derive(metric, given, step) for metric in wanted}
    values = []
    for metric, derived in made.items():
        if derived.value is None:
            continue
        without_others = (
            derive(metric, given, net).value if net is not None and metric not in ENERGY else None
        )
        better: Better = METRICS[metric].better or "lower"
        values.append(
            Value(
                metric=metric,
                value=derived.value,
                net=without_others,
                unit=planned[metric],
                better=better,
            )
        )
    return values, made
