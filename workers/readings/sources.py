"""Which output of a vendor's tool tells which readings: what to record as well where a recording leaves some open."""

from __future__ import annotations

from collections.abc import Iterable

_LOAD = (
    "util",
    "mem_util",
    "sm_clock_hz",
    "mem_clock_hz",
    "power_w",
    "power_limit_w",
    "temp_c",
    "mem_used_b",
)
_ERRORS = ("throttle_reasons", "ecc_corrected", "ecc_uncorrected", "remapped_rows", "pcie_gen", "pcie_width")

SOURCES: dict[str, dict[str, tuple[str, ...]]] = {
    "nvidia": {
        "nvidia-smi -q -x": (*_LOAD, *_ERRORS, "foreign_pids", "mode"),
        "curl -s http://HOST:9400/metrics (dcgm-exporter)": (
            *("energy_j_total", "nvlink_tx_b_s", "sm_active", "tensor_active", "dram_active"),
        ),
    },
    "amd": {
        "amd-smi metric --json": (*_LOAD, *_ERRORS, "mem_temp_c", "energy_j_total"),
        "amd-smi process --json": ("foreign_pids",),
    },
    "tpu": {"tpu-info": ("util", "tensor_active", "mem_used_b", "foreign_pids")},
    "neuron": {
        "neuron-monitor": ("util", "mem_used_b", "ecc_corrected", "ecc_uncorrected"),
        "neuron-ls": ("foreign_pids",),
    },
    "jetson": {
        "tegrastats": ("util", "sm_clock_hz", "mem_clock_hz", "power_w", "temp_c", "mem_used_b"),
        "nvpmodel -q": ("mode",),
    },
    "intel": {
        "xpu-smi stats -d 0": ("util", "sm_clock_hz", "power_w", "temp_c", "mem_used_b", "ecc_uncorrected"),
    },
    "apple": {
        "sudo powermetrics --samplers gpu_power,thermal": (
            "util",
            "sm_clock_hz",
            "power_w",
            "throttle_reasons",
        )
    },
}
"""Kind -> command -> readings that its output has on most devices."""


def open_questions(kind: str, told: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the readings that recordings of a kind left open, and the commands whose outputs would tell them.

    A command that tells little more than what is known already is not worth another recording.
    """
    known = frozenset(told)
    missing = {
        command: left
        for command, names in SOURCES.get(kind, {}).items()
        if 2 * len(left := [name for name in names if name not in known]) >= len(names)
    }
    return list(dict.fromkeys(name for names in missing.values() for name in names)), list(missing)
