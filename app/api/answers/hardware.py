"""Two device classes compared by what they do, what they draw for it, and what that costs."""

from __future__ import annotations

from typing import Literal

from app.api.answers.one_series import SHA
from app.api.answers.shape import Answer, told

Side = Literal["base", "head"]


class PriceAnswer(Answer):
    """What one device costs an hour, as settings that have landed state it."""

    hour: float = told("The price of one device for an hour.", 2.49)
    currency: str = told("The currency's three letters.", "EUR")
    day: str = told("The day that the price was valid on.", "2026-11-01")
    devices: str = told("The glob of device classes that it is stated for.", "nvidia-h100-*")


class HardwareSideAnswer(Answer):
    """One of the two device classes."""

    device_class: str = told("Its name.", "nvidia-h100-sxm5-80gb")
    price: PriceAnswer | None = told("Its price; null where none is known.")
    why: str | None = told("Why there is no price.", None)


class RatioAnswer(Answer):
    """How many times base's something of head is."""

    better: Literal["lower", "higher"] = told("Which way the ratio is good for head.", "higher")
    best: Side | None = told(
        "The better side; null where the range leaves that open, or without ratio.", "head"
    )
    ratio: float | None = told(
        "Head over base: of speeds for `performance`, though times may be known; of energy, work per joule, cost.",
        2.31,
    )
    ratio_low: float | None = told(
        "The ratio of the values of both sides that are least favourable to it; null for single numbers.", 2.2
    )
    ratio_high: float | None = told("Of those that are most favourable. It is no confidence interval.", 2.43)


class HardwareMeanAnswer(RatioAnswer):
    """The geometric mean of the cases' ratios."""

    n: int = told("How many cases have a ratio.", 12)
    why: str | None = told("Why no case has one.", None)


class LevelAnswer(Answer):
    """A value of one side."""

    metric: str = told("The metric that it is, or is made of.", "samples_per_s")
    unit: str = told("The base unit that it is in.", "EUR")
    better: Literal["lower", "higher"] = told("Which way the value is better.", "lower")
    value: float = told("The value [unit].", 0.69)
    low: float | None = told("The smallest, of what it is made of; null for a single number.", 0.68)
    high: float | None = told("The largest.", 0.71)
    n: int = told("Of how many values.", 4)
    run: str = told("The run that it comes from.", "12")
    commit: str = told("The commit that it is of.", SHA)
    source: Literal["measured", "energy_counter", "power_samples", "simulated", "posted", "stated_price"] = (
        told(
            "Where it is from: a worker's clock, the devices' energy counter, their power read over time, a simulated "
            "device, somebody's post, or the price that settings state.",
            "stated_price",
        )
    )
    devices: int | None = told("How many devices worked on it together; null where nobody told.", 1)
    per: str | None = told("Of how much work it is, where the unit does not say.", "million samples")
    formula: str | None = told(
        "What it is made of; null for what is stored so.", "price · devices / samples_per_s"
    )


class QuantityAnswer(RatioAnswer):
    """One kind of number of a case on both sides."""

    base: LevelAnswer | None = told("Base's value; null where it has none.")
    head: LevelAnswer | None = told("Head's value; null where it has none.")
    why: list[str] = told("What is missing, or why there is no ratio.", [])


class HardwareMeansAnswer(Answer):
    """The means of each kind of number."""

    performance: HardwareMeanAnswer = told("Of speeds.")
    energy: HardwareMeanAnswer = told("Of energy.")
    perf_per_watt: HardwareMeanAnswer = told("Of work per joule, which is throughput per watt.")
    cost: HardwareMeanAnswer = told("Of cost.")


class HardwareCaseAnswer(Answer):
    """One case on both device classes."""

    benchmark: str = told("The benchmark's name.", "resize")
    params: dict[str, str | int | float | bool | None] = told("The case's parameters.", {"batch": 32})
    two_commits: bool = told(
        "Whether its numbers are of two commits, and the ratio not of the devices alone.", False
    )
    performance: QuantityAnswer = told("Throughput, or else latency.")
    energy: QuantityAnswer = told("Energy of an iteration, or of one of what is worked off.")
    perf_per_watt: QuantityAnswer = told("Work per joule, which is throughput per watt.")
    cost: QuantityAnswer = told("Device time at the price of a device, of so much work.")


class HardwareAnswer(Answer):
    """Two device classes over the cases that both have."""

    sentence: str = told(
        "Which side has the best performance, performance per watt, and cost.",
        "Best performance: nvidia-h100-sxm5-80gb, 2.31 times as fast as nvidia-l4 over 12 cases; …",
    )
    base: HardwareSideAnswer = told("Base's device class.")
    head: HardwareSideAnswer = told("Head's device class.")
    two_commits: int = told("How many cases have numbers of two commits.", 0)
    means: HardwareMeansAnswer = told("The geometric means over the cases.")
    cases: list[HardwareCaseAnswer] = told("The cases.")
