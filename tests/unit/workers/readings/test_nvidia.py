import pytest

from workers.readings.nvidia.products import clock_policy, device_class, mig_class, mode_text, partition_mode

GIB = 2**30


@pytest.mark.parametrize(
    ("model", "memory_gib", "name"),
    [
        ("NVIDIA H100 80GB HBM3", 79.6, "nvidia-h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", 79.6, "nvidia-h100-pcie-80gb"),
        ("NVIDIA H100 NVL", 93.6, "nvidia-h100-nvl-94gb"),
        ("NVIDIA H200", 140.4, "nvidia-h200-sxm5-141gb"),
        ("NVIDIA A100-SXM4-40GB", 39.6, "nvidia-a100-sxm4-40gb"),
        ("A100-SXM-80GB", 79.2, "nvidia-a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", 80.0, "nvidia-a100-pcie-80gb"),
        ("A100-PCIE-40GB", 39.6, "nvidia-a100-pcie-40gb"),
        ("Tesla V100-SXM2-16GB", 15.8, "nvidia-v100-sxm2-16gb"),
        ("Tesla P100-PCIE-16GB", 15.9, "nvidia-p100-pcie-16gb"),
        ("Tesla T4", 14.7, "nvidia-t4"),
        ("NVIDIA L40S", 45.0, "nvidia-l40s"),
        ("NVIDIA A10G", 22.5, "nvidia-a10g"),
        ("NVIDIA GeForce RTX 3080", 10.0, "nvidia-rtx-3080"),
        ("GeForce GTX 1060 6GB", 5.9, "nvidia-gtx-1060-6gb"),
        ("NVIDIA RTX 6000 Ada Generation", 47.5, "nvidia-rtx-6000-ada"),
        ("NVIDIA GH200 144G HBM3e", 140.0, "nvidia-gh200-144gb"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4.75, "nvidia-a100-sxm4-40gb-mig-1g.5gb"),
    ],
)
def test_the_class_names_chip_form_and_memory_of_a_product(model, memory_gib, name):
    assert device_class(model, round(memory_gib * GIB)) == name


@pytest.mark.parametrize("model", ["NVIDIA H100 PCIe", "NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3"])
def test_the_class_is_the_same_where_a_source_does_not_tell_the_memory(model):
    assert device_class(model, None) == device_class(model, 10 * GIB)


def test_the_class_of_a_chip_of_several_sizes_has_the_whole_gibibytes_that_hold_what_the_driver_shows():
    assert device_class("NVIDIA H100", 81559 * 2**20) == "nvidia-h100-sxm5-80gb"
    assert device_class("NVIDIA H100", 80 * GIB) == "nvidia-h100-sxm5-80gb"
    assert device_class("NVIDIA H100", None) == "nvidia-h100-sxm5"


@pytest.mark.parametrize("model", [None, "", "NVIDIA", "Tesla GPU"])
def test_a_product_without_a_name_is_of_an_unknown_class(model):
    assert device_class(model, 16 * GIB) == "nvidia-unknown"


@pytest.mark.parametrize(
    ("profile", "end"),
    [
        ("1g.5gb", "mig-1g.5gb"),
        ("1g.10gb+me", "mig-1g.10gb-me"),
        ("1c.3g.20gb", "mig-1c.3g.20gb"),
        (None, "mig"),
    ],
)
def test_the_class_of_an_instance_ends_in_its_profile(profile, end):
    assert mig_class("nvidia-a30", profile) == f"nvidia-a30-{end}"


@pytest.mark.parametrize(
    ("app_hz", "default_hz", "locked", "policy"),
    [
        (1.2e9, 1.245e9, None, "application"),
        (1.2e9, 1.245e9, True, "locked"),
        (None, None, True, "locked"),
        (1.2e9, 1.2e9, False, "automatic"),
        (None, None, False, "automatic"),
        (1.2e9, 1.2e9, None, None),
        (1.2e9, None, None, None),
        (None, None, None, None),
    ],
)
def test_how_clocks_are_chosen_is_told_only_where_it_is_known(app_hz, default_hz, locked, policy):
    assert clock_policy(app_hz, default_hz, locked=locked) == policy


@pytest.mark.parametrize(
    ("mig", "mode"),
    [("Enabled", "enabled"), ("Disabled", "disabled"), ("N/A", None), ("", None), (None, None)],
)
def test_the_partition_mode_is_mig_s_where_there_is_one(mig, mode):
    assert partition_mode(mig) == mode


def test_the_text_of_a_mode_has_the_parts_that_are_known():
    assert mode_text("enabled") == "mig enabled"
    assert mode_text("disabled", "locked") == "mig disabled, locked"
    assert mode_text(None, "locked") == "locked"
    assert mode_text(None) is None
