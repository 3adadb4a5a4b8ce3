"""A year of a project's history, drawn by chance from a seed, with losses, gains and a drift planted in it.

Two commits each working day; each is a post of all series. What is planted is returned beside the documents, so that a
test can hold against it what is found.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

PROJECT = "acme/vision"
GPU, EDGE = "nvidia-h100-sxm5-80gb", "jetson-orin-agx-64gb"


@dataclass(frozen=True)
class Line:
    """One series: its level [unit] and the standard deviation of its points as a share."""

    benchmark: str
    params: dict[str, Any]
    metric: str
    unit: str
    better: str
    device_class: str
    level: float
    noise: float = 0.006


@dataclass(frozen=True)
class Planted:
    """A change of some lines by a factor from a day on, or little by little over so many days."""

    benchmark: str
    metric: str
    device_class: str
    factor: float
    days_ago: int
    over_days: int = 0


LINES = (
    Line("serve_llm", {"batch": 32}, "tokens_per_s", "tokens/s", "higher", GPU, 18_500.0),
    Line("serve_llm", {"batch": 32}, "mfu", "1", "higher", GPU, 0.41),
    Line("serve_llm", {"batch": 32}, "perf_per_watt", "tokens/J", "higher", GPU, 29.0, 0.012),
    Line("serve_llm", {"batch": 32}, "tokens_per_s", "tokens/s", "higher", EDGE, 410.0),
    Line("train_step", {"batch": 256, "dtype": "bf16"}, "latency_p50", "s", "lower", GPU, 0.212),
    Line("train_step", {"batch": 256, "dtype": "bf16"}, "mfu", "1", "higher", GPU, 0.53),
    Line("train_step", {"batch": 256, "dtype": "bf16"}, "bandwidth_util", "1", "higher", GPU, 0.31),
    Line("resize", {"px": 224}, "latency_p50", "s", "lower", GPU, 0.0031),
    Line("resize", {"px": 224}, "bandwidth_util", "1", "higher", GPU, 0.08),
    Line("resize", {"px": 224}, "latency_p50", "s", "lower", EDGE, 0.019),
    Line("tokenize", {}, "latency_p50", "s", "lower", GPU, 0.0009, 0.01),
    Line("embed", {"batch": 8}, "latency_p50", "s", "lower", GPU, 0.0052),
    Line("embed", {"batch": 8}, "latency_p50", "s", "lower", EDGE, 0.044),
    Line("embed", {"batch": 8}, "peak_memory", "B", "lower", GPU, 3.2e9, 0.0),
)

PLANTED = (
    Planted("serve_llm", "tokens_per_s", GPU, 0.87, 120),
    Planted("serve_llm", "mfu", GPU, 0.87, 120),
    Planted("resize", "latency_p50", GPU, 1.12, 5),
    Planted("resize", "latency_p50", EDGE, 1.10, 5),
    Planted("embed", "latency_p50", GPU, 0.90, 6),
    Planted("tokenize", "latency_p50", GPU, 1.10, 100, over_days=100),
    Planted("train_step", "latency_p50", GPU, 1.09, 200),
    Planted("train_step", "latency_p50", GPU, 1 / 1.09, 150),
)


def documents(
    today: datetime, *, days: int = 365, hours: tuple[int, ...] = (10, 15), seed: int = 7, n_values: int = 7
) -> Iterator[dict[str, Any]]:
    """Yield the posts of a year that ends with `today`, the oldest first; a commit at each of the hours of a day."""
    drawn = random.Random(seed)
    parent = None
    number = 0
    for ago in range(days, -1, -1):
        day = today - timedelta(days=ago)
        if day.weekday() >= 5:
            continue
        for hour in hours:
            time = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
            if time > today:
                break
            number += 1
            sha = hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()
            for device_class in (GPU, EDGE):
                yield _document(drawn, sha, parent, time, ago, device_class, n_values)
            parent = sha


def _document(
    drawn: random.Random,
    sha: str,
    parent: str | None,
    time: datetime,
    ago: int,
    device_class: str,
    n_values: int,
) -> dict[str, Any]:
    lines = [line for line in LINES if line.device_class == device_class]
    return {
        "project": PROJECT,
        "commit": sha,
        "parent": parent,
        "branch": "main",
        "time": time.isoformat(),
        "subject": f"Change of {time:%-d %B}, {time:%H} o’clock",
        "author": drawn.choice(["Ada Lovelace", "Grace Hopper", "Katherine Johnson"]),
        "device_class": device_class,
        "environment": {"machine": "the same"},
        "results": [
            {
                "benchmark": line.benchmark,
                "params": line.params,
                "metric": line.metric,
                "unit": line.unit,
                "better": line.better,
                "values": _values(drawn, line, ago, n_values),
            }
            for line in lines
        ],
    }


def _values(drawn: random.Random, line: Line, ago: int, n: int) -> list[float]:
    level = line.level * _factor(line, ago)
    of_run = level * (1 + line.noise * drawn.gauss(0, 1))
    return [of_run * (1 + line.noise / 2 * drawn.gauss(0, 1)) for _ in range(n)]


def _factor(line: Line, ago: int) -> float:
    factor = 1.0
    for its in PLANTED:
        if (its.benchmark, its.metric, its.device_class) != (line.benchmark, line.metric, line.device_class):
            continue
        if its.over_days:
            share = max(0.0, min(1.0, (its.days_ago - ago) / its.over_days))
            factor *= its.factor**share
        elif ago <= its.days_ago:
            factor *= its.factor
    return factor
