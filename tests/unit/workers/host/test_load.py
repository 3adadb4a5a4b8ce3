import os
import subprocess
import sys

import pytest

from tests.unit.workers.host.fake_proc import FakeProc
from workers.host.load import PAGE_B, CpuTimes, HostLoad, Totals, between, parse_cpu_times
from workers.host.sparing import Sparing

AGENT, KEEPER, PROGRAM = 100, 110, 111
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.now_s = 50.0

    def __call__(self):
        return self.now_s


class Host:
    """A host with an agent that measures, looked at once a second."""

    def __init__(self, folder):
        self.proc = FakeProc(folder)
        self.clock = Clock()
        self.used = 0
        self.idle = 0
        self.proc.process(AGENT, 1, ticks=50, children_ticks=7)
        self.proc.swapped_in(0)
        self.load = HostLoad(agent=AGENT, proc=folder, clock=self.clock)

    def spend(self, *, work=0, idle=0, seconds=1.0, **others):
        """Let time pass: `work` is of all programs together."""
        self.used, self.idle = self.used + work, self.idle + idle
        self.proc.cpu(work=self.used, idle=self.idle, **others)
        self.clock.now_s += seconds

    def foreign(self):
        return self.load.look()["host_cpu_foreign"]


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path / "proc")


# --- how busy others kept the processors ---


def test_work_of_other_programs_is_told_in_processors(host):
    host.spend(work=150)
    assert host.foreign() == pytest.approx(1.5)


def test_work_of_the_agent_and_its_program_is_not_foreign(host):
    host.proc.process(AGENT, 1, ticks=60, children_ticks=7)
    host.proc.process(KEEPER, AGENT, ticks=2)
    host.proc.process(PROGRAM, KEEPER, ticks=88)
    host.spend(work=130)
    assert host.foreign() == pytest.approx(0.3)


def test_work_on_interrupts_is_nobodys(host):
    host.spend(work=0, interrupts=80)
    assert host.foreign() == 0


def test_a_program_that_ended_is_counted_once(host):
    host.proc.process(KEEPER, AGENT)
    host.proc.process(PROGRAM, KEEPER, ticks=90)
    host.spend(work=90)
    assert host.foreign() == 0
    host.proc.end(PROGRAM)
    host.proc.process(KEEPER, AGENT, children_ticks=95)
    host.spend(work=25)
    assert host.foreign() == pytest.approx(0.2)


def test_a_program_that_ended_between_the_looks_at_parent_and_child_is_counted_once(host):
    host.proc.process(KEEPER, AGENT)
    host.proc.process(PROGRAM, KEEPER, ticks=90)
    host.spend(work=90)
    host.foreign()
    host.proc.end(PROGRAM)
    host.spend(work=20)
    assert host.foreign() == pytest.approx(0.2)
    host.proc.process(KEEPER, AGENT, children_ticks=90)
    host.spend(work=20)
    assert host.foreign() == pytest.approx(0.2)


def test_a_program_that_nobody_waited_for_is_not_taken_back(host):
    host.proc.process(KEEPER, AGENT)
    host.proc.process(PROGRAM, KEEPER, ticks=90)
    host.spend(work=90)
    host.foreign()
    host.proc.end(PROGRAM)
    host.spend(work=40)
    host.spend(work=0)
    assert host.foreign() == pytest.approx(0.2)


def test_a_keeper_and_its_program_that_ended_together_are_counted_once(host):
    host.proc.process(KEEPER, AGENT, ticks=3)
    host.proc.process(PROGRAM, KEEPER, ticks=90)
    host.spend(work=93)
    host.foreign()
    host.proc.end(PROGRAM)
    host.proc.end(KEEPER)
    host.proc.process(AGENT, 1, ticks=50, children_ticks=7 + 93 + 4)
    host.spend(work=14)
    assert host.foreign() == pytest.approx(0.1)


def test_a_process_that_took_the_number_of_one_of_ours_is_foreign(host):
    host.proc.process(PROGRAM, AGENT, ticks=10)
    host.spend(work=10)
    host.foreign()
    host.proc.process(PROGRAM, 1, ticks=80, started=2)
    host.spend(work=80)
    assert host.foreign() == pytest.approx(0.8)


def test_what_one_look_told_too_little_the_next_makes_up_for(host):
    host.proc.process(AGENT, 1, ticks=50 + 30, children_ticks=7)
    host.spend(work=28)
    assert host.foreign() == 0
    host.spend(work=12)
    assert host.foreign() == pytest.approx(0.1)


def test_looks_that_are_next_to_each_other_give_one_answer(host):
    host.spend(work=40)
    first = host.foreign()
    host.spend(work=1, seconds=0.001)
    assert host.foreign() == first == pytest.approx(0.4)


def test_a_host_without_counters_tells_nothing(tmp_path):
    (tmp_path / "proc").mkdir()
    host = Host(tmp_path / "proc")
    (tmp_path / "proc" / "stat").unlink()
    (tmp_path / "proc" / "vmstat").unlink()
    load = HostLoad(agent=AGENT, proc=tmp_path / "proc", clock=host.clock)
    host.clock.now_s += 1
    assert load.look() == {"host_cpu_foreign": None, "host_steal": None, "swap_in_b": None}


def test_totals_give_the_readings_of_a_whole_invocation(host):
    first = host.load.totals()
    for _ in range(4):
        host.spend(work=50, idle=40, seconds=0.5)
        host.load.look()
    assert between(first, host.load.totals())["host_cpu_foreign"] == pytest.approx(200 * TICK_S / 2.0)


def test_between_the_same_totals_nothing_is_known():
    moment = Totals(1.0, 0.0, 0.0, 0.0, 0.0, 0)
    assert between(moment, moment)["host_cpu_foreign"] is None


def test_a_real_child_at_work_is_not_foreign():
    load = HostLoad()
    first = load.totals()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert load.totals().own_cpu_s - first.own_cpu_s >= 0.25


# --- steal ---


def test_steal_is_a_share_of_all_processors_time(host):
    host.spend(work=30, idle=60, steal=10)
    assert host.load.look()["host_steal"] == pytest.approx(0.1)


def test_shares_of_processor_time_are_of_all_of_it():
    spent = CpuTimes(busy=30, idle=60, steal=10) - CpuTimes(busy=10, idle=20, steal=10)
    assert (spent.share(spent.busy), spent.share(spent.steal)) == (20 / 60, 0.0)


def test_shares_of_no_time_are_unknown():
    assert CpuTimes(0, 0, 0).share(0) is None


def test_guests_and_waiting_are_counted_in_what_they_belong_to():
    times = parse_cpu_times("cpu  10 20 30 400 50 6 7 8 9 10")
    assert times == CpuTimes(busy=73, idle=450, steal=8, interrupts=13)


def test_an_old_kernels_short_line_has_no_steal():
    assert parse_cpu_times("cpu 10 20 30 400") == CpuTimes(busy=60, idle=400, steal=0)


# --- swap ---


def swapped(host, looks):
    """Return what is told after each of some looks at (pages read back, faults of the agent)."""
    told = []
    for pages, faults in looks:
        host.proc.swapped_in(pages)
        host.proc.process(AGENT, 1, ticks=50, children_ticks=7, faults=faults)
        host.spend()
        told.append(host.load.look()["swap_in_b"])
    return told


def test_swap_read_back_while_we_read_nothing_is_others_one_look_late(host):
    assert swapped(host, [(3, 0), (5, 0), (5, 0)]) == [0, 3 * PAGE_B, 5 * PAGE_B]


def test_swap_that_we_may_have_read_back_is_not_others(host):
    assert swapped(host, [(8, 0), (8, 1), (16, 2), (16, 2)]) == [0, 0, 0, 0]


def test_swap_beyond_what_we_can_have_read_back_is_others(host):
    assert swapped(host, [(100, 1), (100, 1)]) == [0, (100 - 8) * PAGE_B]


# --- sources that are slow to read ---


class Slow:
    def __init__(self, clock, cost_s):
        self.clock, self.cost_s, self.asked = clock, cost_s, 0

    def __call__(self):
        self.clock.now_s += self.cost_s
        self.asked += 1
        return self.asked


def test_a_slow_source_is_asked_no_more_than_its_share_of_the_time():
    clock = Clock()
    source = Slow(clock, cost_s=0.002)
    sparing = Sparing(source, share=0.01, clock=clock)
    answers = []
    for _ in range(10):
        answers.append(sparing())
        clock.now_s += 0.06
    assert answers == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]


def test_a_fast_source_is_asked_each_time():
    clock = Clock()
    sparing = Sparing(Slow(clock, cost_s=0.0), clock=clock)
    assert [sparing() for _ in range(3)] == [1, 2, 3]
