import json

import pytest

from tests.unit.workers.readings.cutting import FIXTURES, assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.neuron.neuron_ls import core_numbers, read_json, recognises_json
from workers.readings.reader import UnreadableError


def device(index=0, **more):
    return {"neuron_device": index, "bdf": "00:1f.0", "nc_count": 2, "memory_size": 2**35, **more}


def text_of(name):
    return (FIXTURES / "neuron-ls" / name).read_text()


@pytest.mark.parametrize("path", fixtures("neuron-ls"), ids=lambda path: path.name)
def test_an_output_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize("path", fixtures("neuron-ls"), ids=lambda path: path.name)
def test_ends_of_lines_do_not_matter(path):
    assert read(path.read_text().replace("\n", "\r\n")) == read(path.read_text())


# --- JSON ---


def test_json_without_a_whole_device_is_refused_with_its_place():
    with pytest.raises(UnreadableError, match="neuron-ls: no whole device up to line 3"):
        read('[\n {"neuron_device": 0,\n "nc_count"')


def test_a_device_is_known_by_its_processes():
    told = device(neuron_processes=[{"pid": 9, "neuron_runtime_version": "2.1"}, {"pid": 4}])
    (record,) = read_json(json.dumps([told]))
    assert record.readings[0]["foreign_pids"] == [4, 9]
    assert record.facts["runtime"] == "2.1"


def test_processes_with_two_runtimes_tell_no_version():
    versions = [{"pid": pid, "neuron_runtime_version": version} for pid, version in ((9, "2.1"), (4, "2.2"))]
    assert read_json(json.dumps([device(neuron_processes=versions)]))[0].facts["runtime"] is None


def test_a_device_without_a_list_of_processes_has_no_reading():
    assert read_json(json.dumps([device()]))[0].readings == ()


def test_a_size_may_be_written_with_a_unit():
    told = [device(memory_size="32GB"), device(1, memory_size="-")]
    assert [record.facts["memory_b"] for record in read_json(json.dumps(told))] == [2**35, None]


def test_outputs_after_each_other_are_readings_of_one_device():
    (record,) = read_json(json.dumps([device(neuron_processes=[])]) * 2)
    assert len(record.readings) == 2


def test_cores_are_known_by_their_numbers_where_all_are_told():
    told = [
        device(0, neuroncore_ids=[1, 0]),
        device(1, neuroncore_ids=[2]),
        device(2),
        device(3, neuroncore_ids=["6", "7"]),
    ]
    assert core_numbers(json.dumps(told)) == {0: (0, 1), 3: (6, 7)}


@pytest.mark.parametrize(
    "text", ['[{"neuron_device": "x"}]', '{"system_data": {}, "neuron_device": 1}', "[]", "{}"]
)
def test_json_of_something_else_is_not_taken(text):
    assert not recognises_json(text)


# --- tables ---


def test_a_pipe_in_a_command_is_no_column():
    told = read(text_of("processes_trn1.txt")).devices
    assert told[0].facts["pci_bus_id"] == "0000:10:1c.0"
    assert told[0].readings[0]["foreign_pids"] == [1501, 1777]


def test_processes_of_the_last_device_of_a_cut_table_are_not_known():
    text = text_of("processes_trn1.txt")
    cut = text[: text.index("|        |        |        |           |         | 1777")]
    (record,) = read(cut).devices
    assert (record.facts["index"], record.readings) == (0, ())


def test_columns_are_found_by_name():
    text = """\
+---------+--------+------+--------+--------+
| PCI BDF | NEURON | TOPO | NEURON | NEURON |
|         | MEMORY |      | CORES  | DEVICE |
+---------+--------+------+--------+--------+
| 00:1f.0 | 96 GiB | ring | 8      | 3      |
+---------+--------+------+--------+--------+
"""
    facts = read(text).devices[0].facts
    assert (facts["index"], facts["cores"], facts["memory_b"]) == (3, 8, 96 * 2**30)
    assert facts["pci_bus_id"] == "0000:00:1f.0"


# --- recordings of real instances ---


@pytest.fixture
def samples(recordings):
    return recordings / "neuron-ls"


def test_the_recorded_json_tells_the_devices_that_are_there(samples):
    first, last = read((samples / "neuron-ls_json_trn2n.txt").read_text()).devices
    assert (first.facts["index"], last.facts["index"]) == (0, 15)
    assert (first.facts["pci_bus_id"], last.facts["pci_bus_id"]) == ("0000:cc:00.0", "0000:f7:00.0")
    assert (first.facts["cores"], first.facts["memory_b"], first.facts["numa_node"]) == (4, 103079215104, 1)
    assert (first.facts["runtime"], first.readings[0]["foreign_pids"]) == ("2.0.0", [113985])


def test_the_recorded_table_tells_all_sixteen_devices(samples):
    devices = read((samples / "neuron-ls_wide_trn2n.txt").read_text()).devices
    assert [device.facts["index"] for device in devices] == list(range(16))
    assert {device.device_class for device in devices} == {"trn2"}
    assert {device.facts["instance_type"] for device in devices} == {"trn2n.48xlarge"}
    assert {tuple(device.readings[0]["foreign_pids"]) for device in devices} == {(268911,)}
    assert devices[4].facts["pci_bus_id"] == "0000:6f:00.0"
    assert devices[4].facts["memory_b"] == 103079215104
