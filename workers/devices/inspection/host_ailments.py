"""What makes a host a bad one to measure on: rules over what its kernel tells. Pure, as the rules of devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workers.devices.inspection.ailments import Ailment, Told

HOST = "host"
CPU_FOLDER = "/sys/devices/system/cpu"
INTEL_TURBO, BOOST = f"{CPU_FOLDER}/intel_pstate/no_turbo", f"{CPU_FOLDER}/cpufreq/boost"
SWAP_USED_B = 64 * 2**20
FOREIGN_CPU, FOREIGN_CPU_SHARE = 0.5, 0.02
"""Processors that other programs may keep busy, as the gate `host_cpu` has it: a share of all where that is more."""

MAX_STEAL = 0.02
QUOTA_NONE = "max"


class Busy(NamedTuple):
    """A program that kept processors busy."""

    pid: int
    name: str
    processors: float


@dataclass(frozen=True)
class HostFacts:
    """What the host tells.

    Args:
        soft: the soft part of its fingerprint: governor, turbo, smt, cgroup_quota.
        load: `host_cpu_foreign` and `host_steal` over a second or so.
        swap_used_b: memory that lies in swap [B]; None where unknown.
        threads: threads that may be used.
        has_intel_turbo: whether turbo is switched by Intel's driver, and not by the one of all makers.
        busiest: other programs that were busy meanwhile, the busiest first.
    """

    soft: Told
    load: Told
    swap_used_b: int | None = None
    threads: int = 1
    has_intel_turbo: bool = False
    busiest: Sequence[Busy] = ()


def host_ailments(host: HostFacts) -> list[Ailment]:
    """Return what is wrong with the host, what disturbs most first."""
    rules = (_neighbours, _steal, _swap, _quota, _governor, _turbo, _smt)
    return [Ailment(code, HOST, *words) for rule in rules for code, *words in rule(host)]


Found = Iterator[tuple[str, str, str, str]]
"""Code, what, cost, mend."""


def _neighbours(host: HostFacts) -> Found:
    foreign = host.load.get("host_cpu_foreign")
    if foreign is None or foreign <= max(FOREIGN_CPU, FOREIGN_CPU_SHARE * host.threads):
        return
    named = ", ".join(f"{one.name} ({one.pid}) {one.processors:.1f}" for one in host.busiest[:3])
    yield (
        "noisy_neighbours",
        f"other programs keep {foreign:.1f} processors busy just now" + (f": {named}" if named else ""),
        "timings that share a core with them are void, the others noisier",
        "top -o %CPU   # shows who; end it, or move it to another machine",
    )


def _steal(host: HostFacts) -> Found:
    steal = host.load.get("host_steal")
    if steal is not None and steal > MAX_STEAL:
        yield (
            "steal",
            f"the hypervisor takes {steal:.0%} of the processors' time",
            "another guest of the same machine is measured along; pairs in which that happens are void",
            "use a machine, or a class of instances, with processors of its own",
        )


def _swap(host: HostFacts) -> Found:
    if host.swap_used_b is not None and host.swap_used_b >= SWAP_USED_B:
        yield (
            "swap",
            f"{host.swap_used_b / 2**20:.0f} MiB of memory lie in swap",
            "what is read back stops a program for milliseconds; pairs in which that happens are void",
            "sudo swapoff -a   # needs as much free memory; and take it out of /etc/fstab",
        )


def _quota(host: HostFacts) -> Found:
    words = str(host.soft.get("cgroup_quota") or QUOTA_NONE).split()
    if words[0] != QUOTA_NONE and all(word.isdigit() for word in words) and len(words) == 2:
        yield (
            "cgroup_quota",
            f"a control group allows {int(words[0]) / int(words[1]):.3g} processors, counted in each"
            f" {int(words[1]) / 1000:.0f} ms",
            "a program that has used up its share is stopped for the rest of the period",
            "start the container without --cpus, and pin it: --cpuset-cpus (Kubernetes: the static CPU manager)",
        )


def _governor(host: HostFacts) -> Found:
    governor = host.soft.get("governor")
    if governor is not None and governor != "performance":
        yield (
            "governor",
            f"the processors' governor is {governor}",
            "after every pause the clock has to rise again: first calls and short ones are slower, now and then",
            f"echo performance | sudo tee {CPU_FOLDER}/cpu*/cpufreq/scaling_governor",
        )


def _turbo(host: HostFacts) -> Found:
    if host.soft.get("turbo"):
        yield (
            "turbo",
            "turbo is on",
            "the clock depends on temperature and on how many cores work: a few percent between runs;"
            " grade A needs a clock that holds within 1 %",
            f"echo 1 | sudo tee {INTEL_TURBO}" if host.has_intel_turbo else f"echo 0 | sudo tee {BOOST}",
        )


def _smt(host: HostFacts) -> Found:
    if host.soft.get("smt") == "on":
        yield (
            "smt",
            "two threads share each core",
            "whatever runs on the other thread slows this one down, by up to half",
            f"echo off | sudo tee {CPU_FOLDER}/smt/control",
        )
