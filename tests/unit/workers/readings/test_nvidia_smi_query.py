"""`nvidia-smi -q` as XML and as text: what the fixtures of the conformance test do not show."""

import pytest

from workers.readings import read
from workers.readings.reader import UnreadableError

HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'


def document(*gpus, attached=None, time="Mon Jan  6 01:02:03 2025"):
    count = len(gpus) if attached is None else attached
    body = "".join(
        f'<gpu id="00000000:{number + 1:02X}:00.0"><product_name>NVIDIA L4</product_name>{gpu}</gpu>\n'
        for number, gpu in enumerate(gpus)
    )
    return (
        f"{HEAD}<nvidia_smi_log><timestamp>{time}</timestamp><driver_version>550.1</driver_version>"
        f"<attached_gpus>{count}</attached_gpus>\n{body}</nvidia_smi_log>\n"
    )


def log(*lines, attached=1):
    head = [
        "==============NVSMI LOG==============",
        "",
        f"Attached GPUs     : {attached}",
        "GPU 00000000:01:00.0",
    ]
    return "\n".join([*head, *(f"    {line}" for line in lines)]) + "\n\n"


def reading(text):
    (device,) = read(text).devices
    return device.readings[0]


def test_xml_documents_after_each_other_are_readings_of_the_same_gpus():
    first, second = "<fan_speed>10 %</fan_speed>", "<fan_speed>20 %</fan_speed>"
    text = document(first, first) + document(second, second, time="Mon Jan  6 01:02:04 2025")
    devices = read(text).devices
    assert [device.facts["pci_bus_id"] for device in devices] == ["00000000:01:00.0", "00000000:02:00.0"]
    assert [[tick["fan"] for tick in device.readings] for device in devices] == [[0.1, 0.2], [0.1, 0.2]]
    assert devices[1].readings[1]["time"] == "2025-01-06T01:02:04"


def test_xml_with_its_document_type_within_is_read():
    inner = "<!DOCTYPE nvidia_smi_log [\n<!ELEMENT nvidia_smi_log (timestamp, gpu*)>\n]>"
    text = document("<fan_speed>7 %</fan_speed>").replace(HEAD.splitlines()[1], inner)
    assert reading(text)["fan"] == 0.07


def test_xml_that_declares_entities_is_refused():
    inner = '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa">]>'
    text = document("<serial>&a;</serial>").replace(HEAD.splitlines()[1], inner)
    with pytest.raises(UnreadableError, match="line 1: the document declares entities"):
        read(text)


def test_xml_after_warnings_and_before_others_is_read():
    text = "WARNING: infoROM is corrupted\n" + document("<fan_speed>7 %</fan_speed>") + "bye\n"
    assert reading(text)["fan"] == 0.07


def test_xml_that_is_cut_in_its_second_gpu_tells_the_first_one_and_no_numbers_of_gpus():
    text = document("<serial>1</serial>", "<serial>23</serial>")
    (device,) = read(text[: text.index("3</serial>")]).devices
    assert (device.facts["serial"], device.facts["index"]) == ("1", None)


def test_xml_that_is_cut_or_broken_in_its_first_gpu_is_refused_with_the_place():
    text = document("<serial>1</serial>")
    with pytest.raises(UnreadableError, match="begins in line 1 ends before its first GPU is complete"):
        read(text[: text.index("</serial>")])
    with pytest.raises(UnreadableError, match=r"line 4, column [0-9]+: mismatched tag"):
        read(text.replace("</serial>", "</uuid>"))


def test_xml_of_a_host_without_gpus_tells_none():
    assert read(document()).devices == []


def test_gpus_are_numbered_only_where_all_of_the_host_are_shown():
    assert [device.facts["index"] for device in read(document("", "")).devices] == [0, 1]
    assert [device.facts["index"] for device in read(document("", "", attached=8)).devices] == [None, None]


@pytest.mark.parametrize(
    "missing",
    ["N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "Requested functionality has been deprecated", ""],
)
def test_what_is_not_there_is_missing_and_never_zero(missing):
    tick = reading(
        document(
            f"<fan_speed>{missing}</fan_speed><utilization><gpu_util>{missing}</gpu_util></utilization>"
            f"<ecc_errors><volatile><sram_correctable>{missing}</sram_correctable>"
            f"<dram_correctable>{missing}</dram_correctable></volatile></ecc_errors>"
        )
    )
    assert (tick["fan"], tick["util"], tick["ecc_corrected"]) == (None, None, None)
    assert {"fan", "util", "ecc_corrected", "foreign_pids"} <= set(tick["unavailable"])


@pytest.mark.parametrize(
    ("memories", "corrected"),
    [
        ({"sram_correctable": "1", "dram_correctable": "2"}, 3),
        ({"sram_correctable": "N/A", "dram_correctable": "2"}, 2),
        ({"dram_correctable": "2"}, None),
        ({"sram_correctable": "N/A", "dram_correctable": "N/A"}, None),
    ],
)
def test_memory_errors_are_the_sum_over_the_memories_that_count_them(memories, corrected):
    inner = "".join(f"<{name}>{count}</{name}>" for name, count in memories.items())
    tick = reading(document(f"<ecc_errors><volatile>{inner}</volatile></ecc_errors>"))
    assert tick["ecc_corrected"] == corrected


@pytest.mark.parametrize(
    ("readings", "power_w"),
    [
        ("<power_draw>1.50 W</power_draw><average_power_draw>2.50 W</average_power_draw>", 1.5),
        (
            "<average_power_draw>2.50 W</average_power_draw><instant_power_draw>3.50 W</instant_power_draw>",
            2.5,
        ),
        ("<average_power_draw>N/A</average_power_draw><instant_power_draw>3.50 W</instant_power_draw>", 3.5),
        ("<power_state>P0</power_state>", None),
    ],
)
def test_power_is_the_draw_that_all_versions_mean(readings, power_w):
    assert reading(document(f"<gpu_power_readings>{readings}</gpu_power_readings>"))["power_w"] == power_w


@pytest.mark.parametrize(
    ("processes", "pids"),
    [
        ("<processes></processes>", []),
        ("<processes>\nNone\n</processes>", []),
        ("<processes>N/A</processes>", None),
        ("<processes>Insufficient Permissions</processes>", None),
        ("", None),
        (
            "<processes><process_info><pid>8</pid></process_info><process_info><pid>7</pid></process_info></processes>",
            [7, 8],
        ),
    ],
)
def test_processes_are_all_that_are_listed_and_missing_where_none_are_told(processes, pids):
    assert reading(document(processes))["foreign_pids"] == pids


def test_a_clock_that_applications_ask_for_says_how_clocks_are_chosen_where_it_was_changed():
    clocks = "<{0}><graphics_clock>{1} MHz</graphics_clock></{0}>"
    default = clocks.format("default_applications_clocks", 1000)
    (changed,) = read(document(clocks.format("applications_clocks", 900) + default)).devices
    (same,) = read(document(clocks.format("applications_clocks", 1000) + default)).devices
    assert (changed.facts["clock_policy"], same.facts["clock_policy"]) == ("application", None)


def test_text_logs_after_each_other_are_readings_of_the_same_gpu():
    (device,) = read(log("Fan Speed   : 10 %") + log("Fan Speed   : 20 %")).devices
    assert [tick["fan"] for tick in device.readings] == [0.1, 0.2]


def test_text_of_selected_sections_tells_those():
    tick = reading(log("Temperature", "    GPU Current Temp    : 61 C", "    GPU T.Limit Temp    : 20 C"))
    assert (tick["temp_c"], tick["power_w"], tick["foreign_pids"]) == (61.0, None, None)


def test_text_of_a_host_without_gpus_tells_none():
    assert read("==============NVSMI LOG==============\n\nAttached GPUs    : 0\n\n").devices == []


def test_text_that_ends_before_its_first_gpu_is_refused_with_the_place():
    with pytest.raises(UnreadableError, match="line 3: the log ends before its first GPU"):
        read("==============NVSMI LOG==============\n\nTimestamp    : Thu ")


@pytest.mark.parametrize(
    ("lines", "pids"),
    [
        (["Processes    : None"], []),
        (["Processes    : N/A"], None),
        (["Processes"], None),
        (["Processes", "    Process ID      : 5"], None),
        (["Processes", "    Process ID      : 5", "        Used GPU Memory : 1 MiB"], [5]),
    ],
)
def test_processes_of_a_text_are_told_where_their_list_is_complete(lines, pids):
    assert reading(log(*lines))["foreign_pids"] == pids


def test_a_number_at_the_cut_end_of_a_text_is_not_read():
    text = log("Retired Pages", "    Single Bit ECC   : 1", "    Double Bit ECC   : 23")
    assert reading(text)["remapped_rows"] == 24
    assert reading(text[: text.rindex("3")])["remapped_rows"] is None


def test_limits_in_a_section_of_their_own_are_the_gpus_and_no_others():
    text = log(
        "GPU Power Readings",
        "    Average Power Draw            : 90.50 W",
        "    GPU Ceiling Power Limit",
        "        Current Power Limit       : 650.00 W",
        "        Requested Power Limit     : 640.00 W",
        "        Default Power Limit       : 700.00 W",
        "    GPU Base Power",
        "        Current Base Power        : 500.00 W",
        "        Default Base Power        : 510.00 W",
        "    Max Power Limit               : 720.00 W",
        "Module Power Readings",
        "    Current Power Limit           : 900.00 W",
    )
    (device,) = read(text).devices
    assert device.readings[0]["power_limit_w"] == 650.0
    assert (device.facts["power_limit_default_w"], device.facts["power_limit_max_w"]) == (700.0, 720.0)


def test_limits_in_an_element_of_their_own_are_the_gpus_and_no_others():
    limits = "<current_power_limit>650.00 W</current_power_limit><default_power_limit>700.00 W</default_power_limit>"
    text = document(
        f"<gpu_power_readings><gpu_ceiling_power_limit>{limits}</gpu_ceiling_power_limit>"
        "<gpu_base_power><current_power_limit>500.00 W</current_power_limit></gpu_base_power>"
        "<max_power_limit>720.00 W</max_power_limit></gpu_power_readings>"
        "<module_power_readings><current_power_limit>900.00 W</current_power_limit></module_power_readings>"
    )
    (device,) = read(text).devices
    assert device.readings[0]["power_limit_w"] == 650.0
    assert (device.facts["power_limit_default_w"], device.facts["power_limit_max_w"]) == (700.0, 720.0)


@pytest.mark.parametrize("before", ["    ", "\t", "\t\t"])
def test_a_log_whose_lines_are_indented_below_a_prompt_is_read(before):
    quoted = "".join(
        f"{before}{line}\n"
        for line in log("Fan Speed   : 12 %", "Temperature", "    Gpu   : 62 C").splitlines()
    )
    tick = reading(f"$ nvidia-smi -q\n{quoted}")
    assert (tick["fan"], tick["temp_c"]) == (0.12, 62.0)


def test_a_time_that_no_clock_shows_is_not_told():
    assert reading(document("<fan_speed>1 %</fan_speed>", time="Mon Feb 31 01:02:03 2025"))["time"] is None
