from workers.readings.record import READINGS
from workers.readings.sources import SOURCES, open_questions


def test_every_reading_that_a_source_tells_is_in_the_catalogue():
    assert {name for commands in SOURCES.values() for names in commands.values() for name in names} <= set(
        READINGS
    )


def test_a_recording_of_activity_alone_leaves_the_rest_open():
    what, how = open_questions("nvidia", ["sm_active", "tensor_active", "dram_active"])
    assert how == ["nvidia-smi -q -x"]
    assert {"power_w", "temp_c", "foreign_pids"} <= set(what)
    assert "sm_active" not in what


def test_a_command_that_would_tell_little_more_is_not_worth_another_recording():
    told = set(SOURCES["nvidia"]["nvidia-smi -q -x"]) - {"mode"}
    _, how = open_questions("nvidia", told)
    assert "nvidia-smi -q -x" not in how


def test_of_a_kind_without_known_sources_nothing_is_open():
    assert open_questions("simulated", []) == ([], [])
