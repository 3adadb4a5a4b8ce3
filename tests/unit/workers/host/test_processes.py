import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.workers.host.fake_proc import FakeProc
from workers.host import processes
from workers.host.processes import all_pids, family, foreign, holders, status

AGENT = 100


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch):
    monkeypatch.setattr(processes, "_seen_s", {})


@pytest.fixture(params=[True, False], ids=["lists of children", "no lists of children"])
def proc(request, tmp_path):
    """An agent with a keeper and its program, beside another user's program and its child."""
    proc = FakeProc(tmp_path / "proc", lists_children=request.param)
    for pid, parent in [(1, 0), (AGENT, 1), (110, AGENT), (111, 110), (200, 1), (201, 200)]:
        proc.process(pid, parent)
    return proc


def test_the_agent_and_all_that_descend_from_it_are_not_foreign(proc):
    assert foreign([AGENT, 110, 111], proc.folder, AGENT) == []


def test_everything_else_is_foreign_sorted_and_once(proc):
    assert foreign([201, 111, 200, 1, 201], proc.folder, AGENT) == [1, 200, 201]


def test_a_process_that_cannot_be_seen_is_foreign(proc):
    assert foreign([4242, 0, -1], proc.folder, AGENT) == [-1, 0, 4242]


def test_a_process_of_ours_that_a_list_still_has_after_its_end_is_not_foreign(proc):
    foreign([111], proc.folder, AGENT)
    proc.end(111)
    assert foreign([111], proc.folder, AGENT) == []


def test_a_process_that_took_the_number_of_one_of_ours_is_foreign(proc):
    foreign([111], proc.folder, AGENT)
    proc.end(111)
    proc.process(111, 1, started=7)
    assert foreign([111], proc.folder, AGENT) == [111]


def test_a_process_of_ours_that_ended_long_ago_is_forgotten(proc, monkeypatch):
    foreign([111], proc.folder, AGENT)
    proc.end(111)
    monkeypatch.setattr(processes, "REMEMBERED_S", 0.0)
    assert foreign([111], proc.folder, AGENT) == [111]


def test_ancestors_in_a_circle_are_foreign(proc):
    proc.process(300, 301)
    proc.process(301, 300)
    assert foreign([300], proc.folder, AGENT) == [300]


def test_a_real_child_is_ours_and_its_parents_parent_is_not():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = foreign([child.pid, os.getpid(), os.getppid()])
        child.communicate(b"\n")
    assert found == [os.getppid()]


def test_the_family_is_found_with_parents_before_their_children(proc):
    assert list(family(AGENT, proc.folder)) == [AGENT, 110, 111]


def test_what_a_process_used_is_read_past_any_name(proc):
    proc.process(111, 110, ticks=5, children_ticks=6, faults=7, children_faults=8, started=9)
    known = status(111, proc.folder)
    assert (known.parent, known.ticks, known.children_ticks) == (110, 5, 6)
    assert (known.faults, known.children_faults, known.started_ticks) == (7, 8, 9)


def test_a_line_that_is_cut_tells_nothing(proc):
    (proc.folder / "111" / "stat").write_text("111 (a) S 110 1 1")
    assert status(111, proc.folder) is None


def test_the_newest_processes_come_first(proc):
    assert all_pids(proc.folder) == [201, 200, 111, 110, AGENT, 1]


# --- who has a device's file open ---


def opened(proc, pid, *targets):
    folder = proc.folder / str(pid) / "fd"
    folder.mkdir()
    for number, target in enumerate(targets):
        (folder / str(number)).symlink_to(target)


def test_holders_are_told_for_each_file(proc, tmp_path):
    first, second = Path("/dev/none-such0"), Path("/dev/none-such1")
    opened(proc, 111, first, "/etc/passwd", "socket:[5]")
    opened(proc, 200, first, second, first)
    assert holders([first, second, tmp_path], proc.folder) == {
        first: [111, 200],
        second: [200],
        tmp_path: [],
    }


def test_a_device_is_known_by_its_number_under_another_name(proc, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_device_number", lambda path: 0 if "passwd" in path else 259)
    opened(proc, 111, "/dev/in-a-container")
    opened(proc, 200, "/etc/passwd")
    assert holders([Path("/dev/on-the-host")], proc.folder) == {Path("/dev/on-the-host"): [111]}


def test_files_of_the_same_number_that_are_no_devices_are_not_taken_for_one(proc, tmp_path):
    opened(proc, 111, "/dev/some-file", tmp_path / "other")
    assert holders([tmp_path / "file"], proc.folder) == {tmp_path / "file": []}


def test_a_search_ends_in_time_with_what_was_found(proc):
    opened(proc, 111, "/dev/none-such0")
    assert holders([Path("/dev/none-such0")], proc.folder, within_s=-1.0) == {Path("/dev/none-such0"): []}


def test_real_holders_of_a_file_are_found(tmp_path):
    path = tmp_path / "device"
    with open(path, "w"):
        assert os.getpid() in holders([path])[path]
