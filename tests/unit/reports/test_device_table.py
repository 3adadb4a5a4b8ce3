import re

import pytest

from app.reports.device_table import device_lines
from app.reports.grid import Paint
from app.reports.text import columns
from workers.readings.record import facts, tick

PLAIN = Paint(False)
A100 = {
    "index": 0,
    "uuid": "GPU-1",
    "model": "NVIDIA A100-SXM4-80GB",
    "memory_b": 80 * 2**30,
    "driver": "550.54.15",
    "sm_clock_max_hz": 1.41e9,
    "power_limit_default_w": 400.0,
    "partition_mode": "disabled",
    "ecc_mode": True,
    "ecc_mode_pending": True,
}
AT_WORK = {
    "util": 0.97,
    "sm_clock_hz": 1.2e9,
    "power_w": 312.0,
    "power_limit_w": 400.0,
    "temp_c": 61.0,
    "mem_used_b": 12 * 2**30,
    "throttle_reasons": [],
    "foreign_pids": [7, 8],
}
RECORDED = {"file": "gpu.xml", "tool": "nvidia-smi", "form": "query-xml"}


def device(told=None, *readings, source=None, lacks=(), kind="nvidia", name="nvidia-a100-sxm4-80gb"):
    known, last = facts(**(told or {})), tick(**(readings[-1] if readings else {}))
    unavailable = {"facts": known.pop("unavailable"), "readings": last.pop("unavailable")}
    return {
        "kind": kind,
        "device_class": name,
        "hardware_id": known["uuid"],
        "source": source,
        "facts": known,
        "readings": last,
        "unavailable": unavailable,
        "samples": [{key: value for key, value in one.items() if value is not None} for one in readings],
        "lacks": list(lacks),
    }


def recorded(told=None, *readings, **source):
    return device(told, *readings, source={**RECORDED, **source})


def document(*devices, source="/site", **others):
    return {
        "version": 1,
        "source": source,
        "devices": list(devices),
        "absent": [],
        "untold": [],
        "unread": [],
    } | others


def machine(*devices, **others):
    return document(*devices, source="machine", **others)


def lines(*args, room=None, **others):
    return device_lines(document(*args, **others), room, PLAIN)


def cells(header, row):
    """Return a row's cells by the titles above them; cells stand below their titles, left or right."""
    places = [match.span() for match in re.finditer(r"\S+", header)]
    words = [(match.span(), match.group()) for match in re.finditer(r"\S+(?: \S+)*", row)]
    return {
        header[start:end]: next((word for (left, right), word in words if left < end and right > start), None)
        for start, end in places
    }


# --- a line a device ---


def test_a_device_is_one_line_with_what_it_is_and_does():
    _, _, header, source, row, *_ = lines(recorded(A100, AT_WORK))
    assert source == "gpu.xml  nvidia-smi query-xml"
    assert cells(header, row) == {
        "#": "0",
        "Device": "nvidia-a100-sxm4-80gb",
        "Memory": "12/80 GiB",
        "Driver": "550.54.15",
        "Clock": "1.2/1.41 GHz",
        "Power": "312/400 W",
        "Mode": "ECC",
        "Temp": "61 °C",
        "Use": "97 %",
        "Procs": "2",
        "Model": "NVIDIA A100-SXM4-80GB",
    }


@pytest.mark.parametrize(
    ("told", "readings", "column", "cell"),
    [
        ({"memory_b": 2**34}, {}, "Memory", "16 GiB"),
        ({}, {"mem_used_b": 2**34}, "Memory", "16 GiB used"),
        ({"memory_b": 2**34}, {"mem_used_b": 0}, "Memory", "0/16 GiB"),
        ({"memory_b": 2**34}, {"mem_used_b": 2**18}, "Memory", "<0.001/16 GiB"),
        ({}, {"sm_clock_hz": 3.45e8}, "Clock", "345 MHz"),
        ({"sm_clock_max_hz": 1.98e9}, {}, "Clock", "max 1.98 GHz"),
        ({"sm_clock_max_hz": 2e9, "clock_policy": "locked"}, {"sm_clock_hz": 1.5e9}, "Clock", "1.5/2 GHz, locked"),
        ({"clock_policy": "automatic"}, {}, "Clock", "auto"),
        ({}, {"power_w": 35.7}, "Power", "35.7 W"),
        ({"power_limit_default_w": 250.0}, {}, "Power", "limit 250 W"),
        ({"power_limit_default_w": 250.0}, {"power_w": 80.0, "power_limit_w": 200.0}, "Power", "80/200 W"),
        ({"partition_mode": "enabled", "partitions": ["1g.10gb", "2g.20gb"]}, {}, "Mode", "MIG in 2"),
        ({"partition_mode": "enabled", "partitions": ["1g.10gb"]}, {}, "Mode", "MIG 1g.10gb"),
        ({"partition_mode": "CPX/NPS4"}, {}, "Mode", "CPX/NPS4"),
        ({"power_mode": "MAXN", "ecc_mode": False}, {}, "Mode", "MAXN, no ECC"),
        ({"pci_bus_id": "00000000:01:00.0"}, {}, "#", "01:00.0"),
        ({"index": "0:1"}, {}, "#", "0:1"),
        ({"index": "GPU-513536b6-7d19-9063:1"}, {}, "#", "GPU-…3:1"),
    ],
)  # fmt: skip
def test_a_cell_says_what_is_known_of_it(told, readings, column, cell):
    _, _, header, _, row, *_ = lines(recorded(told, readings))
    assert cells(header, row)[column] == cell


def test_columns_that_no_device_tells_anything_in_are_left_away():
    header = lines(recorded({"index": 0}, {"foreign_pids": []}))[2]
    assert header.split() == ["#", "Device", "Procs"]


def test_what_is_not_known_is_no_zero():
    row = lines(recorded({"index": 0}), recorded({"index": 1}, AT_WORK))[4]
    assert "0 %" not in row
    assert row.count("–") == 6


@pytest.mark.parametrize(
    ("told", "readings", "note"),
    [
        ({}, {"throttle_reasons": ["power_cap", "sw_thermal"]}, "held back: power cap, sw thermal"),
        ({}, {"throttle_reasons": ["idle", "application_clocks"]}, None),
        ({}, {"ecc_uncorrected": 1}, "1 memory error not corrected"),
        ({"remap_pending": True}, {}, "memory rows wait to be replaced"),
        ({"ecc_mode_pending": False}, {}, "ECC changes with the next reset"),
    ],
)
def test_what_deserves_a_look_stands_beside_the_device(told, readings, note):
    row = lines(recorded({**A100, **told}, {**AT_WORK, **readings}))[4]
    assert row.endswith(f"  {note}" if note else "NVIDIA A100-SXM4-80GB")


def test_on_a_narrow_terminal_what_deserves_a_look_stands_below_the_device():
    found = lines(recorded(A100, {**AT_WORK, "throttle_reasons": ["hw_thermal"]}), room=80)
    assert found[5] == "    held back: hw thermal"


# --- recordings ---


def test_the_first_line_says_which_tools_wrote_how_many_of_the_files():
    unread = [{"file": f"{n}.log", "tool": None, "form": None, "why": "not an output of …"} for n in range(3)]
    devices = [recorded(A100), recorded(A100, file="b"), recorded(A100, file="c", tool="amd-smi")]
    assert (
        lines(*devices, unread=unread)[0]
        == "3 of 6 files are outputs of device tools: amd-smi and nvidia-smi (2)"
    )
    assert lines(devices[0], unread=unread)[0] == "1 of 4 files is an output of nvidia-smi"


def test_of_several_readings_the_last_is_shown_with_their_number_and_its_time():
    readings = [{"temp_c": 40.0 + n, "time": f"2026-11-21T10:00:0{n}"} for n in range(3)]
    _, _, header, source, row, *_ = lines(recorded({"index": 0}, *readings))
    assert source == "gpu.xml  nvidia-smi query-xml, the last of 3 readings, 2026-11-21T10:00:02"
    assert cells(header, row)["Temp"] == "42 °C"


def test_devices_stand_below_their_file_and_files_of_one_tool_in_one_table():
    found = lines(recorded(A100), recorded({**A100, "index": 1}), recorded(A100, file="b.txt"))
    assert [line.split("  ")[0] for line in found[2:7]] == ["", "gpu.xml", "", "", "b.txt"]
    other = lines(recorded(A100), recorded(A100, tool="dcgm-exporter", file="b.prom"))
    assert sum("Device" in line for line in other) == 2


def test_what_the_recordings_of_a_kind_tell_and_leave_open_is_said_once():
    untold = [{"kind": "nvidia", "what": ["sm_active"], "how": ["dcgmi dmon"]}]
    found = lines(recorded(A100, AT_WORK), recorded(A100, {"xid_count": 0}, file="b"), untold=untold)
    start = found.index("nvidia")
    assert found[start + 1].startswith("  tells   utilisation, clocks, power,")
    assert "driver errors" in found[start + 1]
    assert found[start + 2] == "  not     activity of its units, energy, memory errors, links, mode"
    assert found[start + 3] == "          → record as well: dcgmi dmon"


def test_broken_files_are_named_with_the_reason_and_the_others_counted():
    unread = [
        {"file": "a.log", "tool": None, "form": None, "why": "not an output of a device tool that is known"},
        {"file": "cut.json", "tool": None, "form": None, "why": "line 7: a comma was expected"},
        {"file": "none.txt", "tool": "rocminfo", "form": "text", "why": "it tells of no device"},
    ]
    found = lines(recorded(A100), unread=unread)
    assert found[0] == "2 of 4 files are outputs of device tools: nvidia-smi and rocminfo"
    assert found[-4:] == [
        "cut.json",
        "  line 7: a comma was expected",
        "none.txt",
        "  rocminfo text: it tells of no device",
    ]


def test_of_many_broken_files_only_some_are_named():
    unread = [{"file": f"{n}", "tool": None, "form": None, "why": "no regular file"} for n in range(25)]
    assert lines(recorded(A100), unread=unread)[-1] == "and 15 more, which --json lists"


# --- a machine ---


def test_a_machine_without_accelerators_says_so():
    processor = device({"index": 0}, {"util": 0.1}, kind="cpu", name="cpu-epyc-8t")
    found = device_lines(machine(processor), None, PLAIN)
    assert found[3] == "No accelerator was found on this machine, and nothing points to one."


def test_a_device_that_cannot_be_read_is_named_with_the_way_to_get_it():
    processor = device({"index": 0}, {"util": 0.1}, kind="cpu", name="cpu-epyc-8t")
    absent = [
        {"kind": "nvidia", "what": "NVIDIA GPU (PCI …)", "why": "no driver has it", "how": "install it"}
    ]
    found = device_lines(machine(processor, absent=absent), None, PLAIN)
    assert found[3:8] == [
        "No accelerator can be used on this machine, though something points to one:",
        "",
        "nvidia: NVIDIA GPU (PCI …)",
        "          no driver has it",
        "          → install it",
    ]


def test_what_is_missing_comes_with_the_reason_and_the_way_to_get_it():
    lack = {
        "what": "energy_j_total, power_w",
        "why": "it may not be read by this user",
        "how": "run it as root",
    }
    found = device_lines(machine(device(A100, {"temp_c": 40.0}, lacks=[lack])), None, PLAIN)
    assert found[-3:] == [
        "  missing energy, power",
        "          it may not be read by this user",
        "          → run it as root",
    ]


def test_devices_that_tell_the_same_are_told_of_together():
    alike = [device({**A100, "index": index}, AT_WORK) for index in (0, 1, 2, 5)]
    found = device_lines(machine(*alike, device({**A100, "index": 6}, {})), None, PLAIN)
    titles = [line for line in found if line.startswith("nvidia-a100")]
    assert titles == ["nvidia-a100-sxm4-80gb 0-2, 5", "nvidia-a100-sxm4-80gb 6"]
    assert found[-2] == "  tells   nothing"


def test_what_a_kind_does_not_have_is_not_missed():
    processor = device({"index": 0}, {"util": 0.1}, kind="cpu", name="cpu-epyc-8t")
    found = "\n".join(device_lines(machine(processor), None, PLAIN))
    assert "links" not in found
    assert "load of the host" in found


# --- any terminal ---

MANY = [
    recorded(
        {**A100, "index": index, "clock_policy": "application"},
        {**AT_WORK, "throttle_reasons": ["hw_thermal"]},
    )
    for index in range(8)
]


@pytest.mark.parametrize("room", [40, 60, 80, 100, 120, 160])
def test_no_line_is_wider_than_the_terminal(room):
    unread = [{"file": "x" * 200, "tool": None, "form": None, "why": "a long story " * 20}]
    untold = [{"kind": "nvidia", "what": ["sm_active"], "how": ["a-command --with --many --options " * 3]}]
    found = lines(*MANY, recorded(A100, file="deep/" * 30), unread=unread, untold=untold, room=room)
    least_table = 66  # of the columns that never leave
    assert max(map(columns, found)) <= max(room, least_table)


def test_a_wide_terminal_shows_every_column():
    assert not any("left out" in line for line in lines(*MANY, room=160))


def test_a_narrow_terminal_says_which_columns_it_has_no_room_for():
    found = lines(*MANY, room=80)
    assert "  left out for want of room: driver, temp, use, procs, model" in found


def test_what_others_wrote_cannot_move_the_cursor():
    evil = "\x1b[2J\x9b31mA\u202e100\nB"
    one = recorded({**A100, "model": evil, "driver": evil}, AT_WORK, file=evil)
    unread = [{"file": evil, "tool": None, "form": None, "why": evil}]
    found = lines(one, unread=unread)
    assert all(char.isprintable() for line in found for char in line)


def test_colours_are_off_unless_asked_for():
    painted = device_lines(document(*MANY), None, Paint(True))
    assert any("\x1b[" in line for line in painted)
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in painted] == lines(*MANY)
