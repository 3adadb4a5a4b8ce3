import os
import time
from types import SimpleNamespace

import pytest

from workers.devices import cpu
from workers.devices.base import Host
from workers.devices.cpu import CpuDevice, Sources, architecture, host_id, model_slug, numa_node


@pytest.fixture
def device(tmp_path):
    return CpuDevice.detect(Host(tmp_path / "state", tmp_path))[0]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("AMD EPYC", "amd-epyc"),
        ("AMD EPYC 7763 64-Core Processor", "amd-epyc-7763"),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "intel-xeon-e5-2680-v4"),
        ("AMD Ryzen 7 5800U with Radeon Graphics", "amd-ryzen-7-5800u"),
        ("Raspberry Pi 4 Model B Rev 1.2", "raspberry-pi-4-model-b-rev-1-2"),
        ("aarch64", "aarch64"),
        ("!!!", "unknown"),
    ],
)
def test_a_processors_name_becomes_a_slug(name, slug):
    assert model_slug(name) == slug


def test_a_processors_class_counts_the_threads_that_may_be_used(device):
    assert device.device_class.startswith("cpu-")
    assert device.device_class.endswith(f"-{len(os.sched_getaffinity(0))}t")


def test_a_host_with_a_machine_id_is_the_same_from_every_folder(tmp_path):
    machine_id = tmp_path / "machine-id"
    machine_id.write_text("0123456789abcdef0123456789abcdef\n")
    first, second = (host_id(tmp_path / name, machine_id) for name in ("a", "b"))
    assert first == second
    assert "0123456789abcdef" not in first


@pytest.mark.parametrize("content", [None, ""])
def test_a_host_without_a_machine_id_keeps_an_id_of_its_own(tmp_path, content):
    machine_id = tmp_path / "machine-id"
    if content is not None:
        machine_id.write_text(content)
    first, again, other = (host_id(tmp_path / name, machine_id) for name in ("a", "a", "b"))
    assert first == again != other


def test_facts_tell_what_every_linux_tells(device):
    facts = device.facts()
    assert facts["cores"] == len(os.sched_getaffinity(0))
    assert facts["memory_b"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts["architecture"] == architecture()
    assert facts["architecture"].startswith(os.uname().machine)


def test_telemetry_tells_what_others_did_to_the_host(device):
    time.sleep(0.03)
    reading = device.telemetry()
    assert reading["host_cpu_foreign"] >= 0
    assert 0 <= reading["host_steal"] <= 1
    assert reading["swap_in_b"] >= 0


def test_the_machine_part_of_the_fingerprint_stays_the_same(device):
    first, again = device.fingerprint(), device.fingerprint()
    assert first["machine"] == again["machine"]
    assert first["machine"]["device_model"] == device.model


def test_processors_of_one_node_name_it_and_those_of_several_do_not(tmp_path):
    for number, node in ((0, 0), (1, 0), (2, 1)):
        (tmp_path / f"cpu{number}" / f"node{node}").mkdir(parents=True)
    assert (numa_node([0, 1], tmp_path), numa_node([1, 2], tmp_path), numa_node([3], tmp_path)) == (
        0,
        None,
        None,
    )


# --- what is read anew each time ---


class Counter:
    """A counter of energy that gives what it is told to."""

    packages = ()

    def __init__(self, *values):
        self._values = list(values)

    def read(self):
        return self._values.pop(0)


@pytest.fixture
def sources(monkeypatch):
    """The readings of a processor, a second apart."""
    moments = iter(range(1000))
    monkeypatch.setattr(cpu, "time", SimpleNamespace(monotonic=lambda: float(next(moments))))
    return Sources([0])


def test_power_is_the_energy_of_the_time_since_the_last_reading(sources):
    sources.energy = Counter(100.0, 130.0, None, 150.0, 155.0)
    assert [sources.readings()["power_w"] for _ in range(5)] == [None, 30.0, None, None, 5.0]


def test_power_over_less_time_than_the_counter_can_tell_is_unknown(sources, monkeypatch):
    moments = iter([1.0, 1.001, 2.0])
    monkeypatch.setattr(cpu, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    sources.energy = Counter(100.0, 100.5, 120.0)
    assert [sources.readings()["power_w"] for _ in range(3)] == [None, None, 20.0]


def test_a_reason_holds_where_its_count_has_grown(sources, monkeypatch):
    counts = iter(
        [{"thermal": 1, "hw_thermal": 4}, {"thermal": 1, "hw_thermal": 4}, {"thermal": 2, "hw_thermal": 4}]
    )
    monkeypatch.setattr(sources, "_throttled", lambda: (None, next(counts)))
    assert [sources.readings()["throttle_reasons"] for _ in range(3)] == [None, [], ["thermal"]]


# --- what cannot be read ---


def test_energy_that_only_root_may_read_is_said_with_what_to_do(device, tmp_path):
    device._sources.energy = Counter(None)
    device._sources.energy.packages = (tmp_path / "intel-rapl:0",)
    lack = device.lacks()[0]
    assert lack.what == "energy_j_total, power_w"
    assert "intel-rapl:0/energy_uj may not be read" in lack.why
    assert "chmod o+r" in lack.how


def test_a_machine_without_a_counter_of_energy_is_said(device):
    device._sources.energy = Counter(None)
    assert "no energy counter" in device.lacks()[0].why


def test_nothing_is_lacking_where_all_is_read(device, monkeypatch):
    device._sources.energy = Counter(5.0)
    monkeypatch.setattr(device._sources, "temperature", lambda: 40.0)
    assert device.lacks() == []
