import pytest

from workers.readings.neuron.products import (
    Errors,
    Hardware,
    Report,
    Runtime,
    count,
    device_class,
    errors,
    numa_node,
    pci_bus_id,
    records,
    share,
    word,
)

TWO = Hardware(instance_type="trn1.32xlarge", devices=2, cores=2)


def reading(runtimes, hardware=TWO, device=0, **more):
    return records([Report(hardware, runtimes, **more)])[device].readings[0]


# --- words ---


@pytest.mark.parametrize(
    ("names", "known_as"),
    [
        (("inf2.xlarge",), "inf2"),
        (("trn2u.48xlarge",), "trn2"),
        (("Trn1",), "trn1"),
        ((None, "trainium2"), "trn2"),
        (("c5.large", "inferentia"), "inf1"),
        (("", None), "neuron"),
    ],
)
def test_a_devices_class_is_that_of_its_instance_or_product(names, known_as):
    assert device_class(*names) == known_as


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("00:1E.0", "0000:00:1e.0"),
        ("0000:cc:00.0", "0000:cc:00.0"),
        ("0001:0a:00.0", "0001:0a:00.0"),
        ("1e.0", None),
        (None, None),
    ],
)
def test_a_place_on_the_bus_has_its_domain(text, place):
    assert pci_bus_id(text) == place


@pytest.mark.parametrize(
    ("text", "node"), [("1", 1), (0, 0), (-1, None), ("-1", None), ("", None), (None, None)]
)
def test_a_numa_node_is_a_number_from_0_on(text, node):
    assert numa_node(text) == node


@pytest.mark.parametrize(
    ("value", "told"),
    [(50, 0.5), (0, 0.0), (100.4, 1.0), (130, None), (-1, None), (None, None), ("NaN", None)],
)
def test_a_share_is_one(value, told):
    assert share(value) == told


@pytest.mark.parametrize(("value", "told"), [(3, 3), ("0", 0), (-1, None), ("N/A", None), ([], None)])
def test_a_count_is_never_below_0(value, told):
    assert count(value) == told


@pytest.mark.parametrize(
    ("value", "told"), [(" inf2 ", "inf2"), ("NA", None), ("", None), (3, None), (["a"], None)]
)
def test_a_word_is_text_that_tells_something(value, told):
    assert word(value) == told


def test_errors_of_all_memories_are_counted_together():
    counts = {
        "mem_ecc_corrected": 1,
        "sram_ecc_corrected": 2,
        "mem_ecc_uncorrected": 0,
        "sram_ecc_uncorrected": 4,
        "mem_ecc_repairable_uncorrected": 8,
        "neuron_device_index": 99,
    }
    assert errors(counts.items()) == Errors(corrected=3, uncorrected=12)


def test_errors_that_are_not_counted_are_missing():
    assert errors([("sram_ecc_uncorrected", 3), ("mem_ecc_corrected", None)]) == Errors(None, 3)


# --- which cores are whose ---


@pytest.mark.parametrize(
    ("cores", "logical", "numbers"),
    [
        (2, None, range(2, 4)),
        (4, 2, range(4, 8)),  # the tool tells logical cores, as 4 * 2 are all that a device has
        (8, 2, range(4, 8)),  # and here physical ones
        (8, 1, range(8, 16)),
        (None, None, None),
        (0, None, None),
        (10**9, None, None),
    ],
)
def test_cores_are_numbered_through_an_instance(cores, logical, numbers):
    assert Hardware(cores=cores, logical=logical).cores_of(1) == numbers


def test_a_device_is_as_busy_as_its_cores_are_on_average():
    runtimes = [Runtime(1, {0: 0.5, 1: 0.1}), Runtime(2, {3: 0.8})]
    assert reading(runtimes)["util"] == pytest.approx(0.3)
    assert reading(runtimes, device=1)["util"] == 0.8


def test_a_core_that_two_runtimes_use_is_as_busy_as_both_say():
    assert reading([Runtime(1, {0: 0.5}), Runtime(2, {0: 0.25})])["util"] == 0.75
    assert reading([Runtime(1, {0: 0.75}), Runtime(2, {0: 0.75})])["util"] == 1.0


def test_a_device_that_no_runtime_holds_tells_no_use():
    told = reading([Runtime(1, {0: 0.5}, 100, {0: 100})], device=1)
    assert (told["util"], told["mem_used_b"], told["foreign_pids"]) == (None, None, [])


def test_the_only_device_has_all_that_runtimes_tell():
    one = TWO._replace(devices=1)
    told = reading([Runtime(5, {0: 0.5}, 700, {0: 100})], hardware=one)
    assert (told["util"], told["mem_used_b"], told["foreign_pids"]) == (0.5, 700, [5])


def test_memory_of_one_of_several_devices_is_that_of_its_cores():
    assert reading([Runtime(5, {0: 0.5}, 700, {0: 100, 1: 50, 2: 400})])["mem_used_b"] == 150
    assert reading([Runtime(5, {0: 0.5}, 700, None)])["mem_used_b"] is None


def test_memory_is_missing_where_one_runtime_does_not_tell_its_own():
    runtimes = [Runtime(5, {0: 0.5}, 700, {0: 700}), Runtime(6, {1: 0.5})]
    assert reading(runtimes)["mem_used_b"] is None
    assert reading(runtimes, hardware=TWO._replace(devices=1))["mem_used_b"] is None


def test_processes_are_missing_where_one_does_not_tell_where_it_is():
    assert reading([Runtime(5, {0: 0.5}), Runtime(6)])["foreign_pids"] is None
    assert reading([Runtime(None, {0: 0.5})])["foreign_pids"] is None


def test_no_group_of_runtimes_is_not_the_same_as_no_runtime():
    assert reading(None)["foreign_pids"] is None
    assert reading([])["foreign_pids"] == []


# --- instances ---


def test_devices_that_are_not_told_are_one_record_of_the_instance():
    (record,) = records([Report(Hardware(instance_type="inf1.6xlarge"), [Runtime(1, {0: 0.2, 9: 0.6})])])
    assert (record.facts["index"], record.facts["cores"]) == (None, None)
    assert record.readings[0]["util"] == pytest.approx(0.4)


def test_devices_that_only_their_errors_tell_of_have_no_use():
    found = records([Report(Hardware(), [Runtime(1, {0: 0.2})], {0: Errors(1, 0), 1: Errors(2, 0)})])
    assert [record.facts["index"] for record in found] == [0, 1]
    assert [record.readings[0]["util"] for record in found] == [None, None]
    assert [record.readings[0]["ecc_corrected"] for record in found] == [1, 2]


def test_a_report_about_nothing_has_no_devices():
    assert records([Report(Hardware(), None), Report(Hardware(), [])]) == []


def test_reports_of_two_instances_are_devices_of_their_own():
    one, other = (Hardware(name, devices=1, cores=2) for name in ("i-1", "i-2"))
    found = records([Report(one, []), Report(other, []), Report(one, [])])
    assert [len(record.readings) for record in found] == [2, 1]
