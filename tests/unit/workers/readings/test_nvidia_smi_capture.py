import pytest

from tests.unit.workers.readings.cutting import FIXTURES
from workers.readings import READERS, read
from workers.readings.reader import UnreadableError

BAR = "#" * 80


def section(title, command, body):
    return f"{BAR}\n# {title}\n# $ {command}\n{BAR}\n{body}\n\n\n"


def rows(*gpus):
    header = "index, uuid, pci.bus_id, fan.speed [%]"
    return "\n".join([header, *(", ".join(gpu) for gpu in gpus)])


def test_readings_come_in_the_order_of_the_states_whatever_that_of_the_file():
    text = (
        section(
            "load :: query-gpu",
            "nvidia-smi --query-gpu=index",
            rows(("0", "GPU-a", "00000000:01:00.0", "90 %")),
        )
        + section(
            "idle :: query-gpu",
            "nvidia-smi --query-gpu=index",
            rows(("0", "GPU-a", "00000000:01:00.0", "10 %")),
        )
        + section(
            "after :: query-gpu",
            "nvidia-smi --query-gpu=index",
            rows(("0", "GPU-a", "00000000:01:00.0", "50 %")),
        )
    )
    (device,) = read(text).devices
    assert [tick["fan"] for tick in device.readings] == [0.1, 0.9, 0.5]


def test_gpus_whose_uuids_were_masked_alike_stay_apart():
    masked = "GPU-00000000-0000-0000-0000-000000000000"
    both = rows(("0", masked, "00000000:01:00.0", "1 %"), ("1", masked, "00000000:02:00.0", "2 %"))
    text = section("idle :: query-gpu", "nvidia-smi --query-gpu=index", both) * 2
    devices = read(text).devices
    assert [[tick["fan"] for tick in device.readings] for device in devices] == [[0.01, 0.01], [0.02, 0.02]]


def test_a_monitor_that_tells_numbers_alone_adds_to_the_gpus_of_those_numbers():
    gpus = rows(("0", "GPU-a", "00000000:01:00.0", "1 %"), ("1", "GPU-b", "00000000:02:00.0", "2 %"))
    monitor = "# gpu    pwr \n# Idx      W \n    1     55 \n    0     44 "
    text = section("idle :: query-gpu", "nvidia-smi --query-gpu=index", gpus)
    text += section("idle :: dmon", "nvidia-smi dmon -c 1", monitor)
    devices = read(text).devices
    assert [(device.facts["uuid"], device.readings[1]["power_w"]) for device in devices] == [
        ("GPU-a", 44.0),
        ("GPU-b", 55.0),
    ]


def test_instances_of_the_list_and_of_the_query_are_the_same_devices():
    devices = read((FIXTURES / "nvidia-smi" / "capture-mig.txt").read_text()).devices
    assert [device.name[:4] for device in devices] == ["GPU-", "MIG-", "MIG-"]
    assert [device.facts["cores"] for device in devices] == [None, 60, 16]


def test_a_capture_that_tells_of_no_gpu_is_refused():
    with pytest.raises(UnreadableError, match="1 sections, and none of them tells of a GPU"):
        read(section("idle :: query", "nvidia-smi -q", "NVIDIA-SMI has failed"))


def test_only_the_capture_s_reader_knows_a_capture():
    text = (FIXTURES / "nvidia-smi" / "capture-mig.txt").read_text()
    assert [(reader.tool, reader.form) for reader in READERS if reader.recognises(text)] == [
        ("nvidia-smi", "capture")
    ]


def test_a_capture_of_another_tool_is_not_recognised():
    assert not [
        reader for reader in READERS if reader.recognises(section("idle :: x", "rocm-smi", "nothing"))
    ]


TABLE = (FIXTURES / "nvidia-smi" / "driver390-table.txt").read_text()
LIST = "GPU 0: Tesla K80 (UUID: GPU-a)\nGPU 1: GeForce GTX 1080 Ti (UUID: GPU-b)\nGPU 2: Tesla M60 (UUID: GPU-c)\n"


def test_outputs_of_several_forms_after_each_other_tell_of_the_same_gpus():
    text = f"root@host:~# nvidia-smi\n{TABLE}root@host:~# nvidia-smi -L\n{LIST}root@host:~# exit\n"
    found = read(text)
    assert (found.form, [device.facts["uuid"] for device in found.devices]) == (
        "mixed",
        ["GPU-a", "GPU-b", "GPU-c"],
    )
    assert [device.facts["model"] for device in found.devices] == [
        "Tesla K80",
        "GeForce GTX 1080 Ti",
        "Tesla M60",
    ]
    assert found.devices[0].readings[0]["time"] == "2018-02-01T07:05:09"


def test_monitors_of_gpus_and_of_processes_in_one_text_are_not_mixed_up():
    dmon = "# gpu    pwr     sm \n# Idx      W      % \n    0     55     91 \n"
    pmon = "# gpu     pid  type    sm   command\n# Idx       #   C/G     %   name\n    0     700     C    12   python\n"
    (device,) = read(f"$ nvidia-smi dmon -c 1\n{dmon}$ nvidia-smi pmon -c 1\n{pmon}").devices
    assert [(tick["util"], tick["foreign_pids"]) for tick in device.readings] == [(0.91, None), (None, [700])]


def test_words_between_outputs_are_no_part_of_them():
    csv = rows(("0", "GPU-a", "N/A", "9 %"))
    text = f"It says, quickly:\n\n```\n{csv}\n```\n\nThen, later:\n\n{TABLE}\nThat, is all.\n"
    first = read(text).devices[0]
    assert [tick["fan"] for tick in first.readings] == [0.09, None]


def test_a_text_of_several_forms_is_known_to_one_reader():
    text = TABLE + LIST
    assert [reader.form for reader in READERS if reader.recognises(text)] == ["mixed"]


def test_outputs_of_several_forms_that_tell_of_no_gpu_are_refused():
    with pytest.raises(UnreadableError, match="none of them tells of a GPU"):
        read(TABLE[: TABLE.index("|   0  Tesla")] + "==============NVSMI LOG==============\n")
