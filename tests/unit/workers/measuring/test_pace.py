"""How often the control workload runs."""

import os
import time

from workers.measuring.pace import FULL_EVERY_S, Pace


def test_the_first_probe_is_due_at_once_and_the_next_after_twenty_times_its_duration(tmp_path):
    pace = Pace(tmp_path, budget_s=60.0)
    assert pace.wants_probe(100.0)
    pace.note_probe(101.0, took_s=1.0)
    assert not pace.wants_probe(120.9)
    assert pace.wants_probe(121.0)


def test_the_full_kit_is_not_for_a_job_of_little_device_time(tmp_path):
    assert not Pace(tmp_path, budget_s=30.0).wants_full("machine")
    assert Pace(tmp_path, budget_s=1200.0).wants_full("machine")


def test_the_full_kit_is_due_every_quarter_of_an_hour_or_on_another_machine(tmp_path):
    pace = Pace(tmp_path / "control", budget_s=1200.0)
    pace.note_full("machine")
    assert not Pace(tmp_path / "control", budget_s=1200.0).wants_full("machine")
    assert pace.wants_full("another")
    long_ago = time.time() - FULL_EVERY_S - 1
    os.utime(tmp_path / "control" / "last-full", (long_ago, long_ago))
    assert pace.wants_full("machine")
