"""What to try next against what holds a program back: nothing without a number that speaks for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.accelerators.lookup import figures_of
from app.analysis.efficiency import advice as module
from app.analysis.efficiency.advice import LOWER, RULES, SIZES_B, advice
from app.analysis.efficiency.bottleneck import BottleneckKind

PAGE = (Path(__file__).parents[4] / "docs" / "efficiency.md").read_text(encoding="utf-8")
H100 = {dtype: given.value or 0.0 for dtype, given in figures_of("NVIDIA H100 80GB HBM3").peaks().items()}


def codes(
    *kinds: str, dtype: str | None = None, peaks: dict[str, float] | None = None, **signs: float
) -> list[str]:
    return [its.code for its in advice(kinds, signs, dtype=dtype, peaks=peaks)]


@pytest.mark.parametrize(
    ("kinds", "signs", "dtype", "wanted"),
    [
        (["input"], {"input_wait_share": 0.31}, None, ["feed_input"]),
        (["communication"], {"comm_share": 0.2}, None, ["overlap_collectives"]),
        (["launch"], {"device_share": 0.6}, None, ["launch_less"]),
        (["launch"], {"util": 0.6, "sm_active": 0.1}, None, ["launch_less", "larger_batch"]),
        (["launch"], {"util": 0.6, "input_wait_share": 0.25}, None, []),
        (["power"], {"power_throttle_share": 0.9}, None, ["raise_power_limit"]),
        (["power"], {"thermal_throttle_share": 0.5}, None, ["cool_device"]),
        (["compute"], {"mfu": 0.55}, "fp32", ["faster_dtype"]),
        (["compute"], {"mfu": 0.8}, "fp8", ["fewer_operations"]),
        (["compute"], {"tensor_active": 0.6}, "fp32", []),
        (["memory"], {"bandwidth_util": 0.6}, "bf16", ["fuse_kernels", "smaller_dtype"]),
        (["memory"], {"bandwidth_util": 0.6}, None, ["fuse_kernels"]),
        (["memory"], {"dram_active": 0.8, "bandwidth_util": 0.4}, "fp8", ["move_less"]),
        (["memory"], {"dram_active": 0.8}, "bf16", []),
        (["unclear"], {"tensor_active": 0.05, "mfu": 0.04}, "bf16", ["use_tensor_cores", "profile"]),
        (["unclear"], {"tensor_active": 0.05}, "fp32", []),
        (["unclear"], {"sm_active": 0.2}, None, ["fill_device"]),
        (["unclear"], {}, "bf16", []),
        (
            ["input", "memory"],
            {"input_wait_share": 0.3, "bandwidth_util": 0.5},
            "int8",
            ["feed_input", "fuse_kernels"],
        ),
        (["a class of tomorrow"], {"mfu": 0.1}, "bf16", []),
    ],
)
def test_each_class_has_its_advice_where_a_number_speaks_for_it(
    kinds: list[str], signs: dict[str, float], dtype: str | None, wanted: list[str]
) -> None:
    assert codes(*kinds, dtype=dtype, peaks=H100, **signs) == wanted


def test_what_rests_on_peaks_is_not_said_of_a_device_whose_peaks_nobody_knows() -> None:
    assert codes("unclear", dtype="bf16", tensor_active=0.01) == []
    assert codes("compute", dtype="fp32", mfu=0.6) == []


def test_advice_comes_with_its_number_and_with_what_must_hold() -> None:
    (its,) = advice(("unclear",), {"tensor_active": 0.0612}, dtype="fp16", peaks=H100)
    assert its.evidence == (
        "the matrix units work in 6.12 % of the cycles, and the peak of fp16 on them is 14.8 times that of fp32"
    )
    assert its.holds_if


@pytest.mark.parametrize("share", [0.0, 0.19999, 1.0])
def test_thresholds_are_those_of_the_classes(share: float) -> None:
    assert bool(codes("input", input_wait_share=share)) == (share >= 0.2)


def test_the_page_has_the_table_of_the_code() -> None:
    part = PAGE.partition("### What to try next")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$", part, re.MULTILINE)
    assert rows == [(rule.code, rule.kind.value, rule.when, rule.text, rule.holds_if) for rule in RULES]
    for name, share in (("IDLE_TENSOR_CORES", 20), ("SMALL_KERNELS", 40), ("LITTLE_LEFT", 70)):
        assert round(100 * getattr(module, name)) == share
        assert f"{share} %" in part.rpartition("|")[2]
    told = dict(re.findall(r"`(\w+)` → ([^;.]+)", part))
    assert {dtype: tuple(re.findall(r"`(\w+)`", others)) for dtype, others in told.items()} == dict(LOWER)


def test_every_class_has_something_to_try_and_every_dtype_a_size() -> None:
    assert {rule.kind for rule in RULES} == set(BottleneckKind)
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert {dtype for pair in LOWER.items() for dtype in (pair[0], *pair[1])} <= SIZES_B.keys()
