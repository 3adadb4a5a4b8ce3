"""The kernels, run on a machine of the tests: what they work out, and that they touch nothing else."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from tests.unit.workers.control.ptx_machine import Kernel, Memory, from_bf16
from workers.control.backends import ptx

NAN = float("nan")


def drawn(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def as_bf16(values):
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def test_gemm_bf16_multiplies_every_row_with_every_row():
    rows, columns, depth = 256, 128, 96
    a, b = as_bf16(drawn(rows, depth)), as_bf16(drawn(columns, depth, seed=2))
    memory = Memory()
    places = [memory.put(part) for part in (a, b, np.full((rows, columns), NAN, np.float32))]
    kernel = Kernel(ptx.gemm_bf16(rows, columns, depth), "gemm_bf16")
    grid = (columns // ptx.BF16_BLOCK, rows // ptx.BF16_BLOCK)
    kernel.run(memory, grid, dict(zip("abc", places, strict=True)))
    wanted = from_bf16(a).astype(np.float64) @ from_bf16(b).astype(np.float64).T
    assert memory.get(places[2], np.float32).reshape(rows, columns) == pytest.approx(wanted, abs=1e-3)


def test_gemm_fp32_multiplies_every_column_with_every_column():
    rows, columns, depth = 128, 256, 7
    a, b = drawn(depth, rows), drawn(depth, columns, seed=2)
    memory = Memory()
    places = [memory.put(part) for part in (a, b, np.full((rows, columns), NAN, np.float32))]
    kernel = Kernel(ptx.gemm_fp32(rows, columns, depth), "gemm_fp32")
    grid = (columns // ptx.FP32_BLOCK_COLUMNS, rows // ptx.FP32_BLOCK_ROWS)
    kernel.run(memory, grid, dict(zip("abc", places, strict=True)))
    wanted = a.astype(np.float64).T @ b.astype(np.float64)
    assert memory.get(places[2], np.float32).reshape(rows, columns) == pytest.approx(wanted, abs=1e-5)


def test_triad_adds_one_array_to_a_multiple_of_another():
    count = 2 * ptx.TRIAD_THREADS * ptx.TRIAD_FLOATS
    left, right = drawn(count), drawn(count, seed=2)
    memory = Memory()
    places = [memory.put(part) for part in (np.full(count, NAN, np.float32), left, right)]
    arguments = {**dict(zip(("out", "left", "right"), places, strict=True)), "scale": 0.5}
    Kernel(ptx.triad(), "triad").run(memory, (2, 1), arguments)
    assert memory.get(places[0], np.float32) == pytest.approx(left + 0.5 * right)
    assert memory.get(places[1], np.float32).tolist() == left.tolist()


def test_a_launch_that_is_too_large_for_its_data_would_be_seen():
    memory = Memory()
    places = [memory.put(drawn(1024)) for _ in range(3)]
    arguments = {**dict(zip(("out", "left", "right"), places, strict=True)), "scale": 0.5}
    with pytest.raises(AssertionError, match="nothing was allocated"):
        Kernel(ptx.triad(), "triad").run(memory, (2, 1), arguments)


@pytest.mark.parametrize(
    ("text", "version", "target", "entries"),
    [
        (ptx.basic_module(), "6.0", "sm_50", ["empty", "triad"]),
        (ptx.gemm_fp32_module(1024), "6.0", "sm_50", ["gemm_fp32"]),
        (ptx.gemm_bf16_module(2048), "7.0", "sm_80", ["gemm_bf16"]),
    ],
)
def test_a_module_says_for_which_devices_it_is(text, version, target, entries):
    assert text.startswith(f".version {version}\n.target {target}\n.address_size 64\n")
    assert re.findall(r"\.visible \.entry (\w+)\(", text) == entries
    assert text.endswith("}\n")


@pytest.mark.parametrize("text", [ptx.basic_module(), ptx.gemm_fp32_module(2048), ptx.gemm_bf16_module(4096)])
def test_every_register_is_declared_once(text):
    for entry in text.split(".visible")[1:]:
        declared = [
            name for names in re.findall(r"\.reg \.\w+ ([^;]+);", entry) for name in names.split(", ")
        ]
        body = re.sub(r"\.reg [^;]+;", "", entry)
        used = set(re.findall(r"%\w+(?!\.)\b", body)) - {"%tid", "%ctaid"}
        assert len(declared) == len(set(declared))
        assert used <= set(declared)


def test_the_largest_offsets_of_a_thread_fit_the_instructions_of_every_device():
    offsets = re.findall(r"\+(\d+)\]", ptx.gemm_bf16_module(4096) + ptx.gemm_fp32_module(2048))
    assert max(map(int, offsets)) < 2**23


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="NVIDIA's assembler is not installed")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_120"])
def test_the_maker_s_assembler_takes_every_module_and_needs_no_memory_for_registers(tmp_path, architecture):
    for text in (ptx.basic_module(), ptx.gemm_fp32_module(2048), ptx.gemm_bf16_module(4096)):
        (tmp_path / "kernels.ptx").write_text(text)
        said = subprocess.run(
            ["ptxas", "-v", f"-arch={architecture}", "-o", "/dev/null", "kernels.ptx"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}
