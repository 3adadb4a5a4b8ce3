import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read

HEAD = "=====\nHSA Agents\n=====\n"


def agent(number, *lines):
    return "\n".join(["*******", f"Agent {number}", "*******", *(f"  {line}" for line in lines), ""])


def facts(*lines):
    (device,) = read(
        HEAD + agent(1, "Name:                    gfx1100", "Device Type:   GPU", *lines)
    ).devices
    return device.facts


@pytest.mark.parametrize("path", fixtures("rocminfo"), ids=lambda path: path.name)
def test_an_output_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


def test_processors_and_agents_of_other_kinds_are_no_devices():
    text = HEAD + agent(1, "Name:  EPYC", "Device Type:  CPU") + agent(2, "Name:  aie2", "Device Type:  DSP")
    assert read(text).devices == []


def test_gpus_are_counted_without_the_processors_before_them():
    text = HEAD + agent(1, "Name:  EPYC", "Device Type:  CPU")
    text += agent(2, "Name:  gfx90a", "Device Type:  GPU") + agent(3, "Name:  gfx1030", "Device Type:  GPU")
    assert [(device.facts["index"], device.device_class) for device in read(text).devices] == [
        (0, "amd-gfx90a"),
        (1, "amd-gfx1030"),
    ]


def test_the_place_on_the_bus_is_put_together_from_its_number():
    assert facts(f"BDFID:   {0xC3 << 8 | 2 << 3 | 1}")["pci_bus_id"] == "0000:c3:02.1"
    assert facts("BDFID:   0")["pci_bus_id"] is None


def test_a_gpu_without_a_number_of_its_own_has_no_uuid():
    assert facts("Uuid:    GPU-XX")["uuid"] is None
    assert facts("Uuid:    GPU-a1b2c3d4e5f60718")["uuid"] == "GPU-a1b2c3d4e5f60718"


def test_memory_is_the_first_pool_of_the_gpu_itself():
    pools = (
        "Pool Info:",
        "  Pool 1",
        "    Segment:    GROUP",
        "    Size:       64(0x40) KB",
        "  Pool 2",
        "    Segment:    GLOBAL; FLAGS: COARSE GRAINED",
        "    Size:       16760832(0xffc000) KB",
    )
    assert facts(*pools)["memory_b"] == 16760832 * 1024
    assert facts(*pools[:4])["memory_b"] is None


def test_colours_and_line_ends_of_windows_do_no_harm():
    text = HEAD + agent(1, "Name:  \x1b[32mgfx90a\x1b[0m", "Device Type:  GPU")
    (device,) = read(text.replace("\n", "\r\n")).devices
    assert device.facts["architecture"] == "gfx90a"


@pytest.mark.parametrize(
    "text", ["", "Agent 1\n", "ROCk module is NOT loaded, possibly no GPU devices\n", "HSA"]
)
def test_other_texts_are_not_recognised(text):
    assert read(text) is None


@pytest.fixture
def sample(recordings):
    return read((recordings / "rocminfo" / "rocminfo_multi.txt").read_text()).devices


def test_real_gpus_beside_processors_are_read(sample):
    assert [device.device_class for device in sample] == ["amd-vega-20"] * 8
    assert [device.facts["pci_bus_id"] for device in sample[:2]] == ["0000:07:00.0", "0000:0a:00.0"]
    first = sample[0].facts
    assert (first["index"], first["architecture"], first["cores"]) == (0, "gfx906", 60)
    assert (first["memory_b"], first["sm_clock_max_hz"]) == (34342961152, 1.725e9)
