import csv
import re

import pytest

from app.accelerators.catalogue import ACCELERATORS
from app.accelerators.lookup import plain_name
from app.accelerators.model import DTYPES, GIB, dtype_name

LISTED = list(ACCELERATORS.values())
each = pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.name)


@each
def test_entry_has_peaks_of_known_dtypes_in_plausible_units(entry):
    assert entry.flops
    assert set(entry.flops) <= set(DTYPES)
    assert all(1e11 < peak < 1e17 for peak in entry.flops.values())
    assert 1e10 < entry.bandwidth_b_s < 1e14
    assert 1 <= entry.memory_gib <= 512
    assert entry.tdp_w is None or 5 <= entry.tdp_w <= 2000


@each
def test_narrower_dtypes_are_no_slower(entry):
    widths = [entry.flops.get(dtype, 0.0) for dtype in ("fp32", "tf32", "bf16", "fp8")]
    known = [peak for peak in widths if peak]
    assert known == sorted(known)
    if {"bf16", "fp16"} <= entry.flops.keys():
        assert entry.flops["bf16"] == entry.flops["fp16"]


@each
def test_entry_names_its_source_and_what_was_not_compared_with_it(entry):
    assert re.fullmatch(r"https://[\w.-]+/[\w./-]+", entry.source)
    assert entry.unverified <= set(entry.figures)
    assert set(entry.remarks) <= set(entry.figures)
    assert entry.checked == (
        "no" if entry.unverified == set(entry.figures) else "partly" if entry.unverified else "yes"
    )


@each
def test_entry_that_shows_as_several_devices_says_what_one_is(entry):
    assert (entry.parts != (1,)) == bool(entry.part)
    assert all(parts > 1 for parts in entry.parts) or entry.parts == (1,)
    assert entry.cores is None or all(entry.cores % parts == 0 for parts in entry.parts)


@each
def test_entry_is_found_by_its_own_name_and_by_no_other_pattern(entry):
    fitting = [
        other.name
        for other in LISTED
        if any(re.fullmatch(pattern, plain_name(entry.name)) for pattern in other.names)
    ]
    assert fitting == [entry.name]


@pytest.mark.parametrize(
    ("spelled", "dtype"),
    [
        ("bf16", "bf16"),
        ("torch.bfloat16", "bf16"),
        ("Float32", "fp32"),
        ("half", "fp16"),
        ("float8_e4m3fn", "fp8"),
        ("jnp.int8", "int8"),
        ("fp64", "fp64"),
        ("fp4", None),
        ("", None),
    ],
)
def test_dtype_is_known_by_the_names_that_frameworks_have_for_it(spelled, dtype):
    assert dtype_name(spelled) == dtype


# --- against the facts that were collected beside the project ------------------------------------------------


SAME = {"V100-PCIE": "V100-PCIE-32GB"}
LEFT_OUT = {("TPU-v6e", "fp16")}
"""Figures that the named source does not have: the matrix units of a TPU take no fp16."""


@pytest.fixture
def rows(recordings):
    with (recordings / "accelerators.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_figures_are_those_of_the_collected_facts(rows):
    for row in rows:
        entry = ACCELERATORS[SAME.get(row["name"], row["name"])]
        for dtype in ("fp32", "tf32", "bf16", "fp16", "fp8", "int8"):
            stated = row.get(f"{dtype}_tflops") or row.get(f"{dtype}_tops")
            if (entry.name, dtype) in LEFT_OUT:
                assert dtype not in entry.flops
            else:
                wanted = pytest.approx(float(stated) * 1e12) if stated else None
                assert entry.flops.get(dtype) == wanted, (entry.name, dtype)
        assert entry.bandwidth_b_s == pytest.approx(float(row["mem_bw_gb_s"]) * 1e9, rel=0.01)
        assert entry.memory_gib == float(row["mem_gb"])
        assert entry.tdp_w == (float(row["tdp_w"]) if row["tdp_w"] else None)
        assert entry.source == row["source"]
        if row["checked"] == "no":
            assert entry.checked in ("no", "partly")


def test_every_collected_model_is_listed_and_the_rest_are_sizes_of_them(rows):
    named = {SAME.get(row["name"], row["name"]) for row in rows}
    assert set(ACCELERATORS) - named == {"V100-SXM2-16GB", "V100-PCIE-16GB"}
    assert named <= set(ACCELERATORS)


def test_memory_of_a_gpu_is_counted_in_binary_units():
    assert ACCELERATORS["H100-SXM"].memory_gib * GIB > 81_559 * 2**20
