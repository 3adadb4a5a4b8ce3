"""Backends of frameworks that an agent need not have: with doubles, and with the real ones where they are."""

import pytest

from tests.unit.workers.control.fake_torch import STEP_S, FakeTorch
from workers.control.backends import opened, with_jax, with_torch
from workers.control.backends.host import COPY_B, MIB
from workers.control.backends.interface import UnavailableError
from workers.control.backends.with_jax import Jax
from workers.control.backends.with_torch import (
    N,
    TorchGpu,
    TorchNeuron,
    TorchProcessor,
    TorchTpu,
)
from workers.control.pacing import Pace, timed
from workers.control.probes import FULL

QUICK = Pace(warm_s=0.0, batch_s=1e-4, enough_s=0.0, least=2, longest_s=1.0)


# --- PyTorch on a GPU ---


@pytest.mark.parametrize(("hip", "name"), [("6.4", "torch-9.9.9 rocm-6.4"), (None, "torch-9.9.9 cuda-13.0")])
def test_the_name_of_a_gpu_s_backend_has_the_versions_of_all_that_takes_part(monkeypatch, hip, name):
    FakeTorch(hip=hip).install(monkeypatch)
    assert opened({"kind": "amd"}, 0).name == name


@pytest.mark.parametrize(
    ("probe", "amount", "step"),
    [
        ("gemm", 2 * N**3, "mm"),
        ("triad", 3 * 256 * MIB, "add 0.5"),
        ("h2d", COPY_B, "copy cpu to cuda:1"),
        ("d2h", COPY_B, "copy cuda:1 to cpu"),
    ],
)
def test_a_gpu_is_timed_by_its_own_clock(monkeypatch, probe, amount, step):
    torch = FakeTorch().install(monkeypatch)
    with TorchGpu(1).work(probe) as work:
        torch.done.clear()
        assert work.run(5) == pytest.approx(5 * STEP_S)
        assert work.amount == amount
    assert torch.done == [step] * 5


def test_a_gpu_s_smallest_launch_is_timed_by_the_host_until_all_are_done(monkeypatch):
    torch = FakeTorch().install(monkeypatch)
    with TorchGpu(0).work("empty_launch") as work:
        torch.done.clear()
        assert work.run(3) > 0
    assert torch.done == ["zero"] * 3
    assert torch.waited == 1


def test_memory_that_pytorch_keeps_is_given_back(monkeypatch):
    torch = FakeTorch().install(monkeypatch)
    TorchGpu(0).close()
    assert torch.done[-1] == "emptied"


def test_pytorch_without_a_gpu_is_no_backend(monkeypatch):
    FakeTorch(gpus=0).install(monkeypatch)
    with pytest.raises(UnavailableError, match="no_device: PyTorch sees no GPU"):
        TorchGpu(0)


# --- PyTorch through XLA ---


@pytest.mark.parametrize(("backend", "hardware"), [(TorchTpu, "TPU"), (TorchNeuron, "NEURON")])
@pytest.mark.parametrize(
    ("probe", "steps"),
    [
        ("gemm", ["mm"]),
        ("triad", ["add 0.5"]),
        ("h2d", ["cpu to xla:1", "add"]),
        ("d2h", ["add", "fetch"]),
        ("empty_launch", ["zero"]),
    ],
)
def test_each_iteration_on_xla_is_carried_out(monkeypatch, backend, hardware, probe, steps):
    torch = FakeTorch(lazy=hardware).install(monkeypatch)
    with backend(1).work(probe) as work:
        torch.step()
        torch.done.clear()
        waited = torch.waited
        assert work.run(4) > 0
    assert torch.done == steps * 4
    assert torch.waited == waited + 1


@pytest.mark.parametrize(
    ("index", "hardware", "reason"),
    [(0, "CPU", "XLA works on CPU, not on TPU"), (2, "TPU", "XLA shows 2 devices, none at 2")],
)
def test_xla_on_other_hardware_is_no_backend(monkeypatch, index, hardware, reason):
    FakeTorch(lazy=hardware).install(monkeypatch)
    with pytest.raises(UnavailableError, match=f"no_device: {reason}"):
        TorchTpu(index)


# --- the processor, and real frameworks ---


def test_pytorch_on_the_processor_has_one_thread_and_no_copies(monkeypatch):
    torch = FakeTorch().install(monkeypatch)
    backend = opened({"kind": "cpu", "backend": "torch"}, 0)
    assert backend.name == "torch-9.9.9 cpu"
    assert "1 threads" in torch.done
    with pytest.raises(UnavailableError, match="no_device_memory"):
        backend.work("h2d")
    with backend.work("gemm") as work:
        assert work.name == "gemm_fp32"


@pytest.mark.gpu
def test_the_real_pytorch_runs_every_probe_of_a_processor(monkeypatch):
    pytest.importorskip("torch", reason="no GPU host: PyTorch is not installed")
    monkeypatch.setattr(TorchProcessor, "n", 64)
    monkeypatch.setattr(with_torch, "STREAM_B", MIB)
    backend = TorchProcessor(0)
    for probe in set(FULL) - {"h2d", "d2h"}:
        with backend.work(probe) as work:
            assert timed(work.run, QUICK).seconds > 0


@pytest.mark.gpu
def test_the_real_jax_runs_every_probe(monkeypatch):
    pytest.importorskip("jax", reason="no accelerator's host: JAX is not installed")
    monkeypatch.setattr(with_jax, "COPY_B", MIB)
    backend = Jax(0, "cpu", n=64, stream_b=MIB)
    assert backend.name.endswith(" cpu")
    for probe in FULL:
        with backend.work(probe) as work:
            assert timed(work.run, QUICK).seconds > 0


@pytest.mark.gpu
def test_jax_without_the_platform_is_no_backend():
    pytest.importorskip("jax", reason="no accelerator's host: JAX is not installed")
    with pytest.raises(UnavailableError, match="no_device: "):
        Jax(0)
