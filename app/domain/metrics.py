"""The catalogue of metrics: every quantity that Ratchet knows by name, one entry each.

An entry says what a metric is called, in which unit it is kept, which way it points and what may be assumed
of its values; pages, reports and documents read it here. A metric that is not listed is measured and judged
all the same, by what its benchmark or its settings say of it. Values are not computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from app.domain.results import Better


class Assumption(StrEnum):
    """What may be assumed of a metric's values, and so how two commits are compared."""

    ABOUT_NORMAL = "about_normal"
    """Log ratios of pairs are independent and about normal: the sequential rule holds as it is stated."""

    HEAVY_TAILED = "heavy_tailed"
    """As above, but single pairs lie far off now and then: intervals are wide, and verdicts come late."""

    REPEATABLE = "repeatable"
    """The same code gives the same value: compared exactly, sampled where that turns out to be wrong."""

    DESCRIPTIVE = "descriptive"
    """Shown beside the verdicts and never compared: neither direction is better by itself."""


@dataclass(frozen=True)
class Metric:
    """One metric.

    `unit` is a base unit, or one with a placeholder for what the project chooses (`units/J`, `currency`). `better`
    is None for what is only shown. `noise_floor` is the smallest change that the metric can be trusted to show on
    a well-kept machine (ln units): a minimum effect below it asks for
    too much.
    """

    name: str
    title: str
    unit: str
    better: Better | None
    assumption: Assumption
    noise_floor: float
    definition: str

    @property
    def kind(self) -> Literal["sampled", "exact"]:
        """How it is compared: from samples, or exactly."""
        return "exact" if self.assumption is Assumption.REPEATABLE else "sampled"


def metric(name: str) -> Metric | None:
    """Return the catalogue's entry for `name`; None for a metric that it does not list."""
    return METRICS.get(name)


def _quiet(name: str, title: str, unit: str, better: Better, definition: str) -> Metric:
    return Metric(name, title, unit, better, Assumption.ABOUT_NORMAL, 0.005, definition)


def _noisy(name: str, title: str, unit: str, better: Better, definition: str) -> Metric:
    return Metric(name, title, unit, better, Assumption.HEAVY_TAILED, 0.01, definition)


def _exact(name: str, title: str, unit: str, better: Better, definition: str) -> Metric:
    return Metric(name, title, unit, better, Assumption.REPEATABLE, 0.0, definition)


def _shown(name: str, title: str, unit: str, definition: str) -> Metric:
    return Metric(name, title, unit, None, Assumption.DESCRIPTIVE, 0.0, definition)


def _span(part: str, title: str) -> Metric:
    return _noisy(f"span_{part}", title, "s", "lower", f"the declared part of a latency called {part}")


_TIMES = (
    _quiet("latency_p50", "Median latency", "s", "lower", "median time of one iteration"),
    _noisy("latency_p90", "Latency, 90th percentile", "s", "lower", "9 of 10 iterations take no longer"),
    _noisy("latency_p99", "Latency, 99th percentile", "s", "lower", "99 of 100 iterations take no longer"),
    _noisy("wall_time", "Wall time", "s", "lower", "a command's whole process, from start to exit"),
    _noisy("startup_s", "Start-up time", "s", "lower", "start of the process to the first iteration"),
    _noisy("first_call_s", "First call", "s", "lower", "first iteration, with what it compiles and loads"),
    _noisy("compile_s", "Compile time", "s", "lower", "time in compilers, as the framework reports it"),
    _noisy("cold_start_s", "Cold start", "s", "lower", "start of the process to a result, caches empty"),
    _noisy("time_to_quality", "Time to quality", "s", "lower", "training until the declared quality"),
)
_SERVING = (
    _noisy("ttft", "Time to first token", "s", "lower", "first token after the scheduled send"),
    _noisy("tpot", "Time per output token", "s", "lower", "(last − first token) / (tokens − 1)"),
    _noisy("itl", "Inter-token latency", "s", "lower", "gap between two chunks of output"),
    _noisy("e2e", "End-to-end latency", "s", "lower", "last token after the scheduled send"),
    _noisy("goodput_per_s", "Goodput", "1/s", "higher", "units within the objective / wall time"),
)
_RATES = (
    _quiet("samples_per_s", "Samples per second", "samples/s", "higher", "samples / time"),
    _quiet("tokens_per_s", "Tokens per second", "tokens/s", "higher", "tokens / time"),
    _quiet("requests_per_s", "Requests per second", "requests/s", "higher", "finished requests / time"),
    _quiet("flops_per_s", "Operations per second", "FLOP/s", "higher", "declared FLOP / time"),
    _quiet("bytes_per_s", "Bytes per second", "B/s", "higher", "declared bytes / time"),
)
_EFFICIENCY = (
    _quiet("scaling_efficiency", "Scaling efficiency", "1", "higher", "speed-up over N devices / N"),
    _quiet("mfu", "Model FLOP utilisation", "1", "higher", "model FLOP per second / peak of the dtype"),
    _quiet("hfu", "Hardware FLOP utilisation", "1", "higher", "executed FLOP per second / the same peak"),
    _quiet("bandwidth_util", "Bandwidth utilisation", "1", "higher", "declared bytes per second / peak"),
    _shown("arithmetic_intensity", "Arithmetic intensity", "FLOP/B", "declared FLOP / declared bytes"),
    _noisy("input_wait_share", "Input wait", "1", "lower", "time waiting for input / time of a step"),
    _noisy("comm_share", "Communication share", "1", "lower", "time in collectives / time of a step"),
    _shown("sm_active", "SM activity", "1", "share of time in which a multiprocessor has work"),
    _shown("tensor_active", "Tensor core activity", "1", "share of cycles in which tensor cores work"),
    _shown("dram_active", "Memory activity", "1", "share of cycles in which device memory moves data"),
)
_ENERGY_AND_COST = (
    _noisy("energy_per_iter", "Energy per iteration", "J", "lower", "energy / iterations over at least 5 s"),
    _noisy("energy_net_per_iter", "Net energy per iteration", "J", "lower", "the same without idle power"),
    _noisy("perf_per_watt", "Work per joule", "units/J", "higher", "units of work / energy"),
    _quiet("cost_per_million_tokens", "Cost per million tokens", "currency", "lower", "device time × price"),
    _quiet("cost_per_sample", "Cost per sample", "currency", "lower", "device time × price"),
)
_COUNTS_AND_QUALITY = (
    _exact("peak_memory", "Peak memory", "B", "lower", "largest memory in use at one time"),
    _exact("peak_device_memory", "Peak device memory", "B", "lower", "largest memory in use on the devices"),
    _exact("recompiles", "Recompilations", "1", "lower", "compilations after the first, as reported"),
    _noisy("final_loss", "Final loss", "1", "lower", "loss after the declared number of steps"),
    _exact("accuracy_drop", "Accuracy drop", "abs", "lower", "reference − accuracy"),
)
_SPANS = (
    _span("preprocess", "Preprocessing"),
    _span("transfer", "Transfer"),
    _span("network", "Network"),
    _span("queue", "Queueing"),
    _span("kernel", "Kernel"),
    _span("postprocess", "Postprocessing"),
    _span("sync", "Synchronisation"),
)

METRICS: dict[str, Metric] = {
    entry.name: entry
    for group in (_TIMES, _SERVING, _RATES, _EFFICIENCY, _ENERGY_AND_COST, _COUNTS_AND_QUALITY, _SPANS)
    for entry in group
}
"""Every metric by name, in the order in which they are listed to people."""
