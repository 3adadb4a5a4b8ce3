import pytest

from tests.unit.workers.devices.vendor_tools import write
from workers.devices import pci


@pytest.mark.parametrize(
    ("speed", "generation"),
    [
        ("2.5 GT/s PCIe", 1),
        ("5.0 GT/s PCIe", 2),
        ("8 GT/s", 3),
        ("16.0 GT/s PCIe", 4),
        ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6),
        ("7.5 GT/s PCIe", None),
        ("Unknown", None),
        (None, None),
    ],
)
def test_a_speed_is_that_of_a_generation(speed, generation):
    assert pci.generation(speed) == generation


def test_a_link_is_told_by_the_kernel(tmp_path):
    write(
        tmp_path,
        {
            "current_link_speed": "8.0 GT/s PCIe\n",
            "current_link_width": "4\n",
            "max_link_speed": "16.0 GT/s PCIe\n",
            "max_link_width": "16\n",
        },
    )
    assert pci.link(tmp_path) == pci.Link(gen=3, width=4, gen_max=4, width_max=16)


@pytest.mark.parametrize("files", [{}, {"current_link_width": "0", "max_link_width": "255"}])
def test_a_link_that_is_not_told_is_missing(tmp_path, files):
    write(tmp_path, files)
    assert pci.link(tmp_path) == pci.link(None) == pci.Link(None, None, None, None)


@pytest.mark.parametrize(("text", "node"), [("0\n", 0), ("3", 3), ("-1\n", None), ("", None)])
def test_a_numa_node_below_0_is_none(tmp_path, text, node):
    write(tmp_path, {"numa_node": text})
    assert pci.numa_node(tmp_path) == node


def test_a_driver_may_tell_its_version(tmp_path):
    assert pci.driver_version(tmp_path) is None
    write(tmp_path, {"driver/module/version": "1.2\n"})
    assert pci.driver_version(tmp_path) == "1.2"
    assert pci.driver_version(None) is None
