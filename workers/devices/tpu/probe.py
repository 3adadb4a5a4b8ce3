"""Tells every second what libtpu knows of the chips' use, as a line of JSON.

A program of its own, started by `tpu.py`: loading libtpu may end the process that does it, and what it reads with may
hang. Source: the TPU Monitoring Library of the Cloud TPU documentation (`libtpu.sdk.tpumonitoring`), whose metrics are
lists of numbers as text, one for each device or core, and empty while no program uses the chips.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

METRICS = ("duty_cycle_pct", "hbm_capacity_usage", "hbm_capacity_total", "tensorcore_util")


def main() -> None:
    """Print until the reader is gone; the argument is the time between two lines [s]."""
    monitoring = load()
    while True:
        sys.stdout.write(json.dumps({name: read(monitoring, name) for name in METRICS}) + "\n")
        sys.stdout.flush()
        time.sleep(float(sys.argv[1]))


def load() -> Any:
    """Return libtpu's monitoring, by either of its names."""
    sdk = importlib.import_module("libtpu.sdk")
    return getattr(sdk, "tpumonitoring", None) or sdk.monitoring


def read(monitoring: Any, name: str) -> list[str] | None:
    """Return the values of a metric, or None where this libtpu does not tell it."""
    try:
        return [str(value) for value in monitoring.get_metric(name).data()]
    except (
        Exception
    ):  # what a vendor's library raises is not documented; one metric less is no reason to stop
        return None


if __name__ == "__main__":
    main()
