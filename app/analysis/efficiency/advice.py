"""What to try next against what holds a program back: each rule with the number that speaks for it.

A rule says nothing without its evidence, and names a condition that nobody here can see and that must hold for it to
help. docs/efficiency.md has the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.analysis.efficiency.bottleneck import LOST_TIME, NEAR_ROOF, THROTTLED_TIME, BottleneckKind
from app.domain.weekly_bottlenecks import Advice

IDLE_TENSOR_CORES = 0.20
"""Share of the cycles below which matrix units do little: of what is mostly matrix products they would do the most."""

SMALL_KERNELS = 0.40
"""Share of the multiprocessors, over time, below which the kernels that run leave most of the device empty."""

FASTER_DTYPE = 2.0
"""How many times a dtype's peak another one's must be to be worth trying: less is lost on the way."""

MORE_TRAFFIC = 1.30
"""How many times the declared bytes must be moved for their movement to be worth a look."""

LITTLE_LEFT = 0.70
"""Share of a roof from which on kernels have little left to gain: less than 1.43 times as fast."""

LOWER: Mapping[str, tuple[str, ...]] = {
    "fp64": ("fp32", "tf32", "bf16", "fp16"),
    "fp32": ("tf32", "bf16", "fp16"),
    "tf32": ("bf16", "fp16"),
    "bf16": ("fp8", "int8"),
    "fp16": ("fp8", "int8"),
}
"""What a dtype may be replaced by, of those that peaks are kept by: the nearest in digits first."""

SIZES_B: Mapping[str, int] = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}
"""Bytes of a number of a dtype in memory; what computes as TF32 is kept as FP32."""

Signs = Mapping[str, float]


@dataclass(frozen=True)
class Known:
    """What a rule looks at: the classes that hold, gravest first, the signs by name, the dtype, and peaks [FLOP/s]."""

    kinds: tuple[str, ...]
    signs: Signs
    dtype: str | None
    peaks: Mapping[str, float]

    @property
    def roof(self) -> float | None:
        """The share of the nearer roof that is reached."""
        return max(
            (self.signs[name] for name in ("mfu", "bandwidth_util") if name in self.signs), default=None
        )


@dataclass(frozen=True)
class Rule:
    """One thing to try: the class that it is against, what to do, and what must hold; `evidence` is empty for no."""

    code: str
    kind: BottleneckKind
    when: str
    text: str
    holds_if: str
    evidence: Callable[[Known], str]


def advice(
    kinds: tuple[str, ...],
    signs: Signs,
    *,
    dtype: str | None = None,
    peaks: Mapping[str, float] | None = None,
) -> tuple[Advice, ...]:
    """Return what to try, what is against the gravest class first; nothing where no evidence speaks for anything.

    Args:
        kinds: the classes of what holds it back that reach their thresholds, the gravest first.
        signs: what is known of a step, by the names of `bottleneck.Signs`.
        dtype: what it computes in, by the name that peaks are kept by; None where it does not say.
        peaks: dense peaks of the device by dtype [FLOP/s], as far as they are known.
    """
    known = Known(kinds, signs, dtype, peaks or {})
    return tuple(_advice(known))


def _advice(known: Known) -> Iterator[Advice]:
    for kind in known.kinds:
        for rule in RULES:
            if rule.kind == kind and (evidence := rule.evidence(known)):
                yield Advice(rule.code, rule.text, evidence, rule.holds_if)


# --- what speaks for each ---------------------------------------------------------------------------------------


def _at_least(name: str, threshold: float, words: str) -> Callable[[Known], str]:
    def evidence(known: Known) -> str:
        share = known.signs.get(name)
        return words.format(_percent(share)) if share is not None and share >= threshold else ""

    return evidence


def _idle(known: Known) -> str:
    """Return that the device is idle, as the finding of the class is reckoned: waiting for input apart."""
    signs = known.signs
    busy = signs.get("device_share", signs.get("util"))
    if busy is None:
        return ""
    idle = max(0.0, 1 - busy) - signs.get("input_wait_share", 0.0)
    return f"{_percent(idle)} of the step the device is idle" if idle >= LOST_TIME else ""


def _small_kernels(known: Known) -> str:
    share = known.signs.get("sm_active")
    if share is None or share >= SMALL_KERNELS:
        return ""
    return f"{_percent(share)} of the multiprocessors have work, over time"


def _tensor_cores(known: Known) -> str:
    share, times = known.signs.get("tensor_active"), _times_of_fp32(known)
    if share is None or share >= IDLE_TENSOR_CORES or times is None:
        return ""
    return (
        f"the matrix units work in {_percent(share)} of the cycles, and the peak of {known.dtype} on them is"
        f" {times:.3g} times that of fp32"
    )


def _times_of_fp32(known: Known) -> float | None:
    """Return how many times the peak of ordinary units that of the dtype is; None where matrix units do not take it."""
    own, ordinary = known.peaks.get(known.dtype or ""), known.peaks.get("fp32")
    return own / ordinary if own and ordinary and own >= FASTER_DTYPE * ordinary else None


def _faster_dtype(known: Known) -> str:
    own = known.peaks.get(known.dtype or "")
    for other in LOWER.get(known.dtype or "", ()):
        peak = known.peaks.get(other)
        if own and peak and peak >= FASTER_DTYPE * own:
            return f"it computes in {known.dtype}, and the device's peak of {other} is {peak / own:.3g} times as high"
    return ""


def _compute_dtype(known: Known) -> str:
    share = max((known.signs[name] for name in ("mfu", "hfu") if name in known.signs), default=0.0)
    return _faster_dtype(known) if share >= NEAR_ROOF else ""


def _smaller_dtype(known: Known) -> str:
    share, size = known.signs.get("bandwidth_util"), SIZES_B.get(known.dtype or "")
    smaller = (
        other
        for other in LOWER.get(known.dtype or "", ())
        if other in known.peaks and size and SIZES_B[other] < size
    )
    other = next(smaller, None)
    if share is None or share < NEAR_ROOF or other is None:
        return ""
    times = (size or 0) / SIZES_B[other]
    return (
        f"{_percent(share)} of the memory's peak is taken by numbers of {known.dtype}; of {other} they are"
        f" {times:.3g} times smaller"
    )


def _more_traffic(known: Known) -> str:
    moved, declared = known.signs.get("dram_active"), known.signs.get("bandwidth_util")
    if moved is None or declared is None or moved < NEAR_ROOF or moved < MORE_TRAFFIC * declared:
        return ""
    return f"the memory moves data in {_percent(moved)} of the cycles, the declared bytes are {_percent(declared)}"


def _near_roof(known: Known) -> str:
    share = known.roof
    return f"{_percent(share)} of the roof is reached" if share is not None and share >= LITTLE_LEFT else ""


def _far_from_roofs(known: Known) -> str:
    share = known.roof
    if share is None or share >= NEAR_ROOF:
        return ""
    return f"{_percent(share)} of the nearer roof is reached, and nothing that is known tells why"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


RULES: tuple[Rule, ...] = (
    Rule(
        "feed_input",
        BottleneckKind.INPUT,
        f"`input_wait_share` ≥ {100 * LOST_TIME:.0f} %",
        "load ahead: more loader processes, decoding off the step, copies that run beside it, a cache of what is ready",
        "the host has processors and its storage has throughput to spare",
        _at_least("input_wait_share", LOST_TIME, "{} of the step waits for input"),
    ),
    Rule(
        "overlap_collectives",
        BottleneckKind.COMMUNICATION,
        f"`comm_share` ≥ {100 * LOST_TIME:.0f} %",
        "run collectives beside the arithmetic, in larger buckets; have ranks that talk much share the fastest link",
        "they do not run beside other work already: their share counts that, too",
        _at_least("comm_share", LOST_TIME, "{} of the step is in collectives"),
    ),
    Rule(
        "launch_less",
        BottleneckKind.LAUNCH,
        f"idle time, waiting for input apart, ≥ {100 * LOST_TIME:.0f} %",
        "capture the step as a CUDA graph, or compile it, so that the host launches less",
        "shapes stay the same from step to step, nothing in it waits for the host, and it does not wait for input",
        _idle,
    ),
    Rule(
        "larger_batch",
        BottleneckKind.LAUNCH,
        f"`sm_active` < {100 * SMALL_KERNELS:.0f} %",
        "give the device more at once: a larger batch, or several requests together",
        "memory has room for it, and latency may grow",
        _small_kernels,
    ),
    Rule(
        "raise_power_limit",
        BottleneckKind.POWER,
        f"`power_throttle_share` ≥ {100 * THROTTLED_TIME:.0f} %",
        "look at the device's power limit: raise it, or choose the clock that does most work for a joule",
        "supply and cooling are made for it, and the limit is not there on purpose",
        _at_least("power_throttle_share", THROTTLED_TIME, "{} of the time a limit of power held"),
    ),
    Rule(
        "cool_device",
        BottleneckKind.POWER,
        f"`thermal_throttle_share` ≥ {100 * THROTTLED_TIME:.0f} %",
        "look at the machine's cooling: air flow, fans, its place in the rack",
        "it is not as warm in other weeks, or other machines of the class are cooler",
        _at_least("thermal_throttle_share", THROTTLED_TIME, "{} of the time a limit of temperature held"),
    ),
    Rule(
        "faster_dtype",
        BottleneckKind.COMPUTE,
        f"`mfu` or `hfu` ≥ {100 * NEAR_ROOF:.0f} %, and a dtype of fewer digits has {FASTER_DTYPE:g} times the peak",
        "compute in the faster dtype where results allow it",
        "quality holds: hold the loss or the accuracy against what it was",
        _compute_dtype,
    ),
    Rule(
        "fewer_operations",
        BottleneckKind.COMPUTE,
        f"`mfu` or `bandwidth_util` ≥ {100 * LITTLE_LEFT:.0f} %",
        "leave the kernels as they are: only fewer operations, or another device, make it faster",
        "the declared operations are those that the model needs",
        _near_roof,
    ),
    Rule(
        "move_less",
        BottleneckKind.MEMORY,
        f"`dram_active` ≥ {100 * NEAR_ROOF:.0f} % and {MORE_TRAFFIC:g} times `bandwidth_util`",
        "find what is moved twice: copies, changes of layout, intermediates that a fused kernel keeps on the chip",
        "the declared bytes are what an ideal program moves",
        _more_traffic,
    ),
    Rule(
        "fuse_kernels",
        BottleneckKind.MEMORY,
        f"`bandwidth_util` ≥ {100 * NEAR_ROOF:.0f} %",
        "fuse element-wise kernels, or work on a larger batch, so that each byte serves more operations",
        "intermediates or weights that several samples could share are a large part of the bytes",
        _at_least("bandwidth_util", NEAR_ROOF, "the declared bytes take {} of the memory's peak bandwidth"),
    ),
    Rule(
        "smaller_dtype",
        BottleneckKind.MEMORY,
        f"`bandwidth_util` ≥ {100 * NEAR_ROOF:.0f} %, and the device computes in a smaller dtype",
        "keep weights, caches or activations in the smaller dtype",
        "quality holds: hold the loss or the accuracy against what it was",
        _smaller_dtype,
    ),
    Rule(
        "use_tensor_cores",
        BottleneckKind.UNCLEAR,
        f"`tensor_active` < {100 * IDLE_TENSOR_CORES:.0f} %, and the dtype has {FASTER_DTYPE:g} times the peak of fp32",
        "have products of matrices reach the matrix units: dimensions in multiples of 8 or 16, the layout that their"
        " kernels take, nothing cast to fp32 on the way",
        "most of the work is products of matrices or convolutions",
        _tensor_cores,
    ),
    Rule(
        "fill_device",
        BottleneckKind.UNCLEAR,
        f"`sm_active` < {100 * SMALL_KERNELS:.0f} %",
        "give the device more at once: a larger batch, larger kernels, or several streams",
        "memory has room for it, and latency may grow",
        _small_kernels,
    ),
    Rule(
        "profile",
        BottleneckKind.UNCLEAR,
        f"`mfu` and `bandwidth_util`, as far as they are known, < {100 * NEAR_ROOF:.0f} %",
        "profile one step with a timeline of host and device: which kernels take the time, and what is between them",
        "the declared work is right",
        _far_from_roofs,
    ),
)
"""What to try, in the order in which it is told within a class."""
