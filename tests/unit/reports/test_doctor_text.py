import pytest

from app.reports.doctor_text import doctor_lines, together
from app.reports.grid import Paint
from app.reports.text import columns
from workers.readings.record import facts

PLAIN = Paint(False)
NO_SERVICE = {"url": None, "trouble": "no service runs on the default data folder"}
SERVICE = {"url": "http://127.0.0.1:8440", "trouble": None}
CHECK = {
    "run": 7,
    "sigma_pair": 0.0031,
    "mde": 0.01,
    "verdicts": 42,
    "false_alarms": 1,
    "clocks_locked": True,
    "exclusive": True,
    "measured_at": "2026-11-21T02:10:33.123+00:00",
}


def gpu(index):
    return {
        "kind": "nvidia",
        "device_class": "nvidia-h100",
        "hardware_id": f"GPU-{index}",
        "facts": facts(index=index),
    }


PROCESSOR = {"kind": "cpu", "device_class": "cpu-epyc-8t", "hardware_id": "cpu:1", "facts": facts(index=0)}


def known(grade="A", health="good", **check):
    return {"grade": grade, "health": health, "self_check": {**CHECK, **check} if grade else None}


def ailment(code="power_cap", where="host", what="the power limit is 600 W", cost="speed", mend="mend it"):
    return {"code": code, "where": where, "what": what, "cost": cost, "mend": mend}


def document(*devices, grades=None, service=SERVICE, **others):
    return {
        "version": 1,
        "devices": list(devices),
        "ailments": [],
        "advice": [],
        "absent": [],
        "grades": [None] * len(devices) if grades is None else grades,
        "service": service,
    } | others


def lines(*devices, room=None, **others):
    return doctor_lines(document(*devices, **others), room, PLAIN)


# --- grades come first ---


def test_the_grade_of_a_device_comes_first_with_what_its_last_self_check_showed():
    found = lines(gpu(0), grades=[known()])
    assert found[:2] == [
        "nvidia-h100 0  grade A: exclusive device, locked clocks, pairs agree within 0.5 %",
        "  measured against itself 2026-11-21 02:10 UTC, pairs agree within 0.31 %,"
        " finds changes from 1.0 % on in 32 pairs, 1 false alarm in 42 results",
    ]


def test_what_kept_a_device_from_a_better_grade_is_said():
    found = lines(
        gpu(0), grades=[known("C", clocks_locked=False, exclusive=False, sigma_pair=None, mde=None)]
    )
    assert found[1] == (
        "  measured against itself 2026-11-21 02:10 UTC, its clock moved by over 1 %,"
        " somebody else was there, too, 1 false alarm in 42 results"
    )


def test_without_a_service_the_way_to_a_grade_is_said_once():
    found = lines(gpu(0), gpu(1), gpu(2), PROCESSOR, service=NO_SERVICE)
    assert found[:2] == ["nvidia-h100 0-2  no grade yet", "cpu-epyc-8t  no grade yet"]
    assert found[2].startswith("  No grades: no service runs on the default data folder. → a service grades")
    assert "`ratchet up`" in found[2]


def test_devices_that_a_service_has_not_graded_yet_are_told_of_together():
    found = lines(gpu(0), gpu(1), gpu(2), grades=[known(), known(None), None])
    assert found[0].startswith("nvidia-h100 0  grade A")
    assert found[2] == "nvidia-h100 1-2  no grade yet"
    assert found[3] == ""


def test_a_device_in_quarantine_is_told_of():
    found = lines(gpu(0), grades=[known(None, "quarantined")])
    assert found[:2] == ["nvidia-h100 0  no grade yet", "  in quarantine: it takes no jobs"]


def test_a_quarantine_says_why_and_who_ends_it():
    seen = {"since": "2026-11-20T03:00:00Z", "why": "1 uncorrected memory error", "ends_by": "administrator"}
    found = lines(gpu(0), grades=[known(None, "quarantined") | {"quarantine": seen}])
    assert found[1] == (
        "  in quarantine: 1 uncorrected memory error; it takes no jobs until an administrator says that it was mended"
    )


def test_a_processor_that_is_not_what_it_was_is_told_of_with_why():
    seen = {
        "since": "2026-11-20T03:00:00Z",
        "why": "gemm_f64 of its control took 13 ms, 10 ms is usual (+30.0 %)",
    }
    found = lines(gpu(0), gpu(1), grades=[known(None) | {"moved": seen}, known(None) | {"moved": None}])
    assert found[:3] == [
        "nvidia-h100 0  no grade yet",
        f"  not what it was: {seen['why']}; it goes on measuring",
        "nvidia-h100 1  no grade yet",
    ]


# --- then what is wrong ---


def test_a_machine_that_nothing_is_wrong_with_is_told_so():
    assert lines(gpu(0))[2] == "Nothing was found that makes this machine a bad place to measure."


def test_an_ailment_says_what_is_wrong_its_cost_and_the_command_that_mends_it():
    found = lines(gpu(0), ailments=[ailment(where="GPU-0")])
    assert found[2:] == [
        "1 thing makes this machine a bad place to measure:",
        "",
        "✗ the power limit is 600 W  [nvidia-h100 0]",
        "  costs  speed",
        "  mend   mend it",
    ]


def test_an_ailment_of_the_host_names_no_device():
    assert lines(gpu(0), ailments=[ailment()])[4] == "✗ the power limit is 600 W"


def test_what_is_wrong_with_several_devices_is_told_once_with_one_command():
    ailments = [
        ailment(
            "persistence_off",
            f"GPU-{index}",
            "persistence is off",
            "seconds",
            f"sudo nvidia-smi -i {index} -pm 1",
        )
        for index in range(4)
    ]
    found = lines(*map(gpu, range(4)), ailments=ailments)
    assert found[2] == "1 thing makes this machine a bad place to measure:"
    assert found[4:] == [
        "✗ persistence is off  [nvidia-h100 0-3]",
        "  costs  seconds",
        "  mend   sudo nvidia-smi -i 0,1,2,3 -pm 1",
    ]


def test_parts_of_one_gpu_are_mended_once():
    mends = ["sudo nvidia-smi -i 0 -pm 1"] * 7
    assert together(mends) == ["sudo nvidia-smi -i 0 -pm 1"]


def test_commands_that_differ_in_more_than_a_gpus_number_stay_apart():
    mends = ["sudo nvidia-smi -i 0 -pl 300", "sudo nvidia-smi -i 1 -pl 350", "echo 1", "echo 2"]
    assert together(mends) == mends


def test_a_command_is_never_broken_into_lines():
    mend = "sudo amd-smi set --gpu 0000:c1:00.0 --perf-level MANUAL && " * 3 + "true"
    assert f"  mend   {mend}" in lines(gpu(0), ailments=[ailment(mend=mend)], room=60)


def test_advice_is_told_apart_from_what_is_known():
    found = lines(gpu(0), advice=[ailment("clocks_unknown", "GPU-0", "whether … cannot be read")])
    assert found[2] == "Nothing was found that makes this machine a bad place to measure."
    assert found[4] == "? whether … cannot be read  [nvidia-h100 0]"


def test_devices_that_could_not_be_looked_at_are_named():
    absent = [{"kind": "amd", "what": "AMD GPU", "why": "no driver has it", "how": "sudo modprobe amdgpu"}]
    assert lines(PROCESSOR, absent=absent)[-3:] == [
        "amd: AMD GPU",
        "          no driver has it",
        "          → sudo modprobe amdgpu",
    ]


# --- any terminal ---


@pytest.mark.parametrize("room", [40, 80, 100])
def test_sentences_fit_into_the_terminal(room):
    ailments = [ailment(where=f"GPU-{n}", what="a long story " * 9, cost="a lot " * 30) for n in range(9)]
    found = lines(*map(gpu, range(9)), ailments=ailments, service=NO_SERVICE, room=room)
    assert max(map(columns, found)) <= room


def test_numbers_stay_with_their_units():
    for room in range(40, 110):
        found = lines(gpu(0), grades=[known(clocks_locked=False)], room=room)
        assert not any(line.strip().startswith("%") for line in found)


def test_names_of_programs_cannot_move_the_cursor():
    found = lines(
        gpu(0), ailments=[ailment(what="another program: \x1b[2Jevil\x9b\u202e (7)", mend="kill 7\n")]
    )
    assert all(char.isprintable() for line in found for char in line)
