import pytest

from workers.readings.amd.products import (
    clock_policy,
    device_class,
    graphics_target,
    hexadecimal,
    mode_text,
    numa_node,
    partition_mode,
    pci_address,
    pcie_gen,
    throttlers,
    told,
)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("AMD Instinct MI300X", "amd-mi300x"),
        ("AMD Instinct MI300X-O", "amd-mi300x"),
        ("MI300X-O", "amd-mi300x"),
        ("AMD Instinct MI250X/MI250", "amd-mi250x-mi250"),
        ("Instinct MI210", "amd-mi210"),
        ("AMD Instinct MI300X HF", "amd-mi300x-hf"),
        ("AMD Instinct MI300X VF", "amd-mi300x-vf"),
        ("Radeon Instinct MI50 32GB", "amd-mi50-32gb"),
        ("AMD Radeon Instinct(TM) MI25", "amd-mi25"),
        ("Arcturus GL-XL [Instinct MI100]", "amd-mi100"),
        ("AMD Radeon RX 6700 XT", "amd-rx-6700-xt"),
        ("Radeon RX 7900 XTX", "amd-rx-7900-xtx"),
        ("AMD Radeon AI PRO R9700", "amd-radeon-ai-pro-r9700"),
        ("AMD Radeon PRO W7900", "amd-radeon-pro-w7900"),
        ("AMD Radeon VII", "amd-radeon-vii"),
        ("AMD Radeon(TM) 8060S Graphics", "amd-radeon-8060s"),
        ("AMD Radeon RX 580 Series", "amd-rx-580"),
        ("Vega 20", "amd-vega-20"),
        ("gfx1036", "amd-gfx1036"),
        ("N/A", "amd-unknown"),
        (None, "amd-unknown"),
    ],
)
def test_a_class_is_the_product_without_what_all_have(model, name):
    assert device_class(model) == name


@pytest.mark.parametrize(
    ("model", "device_id", "revision", "name"),
    [
        (None, 0x74A1, None, "amd-mi300x"),
        ("0x74a1", None, None, "amd-mi300x"),
        ("Aqua Vanjaram [Instinct MI300X]", 0x74A1, 0, "amd-mi300x"),
        ("Navi 22 [Radeon RX 6700/6700 XT / 6800M]", 0x73DF, 0xC1, "amd-rx-6700-xt"),
        ("Navi 31 [Radeon RX 7900 XT/7900 XTX]", 0x744C, 0xC8, "amd-rx-7900-xtx"),
        ("Navi 31 [Radeon RX 7900 XT/7900 XTX]", 0x744C, 0xCC, "amd-rx-7900-xt"),
        ("Navi 31 [Radeon RX 7900 XT/7900 XTX]", 0x744C, None, "amd-rx-7900-xt-7900-xtx"),
        ("AMD Radeon Graphics", 0x7551, 0xC0, "amd-radeon-ai-pro-r9700"),
        ("AMD Radeon Graphics", 0x9999, 0x00, "amd-radeon-graphics"),
        ("Radeon RX 7900 GRE", 0x744C, 0xC8, "amd-rx-7900-gre"),
        (None, 0x9999, None, "amd-unknown"),
    ],
)
def test_ids_decide_where_the_name_is_that_of_several_products(model, device_id, revision, name):
    assert device_class(model, device_id=device_id, revision=revision) == name


@pytest.mark.parametrize(
    ("partition", "name"),
    [
        (None, "amd-mi300x"),
        ("SPX/NPS1", "amd-mi300x"),
        ("SPX", "amd-mi300x"),
        ("CPX/NPS4", "amd-mi300x-cpx-nps4"),
        ("DPX/NPS1", "amd-mi300x-dpx"),
        ("SPX/NPS4", "amd-mi300x-nps4"),
    ],
)
def test_a_part_of_a_device_is_of_another_class_than_the_whole(partition, name):
    assert device_class("AMD Instinct MI300X", partition=partition) == name


@pytest.mark.parametrize(
    ("compute", "memory", "mode"),
    [
        ("SPX", "NPS1", "SPX/NPS1"),
        ("CPX*", "NPS4", "CPX/NPS4"),
        ("spx", "N/A", "SPX"),
        ("N/A", "NPS1", None),
        (None, None, None),
    ],
)
def test_a_device_is_divided_in_computing_and_in_memory(compute, memory, mode):
    assert partition_mode(compute, memory) == mode


@pytest.mark.parametrize(
    ("level", "profile", "policy"),
    [
        ("auto", None, "automatic"),
        ("AMDSMI_DEV_PERF_LEVEL_AUTO", None, "automatic"),
        ("AMDSMI_DEV_PERF_LEVEL_MANUAL", "N/A", "manual"),
        ("profile_peak", "BOOTUP_DEFAULT", "profile_peak"),
        ("auto", "COMPUTE", "automatic, COMPUTE"),
        ("N/A", "COMPUTE", None),
        (None, None, None),
    ],
)
def test_the_clocks_policy_is_the_performance_level_and_a_chosen_profile(level, profile, policy):
    assert clock_policy(level, profile) == policy


def test_a_mode_is_what_is_known_of_it():
    assert mode_text("SPX/NPS1", "automatic") == "SPX/NPS1, automatic"
    assert mode_text(None, "high") == "high"
    assert mode_text(None, None) is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:0C:00.0", "0000:0c:00.0"),
        ("0c:00.1", "0000:0c:00.1"),
        ("0001:22:1f.7", "0001:22:1f.7"),
        ("10000:e1:00.0", "10000:e1:00.0"),
        ("N/A", None),
        ("0000:0c:00", None),
        (None, None),
    ],
)
def test_a_place_on_the_bus_has_one_spelling(text, address):
    assert pci_address(text) == address


@pytest.mark.parametrize(
    ("speed", "generation"),
    [
        ("16.0 GT/s PCIe", 4),
        ("32 GT/s", 5),
        ("2.5 GT/s PCIe", 1),
        ("16000 MT/s", 4),
        (32, 5),
        (5000, 2),
        ("Gen 3", 3),
        ({"value": 32, "unit": "GT/s"}, 5),
        ({"value": "N/A", "unit": ""}, None),
        ("Unknown", None),
        ("17 GT/s", None),
        (0, None),
        ("N/A", None),
    ],
)
def test_a_generation_is_known_by_its_rate(speed, generation):
    assert pcie_gen(speed) == generation


@pytest.mark.parametrize(
    ("text", "node"), [("0", 0), (3, 3), ("-1", None), (-1, None), (65535, None), ("N/A", None)]
)
def test_a_machine_without_nodes_has_none(text, node):
    assert numa_node(text) == node


@pytest.mark.parametrize(
    ("version", "name"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90006, "gfx906"), (110001, "gfx1101"), (0, None), (None, None)],
)
def test_an_instruction_set_is_named_as_compilers_do(version, name):
    assert graphics_target(version) == name


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0, []),
        (1 << 0, ["ppt"]),
        (1 << 0 | 1 << 1, ["ppt"]),
        (1 << 17, ["current_limit"]),
        (1 << 36, ["thermal"]),
        (1 << 38 | 1 << 46, ["vr_thermal", "prochot"]),
        (1 << 60, ["0x1000000000000000"]),
    ],
)
def test_throttlers_are_named_once_and_those_without_a_name_by_their_bit(bits, names):
    assert throttlers(bits) == names


@pytest.mark.parametrize("value", ["N/A", "n/a", "", " ", "None", None, "Unknown", {}, [], "not supported"])
def test_what_is_not_told_is_no_word(value):
    assert told(value) is None


@pytest.mark.parametrize(
    ("text", "number"), [("0x74a1", 0x74A1), ("744C", 0x744C), ("N/A", None), ("card", None)]
)
def test_ids_are_hexadecimal_with_and_without_their_prefix(text, number):
    assert hexadecimal(text) == number
