import re

import pytest

from app.accelerators.lookup import figures_of, plain_name

GIB, MIB = 2**30, 2**20


@pytest.mark.parametrize(
    ("name", "found"),
    [
        # as NVIDIA's driver names them, by generation of the driver
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
        ("Tesla V100-SXM2-32GB", "V100-SXM2-32GB"),
        ("Tesla V100-PCIE-32GB", "V100-PCIE-32GB"),
        ("Tesla T4", "T4"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("NVIDIA A100-SXM-80GB", "A100-SXM4-80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA A100-PCIE-40GB", "A100-PCIE-40GB"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIE-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("NVIDIA H200", "H200-SXM"),
        ("NVIDIA B200", "B200-SXM"),
        # AMD
        ("AMD Instinct MI210", "MI210"),
        ("AMD INSTINCT MI250 (MCM) OAM AC MBA", "MI250"),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct™ MI300X OAM", "MI300X"),
        # Google: tpu-info, PJRT, accelerator types, node labels
        ("TPU v2 chip", "TPU-v2"),
        ("v3-8", "TPU-v3"),
        ("TPU v4", "TPU-v4"),
        ("TPU v5 lite", "TPU-v5e"),
        ("v5litepod-16", "TPU-v5e"),
        ("TPU v5", "TPU-v5p"),
        ("v5p-128", "TPU-v5p"),
        ("v6e", "TPU-v6e"),
        ("TPU v6 lite", "TPU-v6e"),
        ("tpu-v6e-slice", "TPU-v6e"),
        # AWS
        ("inf1.24xlarge", "Inferentia1"),
        ("inf2", "Inferentia2"),
        ("Inferentia2", "Inferentia2"),
        ("trn1n.32xlarge", "Trainium1"),
        ("trn2u.48xlarge", "Trainium2"),
        # Jetson
        ("NVIDIA Jetson Nano Developer Kit", "Jetson-Nano"),
        ("NVIDIA Jetson Xavier NX Developer Kit", "Jetson-Xavier-NX"),
        # classes
        ("nvidia-h100-sxm5-80gb", "H100-SXM"),
        ("nvidia-h200-sxm5-141gb", "H200-SXM"),
        ("nvidia-a100-pcie-80gb", "A100-PCIE-80GB"),
        ("nvidia-t4", "T4"),
        ("amd-mi300x", "MI300X"),
        ("tpu-v5e", "TPU-v5e"),
        ("tpu-v6e", "TPU-v6e"),
        ("jetson-orin-agx-64gb", "Jetson-AGX-Orin-64GB"),
        ("jetson-orin-nano-8gb", "Jetson-Orin-Nano-8GB"),
    ],
)
def test_name_of_a_vendors_tool_or_a_class_is_found(name, found):
    figures = figures_of(name)
    assert figures.accelerator is not None, figures.hint
    assert figures.accelerator.name == found


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NVIDIA GH200 480GB", "H200-SXM"),
        ("NVIDIA GH200 144G HBM3e", "H200-SXM"),
        ("NVIDIA GB200", "B200-SXM"),
        ("NVIDIA B300 SXM6 AC", "B200-SXM"),
        ("NVIDIA A10", "A10G"),
        ("NVIDIA L40", "L40S"),
        ("NVIDIA T4G", "T4"),
        ("Tesla V100S-PCIE-32GB", "V100-PCIE-32GB"),
        ("NVIDIA H100 NVL", "H100-SXM"),
        ("NVIDIA H200 NVL", "H200-SXM"),
        ("NVIDIA H100", "H100-PCIe"),
        ("NVIDIA A100-PG509-200", "A100-SXM4-40GB"),
        ("AMD Instinct MI250X", "MI250"),
        ("AMD Instinct MI250X/MI250", "MI250"),
        ("AMD Instinct MI300A", "MI300X"),
        ("TPU v4 lite", "TPU-v4"),
    ],
)
def test_neighbour_of_a_listed_model_is_not_taken_for_it_and_the_hint_names_that(name, near):
    figures = figures_of(name)
    assert figures.accelerator is None
    assert name in figures.hint
    assert near in figures.hint
    peak = figures.peak("bf16")
    assert (peak.value, peak.origin) == (None, figures.hint)
    assert figures.bandwidth().value is figures.memory().value is figures.tdp().value is None
    assert figures.peaks() == {}


@pytest.mark.parametrize(
    "name", ["NVIDIA GeForce RTX 4090", "Radeon VII", "widget", "TPU7x chip", "cpu-epyc-64t"]
)
def test_unknown_model_has_no_figures(name):
    assert figures_of(name).accelerator is None


@pytest.mark.parametrize("names", [(), ("",), (None, None), ("NVIDIA",)])
def test_device_without_a_name_has_no_figures(names):
    assert figures_of(*names).hint == "what the device is has not been told"


def test_class_is_asked_where_the_model_says_nothing():
    assert figures_of("", "nvidia-l4").accelerator.name == "L4"
    assert figures_of("Neuron device", "inf2").accelerator.name == "Inferentia2"
    assert figures_of("NVIDIA A100-SXM4", "nvidia-a100-sxm4-40gb").accelerator.name == "A100-SXM4-40GB"


# --- memory ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "memory_b", "found"),
    [
        ("NVIDIA A100-SXM4", 40_536 * MIB, "A100-SXM4-40GB"),
        ("NVIDIA A100-SXM4", 81_920 * MIB, "A100-SXM4-80GB"),
        ("NVIDIA Jetson AGX Orin Developer Kit", 62_841 * MIB, "Jetson-AGX-Orin-64GB"),
        ("NVIDIA Jetson Orin Nano Developer Kit", 7_620 * MIB, "Jetson-Orin-Nano-8GB"),
        ("NVIDIA L4", 23_034 * MIB, "L4"),
        ("Tesla T4", 15_360 * MIB, "T4"),
        ("NVIDIA H200", 143_771 * MIB, "H200-SXM"),
        ("NVIDIA B200", 183_359 * MIB, "B200-SXM"),
        ("AMD Instinct MI300X", 206_141_652_992, "MI300X"),
        ("TPU v6e chip", 31.25 * GIB, "TPU-v6e"),
    ],
)
def test_memory_settles_the_size_and_a_little_less_than_stated_is_usual(name, memory_b, found):
    assert figures_of(name, memory_b=memory_b).accelerator.name == found


@pytest.mark.parametrize(
    ("name", "memory_b"),
    [
        ("NVIDIA Jetson AGX Orin Developer Kit", 30_536 * MIB),
        ("NVIDIA Jetson Orin Nano Developer Kit", 3_500 * MIB),
        ("NVIDIA A100-SXM4-80GB", 9_728 * MIB),
        ("AMD Instinct MI300X", 24 * GIB),
        ("Tesla T4", 24 * GIB),
    ],
)
def test_memory_that_contradicts_the_name_gives_no_figures(name, memory_b):
    figures = figures_of(name, memory_b=memory_b)
    assert figures.accelerator is None
    assert f"{memory_b / GIB:.4g} GiB" in figures.hint


@pytest.mark.parametrize(
    "name", ["NVIDIA A100-SXM4", "NVIDIA Jetson AGX Orin Developer Kit", "Tesla V100-PCIE"]
)
def test_name_that_leaves_the_size_open_gives_no_figures_without_the_memory(name):
    figures = figures_of(name)
    assert figures.accelerator is None
    assert "leaves the memory unsaid" in figures.hint


# --- whole and part -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "parts", "bf16"),
    [
        ("AMD Instinct MI250", {"memory_b": 68_702_699_520}, 2, 181e12),
        ("AMD Instinct MI250", {"memory_b": 128 * GIB}, 1, 362e12),
        ("AMD Instinct MI250", {"cores": 104}, 2, 181e12),
        ("AMD Instinct MI250", {"cores": 208}, 1, 362e12),
        ("AMD Instinct MI250", {}, 2, 181e12),
        ("TPU v3 chip", {"cores": 2}, 1, 123e12),
        ("TPU v3", {"memory_b": 16 * GIB}, 2, 61.5e12),
        ("TPU v3", {}, 2, 61.5e12),
        ("TPU v2", {}, 2, 22.5e12),
        ("TPU v4", {"cores": 2}, 1, 275e12),
        ("inf1.xlarge", {"cores": 4}, 1, 64e12),
        ("inf1.xlarge", {"cores": 1}, 4, 16e12),
        ("inf2.xlarge", {"memory_b": 32 * GIB, "cores": 2}, 1, 190e12),
        ("inf2.xlarge", {"memory_b": 16 * GIB}, 2, 95e12),
        ("trn2.48xlarge", {"memory_b": 96 * GIB, "cores": 4}, 1, 667e12),
        ("trn2.48xlarge", {"memory_b": 24 * GIB}, 4, 166.75e12),
        ("trn2.48xlarge", {"memory_b": 12 * GIB}, 8, 83.375e12),
        ("NVIDIA H100 80GB HBM3", {"cores": 132}, 1, 989e12),
    ],
)
def test_figures_are_those_of_the_device_that_is_seen(name, known, parts, bf16):
    figures = figures_of(name, **known)
    assert figures.parts == parts
    assert figures.peak("bf16").value == pytest.approx(bf16)


def test_part_of_a_module_has_its_share_of_bandwidth_and_memory_and_the_power_of_the_whole():
    gcd = figures_of("AMD Instinct MI250", memory_b=64 * GIB)
    assert gcd.bandwidth().value == pytest.approx(1638.5e9)
    assert gcd.memory().value == 64 * GIB
    assert gcd.tdp().value == 500
    assert "1/2 of 1 OAM module, as 1 GCD" in gcd.peak("fp16").origin
    assert "560 W" in gcd.tdp().origin


def test_part_that_is_only_assumed_is_said_to_be():
    assert "taken for 1 TensorCore" in figures_of("TPU v3").peak("bf16").origin
    assert "taken for" not in figures_of("TPU v3", cores=1).peak("bf16").origin


def test_number_of_cores_that_is_neither_whole_nor_part_gives_no_figures():
    figures = figures_of("AMD Instinct MI250", cores=38)
    assert figures.accelerator is None
    assert "38 cores" in figures.hint


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("nvidia-a100-sxm4-40gb-mig-1g-5gb", None),
        ("NVIDIA H100 80GB HBM3", "enabled"),
        ("AMD Instinct MI300X", "CPX"),
        ("AMD Instinct MI300X", "DPX/NPS1"),
        ("GRID T4-16Q", None),
        ("NVIDIA A40-48Q", None),
        ("AMD Instinct MI300X VF", None),
    ],
)
def test_share_of_a_device_gets_no_share_of_its_peak(name, partition):
    figures = figures_of(name, partition=partition)
    assert figures.accelerator is None
    assert "share of the whole device's peak is not stated" in figures.hint


@pytest.mark.parametrize("partition", [None, "", "disabled", "SPX", "SPX/NPS1", "N/A"])
def test_device_that_is_not_divided_keeps_its_peak(partition):
    assert figures_of("AMD Instinct MI300X", partition=partition).peak("bf16").value == 1307e12


# --- power modes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["MODE_15W", "15W", "MODE_30W", None])
def test_jetson_below_its_full_power_keeps_its_peak_with_a_note(mode):
    figures = figures_of("jetson-agx-orin-64gb", power_mode=mode)
    assert figures.peak("bf16").value == 42.5e12
    assert "the peak holds in power mode MAXN" in figures.peak("bf16").origin


def test_jetson_in_its_full_power_mode_needs_no_note():
    assert figures_of("jetson-agx-orin-64gb", power_mode="MAXN").notes == ()
    assert figures_of("jetson-xavier-nx", power_mode="MODE_20W_6CORE").notes == ()
    assert figures_of("NVIDIA H100 80GB HBM3").notes == ()


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("jetson-orin-nano-8gb", "MAXN_SUPER"),
        ("jetson-orin-nano-8gb", "25W"),
        ("jetson-orin-nx-16gb", "40W"),
    ],
)
def test_jetson_that_is_faster_than_its_figures_has_none(name, mode):
    figures = figures_of(name, power_mode=mode)
    assert figures.accelerator is None
    assert mode in figures.hint


def test_power_mode_that_belongs_to_the_larger_module_is_an_ordinary_one():
    assert figures_of("jetson-orin-nx-16gb", power_mode="25W").accelerator is not None


# --- single figures -------------------------------------------------------------------------------------------


def test_figure_says_where_it_is_from_and_whether_it_was_compared():
    h100, a10g = figures_of("NVIDIA H100 80GB HBM3"), figures_of("NVIDIA A10G")
    peak = h100.peak("torch.bfloat16")
    assert (peak.value, peak.unit, peak.is_verified) == (989e12, "FLOP/s", True)
    assert peak.origin == "H100-SXM (1 GPU), https://www.nvidia.com/en-us/data-center/h100/"
    assert not a10g.peak("bf16").is_verified
    assert "not verified" in a10g.bandwidth().origin
    assert figures_of("NVIDIA H100 PCIe").peak("bf16").is_verified
    assert not figures_of("NVIDIA H100 PCIe").tdp().is_verified


@pytest.mark.parametrize(
    ("name", "dtype", "reason"),
    [
        ("Tesla T4", "bf16", "no bf16 peak of the T4 is listed"),
        ("NVIDIA A100-SXM4-40GB", "fp8", "no fp8 peak of the A100-SXM4-40GB is listed"),
        ("NVIDIA H100 80GB HBM3", "fp64", "no fp64 peak of the H100-SXM is listed"),
        ("TPU v6e", "fp16", "no fp16 peak of the TPU-v6e is listed"),
        ("NVIDIA L4", "posit16", '"posit16" is none of the dtypes that peaks are kept by'),
    ],
)
def test_dtype_without_a_peak_says_so(name, dtype, reason):
    peak = figures_of(name).peak(dtype)
    assert peak.value is None
    assert reason in peak.origin


def test_power_that_is_not_published_is_not_known():
    assert figures_of("TPU v5e").tdp().value is None
    assert "no design power" in figures_of("TPU v5e").tdp().origin


def test_peaks_are_all_that_is_listed():
    assert set(figures_of("Tesla T4").peaks()) == {"fp32", "fp16", "int8"}
    assert figures_of("Tesla T4").peaks()["int8"].value == 130e12


def test_name_is_compared_without_the_words_that_say_nothing():
    assert plain_name("NVIDIA A100-SXM4-40GB") == plain_name("nvidia-a100-sxm4-40gb") == "a100-sxm4-40gb"
    assert plain_name("AMD Instinct™ MI300X") == "mi300x"
    assert plain_name(None) == ""


# --- names as recorded ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("nvidia-smi/a100-sxm4-v12.xml", {"A100-SXM4-80GB"}),
        ("nvidia-smi/a10g.xml", {"A10G"}),
        ("nvidia-smi/tesla-t4.xml", {"T4"}),
        ("nvidia-smi/tesla-p100.xml", {None}),
        ("nvidia-smi/rtx-3080-v13.xml", {None}),
    ],
)
def test_products_of_recorded_outputs_are_found_or_refused(file, found, recordings):
    names = set(re.findall(r"<product_name>([^<]+)<", (recordings / file).read_text(encoding="utf-8")))
    assert names
    accelerators = [figures_of(name).accelerator for name in names]
    assert {entry and entry.name for entry in accelerators} == found
