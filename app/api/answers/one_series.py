"""A series, as it is told wherever one is."""

from __future__ import annotations

from typing import Literal

from app.api.answers.shape import Answer, told

SHA = "4f1d2c9ab07e6d5583b1c2ef90a4477d1e6c3b58"
PREVIOUS = "b83e07d1c45f92a6600dfe1378c2b9aa5d04e7c1"
TIME = "2026-11-20T15:40:00Z"


class SeriesAnswer(Answer):
    """One metric of one case on one device class: the line that a person looks at."""

    id: int = told("Its number.", 34)
    project: str = told("The project's name.", "acme/vision")
    benchmark: str = told("The benchmark's name.", "resize")
    params: dict[str, str | int | float | bool | None] = told(
        "What tells this case from others of the benchmark.", {"batch": 32, "dtype": "bf16"}
    )
    metric: str = told("What is measured.", "latency_p50")
    unit: str = told("The base unit that values are in; `1` for a plain number.", "s")
    better: Literal["lower", "higher"] = told("Which way is better.", "lower")
    device_class: str = told("What it is measured on.", "nvidia-h100-sxm5-80gb")
    version: str = told("Changes with the benchmark's file; empty for what was posted.", "")
