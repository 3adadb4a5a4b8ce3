"""nvidia-smi's default table, its monitors and its list: what the fixtures of the conformance test do not show."""

import pytest

from tests.unit.workers.readings.cutting import FIXTURES, assert_every_cut_tells_nothing_else, fixtures
from workers.readings import READERS, read
from workers.readings.reader import UnreadableError

DMON = """\
# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
# Idx      W      C      C      %      %    MHz    MHz
"""
PMON = """\
# gpu        pid  type    sm   mem   enc   dec   command
# Idx          #   C/G     %     %     %     %   name
"""
TIMED = "#Time        gpu        pid  type   command\n#HH:MM:SS    Idx          #   C/G   name\n"


def fixture(name):
    return (FIXTURES / "nvidia-smi" / name).read_text()


def ticks(text, name):
    return [[tick[name] for tick in device.readings] for device in read(text).devices]


def test_tables_after_each_other_are_readings_of_the_same_gpus():
    text = fixture("driver390-table.txt")
    devices = read(text + text.replace(" 61W /", " 80W /").replace("Feb  1", "Feb  2")).devices
    assert [len(device.readings) for device in devices] == [2, 2, 2]
    assert [tick["power_w"] for tick in devices[0].readings] == [61.0, 80.0]
    assert [tick["time"] for tick in devices[0].readings] == ["2018-02-01T07:05:09", "2018-02-02T07:05:09"]


def test_a_table_in_a_quotation_is_read():
    quoted = "".join(f"    {line}\n" for line in fixture("driver390-table.txt").splitlines())
    assert [device.facts["index"] for device in read(quoted).devices] == [0, 1, 2]


def test_a_name_that_the_table_cuts_is_missing():
    device = read(fixture("driver390-table.txt")).devices[1]
    assert (device.facts["model"], device.device_class) == (None, "nvidia-unknown")


def test_a_gpu_that_does_not_tell_its_processes_has_none_told_and_others_do():
    assert ticks(fixture("driver390-table.txt"), "foreign_pids") == [[None], [[1135, 20417]], [[]]]


def test_a_mode_that_changes_with_the_next_reset_is_the_one_that_holds():
    text = fixture("driver550-table-mig.txt").replace("             Enabled |", "            Enabled* |")
    assert read(text).devices[0].facts["partition_mode"] == "enabled"


def test_a_gpu_divided_into_nothing_has_no_parts():
    lines = fixture("driver550-table-mig.txt").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|====") and number > 20)
    end = next(number for number, line in enumerate(lines) if number > start and not line)
    none = [
        "|  No MIG devices found                                                                   |",
        lines[start - 6],
    ]
    text = "\n".join(lines[: start + 1] + none + lines[end:]) + "\n"
    devices = read(text).devices
    assert [device.facts["partitions"] for device in devices] == [[], []]


def test_a_table_that_ends_before_its_first_gpu_is_refused_with_the_place():
    text = fixture("driver390-table.txt")
    with pytest.raises(UnreadableError, match="line 8: the table ends before its first GPU is complete"):
        read(text[: text.index("| N/A   44C")])


def test_memory_and_limit_that_a_gpu_has_not_are_missing():
    text = fixture("driver610-table-windows.txt")
    text = text.replace("     611MiB /  12282MiB ", " Not Supported          ").replace(
        "23W /  200W", "23W /  N/A "
    )
    (device,) = read(text).devices
    assert (device.facts["memory_b"], device.readings[0]["mem_used_b"]) == (None, None)
    assert (device.readings[0]["power_w"], device.readings[0]["power_limit_w"]) == (23.0, None)


def test_a_table_in_a_quotation_below_a_title_has_its_time():
    text = "## Machine\n\n" + "".join(
        f"> {line}"[2:] + "\n" for line in fixture("driver390-table.txt").splitlines()
    )
    assert ticks(text * 2, "time")[0] == ["2018-02-01T07:05:09"] * 2


def test_columns_of_the_monitor_are_read_by_name():
    (device,) = read(DMON + "    2     69     41      -    100      7   2619   1980 \n").devices
    tick = device.readings[0]
    assert device.facts["index"] == 2
    assert (tick["power_w"], tick["temp_c"], tick["mem_temp_c"]) == (69.0, 41.0, None)
    assert (tick["util"], tick["mem_util"]) == (1.0, 0.07)
    assert (tick["mem_clock_hz"], tick["sm_clock_hz"]) == (2_619_000_000, 1_980_000_000)


def test_the_monitor_as_csv_is_read_alike():
    text = "#gpu, pwr, gtemp, sm\n#Idx, W, C, %\n0, 69, 41, 9\n1, 50, 30, -\n"
    assert ticks(text, "util") == [[0.09], [None]]
    assert ticks(text, "power_w") == [[69.0], [50.0]]


def test_a_time_of_day_without_a_date_is_no_moment():
    text = "#Time        gpu    pwr \n#HH:MM:SS    Idx      W \n 10:00:01      0     69 \n"
    assert ticks(text, "time") == [[None]]
    assert ticks(text, "power_w") == [[69.0]]


def test_a_moment_that_no_clock_shows_is_none():
    text = "#Date Time gpu pwr\n#YYYYMMDD HH:MM:SS Idx W\n 20221340 10:00:01 0 69 \n"
    assert ticks(text, "time") == [[None]]


def test_a_value_at_the_cut_end_of_the_monitor_is_not_read():
    text = DMON + "    0     69     41      -    100      7   2619   19"
    assert ticks(text, "mem_clock_hz") == [[2_619_000_000]]
    assert ticks(text, "sm_clock_hz") == [[None]]


def test_a_round_of_processes_ends_where_ids_fall():
    rows = ["0 5 C 1 1 - - a", "0 9 C 1 1 - - b", "0 5 C 1 1 - - a", "0 12 C 1 1 - - c d"]
    assert ticks(PMON + "\n".join(rows) + "\n", "foreign_pids") == [[[5, 9], [5, 12]]]


def test_a_round_of_processes_ends_where_the_time_changes():
    rows = ["10:00:00 0 5 C a", "10:00:01 0 9 C b", "10:00:02 0 - - -"]
    assert ticks(TIMED + "\n".join(rows) + "\n", "foreign_pids") == [[[5], [9], []]]


def test_a_last_round_of_processes_that_may_be_cut_is_left_out():
    assert ticks(PMON + "0 5 C 1 1 - - a\n0 5 C 1 1 - - a\n0 9 C 1", "foreign_pids") == [[[5]]]


def test_the_list_of_an_older_driver_names_instances_below_their_gpu():
    gpu = "GPU-11111111-2222-3333-4444-555555555555"
    text = f"GPU 0: A100-SXM4-40GB (UUID: {gpu})\n  MIG 1g.5gb Device 0: (UUID: MIG-{gpu}/7/0)\n"
    parent, instance = read(text).devices
    assert parent.facts["partitions"] == ["1g.5gb"]
    assert (instance.name, instance.device_class) == (f"MIG-{gpu}/7/0", "nvidia-a100-sxm4-40gb-mig-1g.5gb")


@pytest.mark.parametrize(
    "after", ["$ nvidia-smi topo -m\n", "root@host:/# \n", "PS C:\\> exit\n", "```\nand so on\n"]
)
def test_a_list_ends_at_the_next_prompt(after):
    (device,) = read(f"GPU 0: Tesla T4 (UUID: GPU-a)\n{after}").devices
    assert device.facts["uuid"] == "GPU-a"


def test_a_list_without_instances_does_not_say_that_a_gpu_is_whole():
    (device,) = read("GPU 0: Tesla T4 (UUID: GPU-a)\n").devices
    assert (device.facts["partition_mode"], device.facts["partitions"]) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "GPU 0: Tesla T4 (UUID: GPU-a)\n\t Link 0: 25.781 GB/s\n",
        "Run length not specified in the command line. Using compare file: compare.ptx\n"
        "GPU 0: Tesla T4 (UUID: GPU-a)\nInitialized device 0 with 15109 MB of memory\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "No devices were found\n",
        "# gpu   fb\nnothing of units\n",
        "#Entity   GRACT   SMACT\nID\nGPU 0     0.000   0.000\n",
    ],
)
def test_other_texts_are_not_recognised(text):
    assert not [reader.form for reader in READERS if reader.recognises(text)]


@pytest.mark.parametrize(
    "path",
    [path for path in fixtures("nvidia-smi") if path.name in ("dmon-dated.txt", "driver390-table.txt")],
    ids=lambda path: path.name,
)
def test_what_is_cut_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)
