"""What watching costs: telemetry at 10 Hz, in processor time, and in what it moves of a measurement beside it.

The cost is the processor time of the sampling thread over some seconds. What it moves is an A/A: a process times the
same work in short stretches, and beside every second one, in an order that alternates, the devices are watched; the
figure is how far the medians of the two are apart, over processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from math import pi, sqrt
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure
from workers.devices import KINDS
from workers.devices.base import Device, Host
from workers.host.load import HostLoad
from workers.measuring.sampling import NoHost, Sampler

SECONDS = 10.0
LIMIT_CORE, LIMIT_SHIFT = 1.0, 0.3
STRETCHES, STRETCH_S = 60, 0.5
WORK = """
import sys, time
from itertools import repeat
for line in sys.stdin:
    until, times = time.perf_counter() + float(line), []
    while time.perf_counter() < until:
        start = time.perf_counter()
        sum(repeat(1, 250_000))
        times.append(time.perf_counter() - start)
    times.sort()
    print(times[len(times) // 2], flush=True)
"""
"""Times about a millisecond of work for as long as it is told, and says the median [s]."""


def devices() -> list[Device]:
    """Return this machine's processor, and its accelerators if it has any."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-bench-", dir="/tmp"))
    host = Host(folder, folder)
    return [device for kind in ("cpu", "nvidia") for device in KINDS[kind].detect(host)]


def watching(device: Device) -> Sampler:
    """Return what watches a device as an agent does."""
    return Sampler([device], HostLoad() if device.feels_host else NoHost())


def cost(device: Device) -> float:
    """Return the share of one core that watching a device takes [%]: of this process, which does nothing else."""
    sampler = watching(device)
    sampler.start()
    time.sleep(1.0)
    begun_cpu, begun = time.process_time(), time.perf_counter()
    threading.Event().wait(SECONDS)
    used, passed = time.process_time() - begun_cpu, time.perf_counter() - begun
    sampler.stop()
    return 100 * used / passed


def shift(device: Device) -> tuple[float, float]:
    """Return how much slower the same work is while a device is watched, and the standard error of that [%]."""
    ratios = []
    command = [sys.executable, "-c", WORK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for index in range(STRETCHES):
            order = (True, False) if index % 2 else (False, True)
            times = {is_watched: _stretch(process, device, is_watched) for is_watched in order}
            ratios.append(times[True] / times[False])
        assert process.stdin is not None
        process.stdin.close()
    center = median(ratios)
    spread = 1.4826 * median([abs(ratio - center) for ratio in ratios])
    return 100 * (center - 1), 100 * sqrt(pi / 2) * spread / sqrt(len(ratios))


def _stretch(process: subprocess.Popen[str], device: Device, is_watched: bool) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    sampler = watching(device)
    if is_watched:
        sampler.start()
    process.stdin.write(f"{STRETCH_S}\n")
    process.stdin.flush()
    answer = float(process.stdout.readline())
    if is_watched:
        sampler.stop()
    return answer


def figures() -> Iterator[Figure]:
    """Yield the cost of watching each device, and what it moves."""
    for device in devices():
        yield Figure(f"telemetry of {device.device_class} at 10 Hz", cost(device), LIMIT_CORE, "%")
        moved, error = shift(device)
        name = f"moves an A/A on {device.device_class}: {moved:+.3f} ± {error:.3f} %"
        yield Figure(name, abs(moved), LIMIT_SHIFT, "%")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    for figure in figures():
        print(figure.line(), flush=True)
