"""What machine this is: read from the kernel's files, grouped by what a change in it would mean.

`machine` is hashed: another hash begins an epoch of the device. `identity` says which one it is. `soft` may move from
run to run and is recorded only. What a machine does not tell is null, with its name in `unavailable`; never 0. What
the commit's own set-up resolved is no part of it: that belongs to the commit.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.host.kernel_files import read_raw

CPU = Path("/sys/devices/system/cpu")
RELEVANT_VARIABLES = (
    "CUDA_",
    "NCCL_",
    "TORCH",
    "XLA_",
    "NEURON_",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "HIP_",
    "ROCR_",
    "TPU_",
)
SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASS", re.IGNORECASE)

Fingerprint = dict[str, Any]


def read_text(path: str | Path) -> str | None:
    """Return the first 64 KiB of a kernel file, stripped, or None where it is missing, unreadable or empty."""
    raw = read_raw(path)
    return None if raw is None else raw.decode(errors="replace").strip("\0 \n\t") or None


def read_int(path: str | Path) -> int | None:
    """Return the whole number that a kernel file holds, or None."""
    text = read_text(path)
    return int(text) if text and re.fullmatch(r"-?\d+", text) else None


def cpuinfo(field: str) -> str | None:
    """Return the first value of a field of `/proc/cpuinfo`."""
    match = re.search(rf"^{re.escape(field)}\s*:\s*(.+)$", read_text("/proc/cpuinfo") or "", re.MULTILINE)
    return match[1].strip() if match else None


def cpu_model() -> str:
    """Return the processor's name: the kernel's, else the board's, else the architecture."""
    return cpuinfo("model name") or read_text("/proc/device-tree/model") or platform.machine() or "unknown"


def relevant_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that steer accelerators and thread pools, without anything that may be a secret."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.startswith(RELEVANT_VARIABLES) and not SECRET_NAME.search(name)
    }


def host_fingerprint(environ: Mapping[str, str] = os.environ) -> Fingerprint:
    """Return the parts of a fingerprint that every device of this host shares."""
    return with_unavailable(
        {"machine": _machine(), "identity": {"host": socket.gethostname()}, "soft": _soft(environ)}
    )


def machine_hash(fingerprint: Fingerprint) -> str:
    """Return the digest of the `machine` part: equal exactly for machines that count as the same."""
    text = json.dumps(fingerprint["machine"], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def with_unavailable(fingerprint: Fingerprint) -> Fingerprint:
    """Return the fingerprint with the names of its nulls listed under `unavailable`."""
    parts = {name: part for name, part in fingerprint.items() if name != "unavailable"}
    nulls = sorted(key for part in parts.values() for key, value in part.items() if value is None)
    return {**parts, "unavailable": nulls}


def _machine() -> dict[str, Any]:
    return {
        "cpu_model": cpu_model(),
        "threads": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "firmware": read_text("/sys/class/dmi/id/bios_version"),
        "memory_b": _meminfo("MemTotal"),
        "topology": _topology(),
        "clock_policy": read_text(CPU / "cpu0/cpufreq/scaling_driver"),
        "power_limit_w": _power_limit_w(),
        "operating_system": _operating_system(),
    }


def _soft(environ: Mapping[str, str]) -> dict[str, Any]:
    return {
        "free_memory_b": _meminfo("MemAvailable"),
        "uptime_s": _uptime_s(),
        "governor": read_text(CPU / "cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": read_text(CPU / "smt/control"),
        "thp": _selected("/sys/kernel/mm/transparent_hugepage/enabled"),
        "microcode": cpuinfo("microcode"),
        "numa_nodes": read_text("/sys/devices/system/node/online"),
        "isolated_cpus": read_text(CPU / "isolated"),
        "cgroup_quota": read_text("/sys/fs/cgroup/cpu.max"),
        "environment": relevant_environment(environ),
    }


def _meminfo(field: str) -> int | None:
    match = re.search(rf"^{field}:\s+(\d+) kB$", read_text("/proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _uptime_s() -> float | None:
    text = read_text("/proc/uptime")
    return float(text.split()[0]) if text else None


def _topology() -> str | None:
    """Return a digest of which threads share a core, a package and a cache."""
    names = ("topology/core_cpus_list", "topology/package_cpus_list", "cache/index3/shared_cpu_list")
    parts = [read_text(CPU / f"cpu{cpu}" / name) for cpu in sorted(os.sched_getaffinity(0)) for name in names]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16] if any(parts) else None


def _power_limit_w() -> float | None:
    limit = read_int("/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw")
    return None if limit is None else limit / 1e6


def _operating_system() -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', read_text("/etc/os-release") or "", re.MULTILINE)
    return match[1] if match else None


def _turbo() -> bool | None:
    disabled = read_int("/sys/devices/system/cpu/intel_pstate/no_turbo")
    if disabled is not None:
        return not disabled
    boost = read_int(CPU / "cpufreq/boost")
    return None if boost is None else bool(boost)


def _selected(path: str) -> str | None:
    match = re.search(r"\[(\w+)\]", read_text(path) or "")
    return match[1] if match else None
