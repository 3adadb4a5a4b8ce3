from pathlib import Path

import pytest

from tests.factories.waiting import wait_for
from tests.unit.workers.devices.vendor_tools import SOON_S
from workers.devices import shared
from workers.devices.shared import Holders, Shared, await_answer
from workers.host import processes

ONE, OTHER = Path("/dev/one"), Path("/dev/other")


class Tool:
    """A source that answers, fails or does neither, and counts how often it was closed."""

    def __init__(self, answers=(), troubles=()):
        self._answers, self._troubles = list(answers), list(troubles)
        self.closed = 0

    def latest(self):
        return self._answers.pop(0) if self._answers else None

    @property
    def trouble(self):
        return self._troubles.pop(0) if len(self._troubles) > 1 else "".join(self._troubles)

    def close(self):
        self.closed += 1


def test_sources_are_closed_when_the_last_device_has_left():
    tool, devices = Tool(), [object(), object()]
    used = Shared(tool)
    for device in devices:
        used.join(device)
    used.leave(devices[0])
    used.leave(devices[0])
    assert tool.closed == 0
    used.leave(devices[1])
    used.leave(devices[1])
    assert tool.closed == 1


def test_an_answer_is_waited_for():
    tool = Tool(answers=[None, None, 1, 2])
    await_answer(tool, longest_s=30.0)
    assert tool.latest() == 2


def test_a_failure_ends_the_waiting():
    tool = Tool(troubles=["not yet", "not yet", "it ended"])
    await_answer(tool, longest_s=30.0)
    assert tool.trouble == "it ended"


def test_nothing_is_waited_for_no_longer_than_told():
    tool = Tool(troubles=["not yet"])
    await_answer(tool, longest_s=0.0)
    assert tool.trouble == "not yet"


@pytest.fixture
def held(monkeypatch, tmp_path):
    """Who has which file open; 7 is ours, and 8 is a tool."""
    found = {}
    monkeypatch.setattr(processes, "holders", lambda paths: {path: found.get(path, []) for path in paths})
    monkeypatch.setattr(processes, "foreign", lambda pids: sorted(set(pids) - {7}))
    monkeypatch.setattr(processes, "PROC", tmp_path)
    (tmp_path / "8").mkdir()
    (tmp_path / "8/comm").write_text("vendor-top\n")
    return found


@pytest.fixture
def holders(held):
    looked = Holders([ONE, OTHER], ["vendor-top"])
    yield looked
    looked.close()


def test_holders_are_foreign_and_no_tools(held, holders):
    held |= {ONE: [9, 7, 8], OTHER: [9, 10]}
    assert holders.now([ONE]) == [9]
    assert holders.now([ONE, OTHER]) == [9, 10]


def test_a_look_is_the_same_for_all_devices(held, holders):
    held |= {ONE: [9, 7], OTHER: [10]}
    assert wait_for(lambda: holders.latest([ONE]), SOON_S) == [9]
    assert holders.latest([OTHER]) == [10]
    assert holders.all_of(ONE) == (9, 7)


def test_before_the_first_look_nobody_is_known(monkeypatch, held, holders):
    monkeypatch.setattr(processes, "holders", lambda paths: 1 / 0)
    assert holders.latest([ONE]) is None
    assert holders.all_of(ONE) == ()


@pytest.mark.parametrize(("sees", "told"), [(True, []), (False, None)])
def test_nobody_is_only_an_answer_where_all_may_be_seen(monkeypatch, held, holders, sees, told):
    monkeypatch.setattr(shared, "sees_others", lambda: sees)
    held |= {OTHER: [10]}
    wait_for(lambda: holders.latest([OTHER]), SOON_S)
    assert holders.latest([ONE]) == told
