"""The agent's side of the control kit: starting it, bounding it, and reading what it wrote."""

import json
import os
import sys

import pytest

from tests.unit.workers.fake_clock import FakeClock
from tests.unit.workers.messages import TIMES, a_lease
from workers.arms.workspace import Workspace
from workers.control import control_version
from workers.control.backends.simulated import NOMINAL
from workers.control.probes import FULL, SHORT, named
from workers.devices import detect
from workers.devices.base import Host
from workers.devices.group import DeviceGroup
from workers.errors import JobError, LeaseEndedError
from workers.lease.client import ServiceClient
from workers.lease.tenure import End, Tenure
from workers.measuring import control
from workers.measuring.control import Control, deviation
from workers.measuring.control_result import read_lines, result_of
from workers.programs.cgroups import Cgroups
from workers.programs.runner import Runner
from workers.protocol import ControlResult

BY_FAULTS = {"faults": [{"kind": "slow", "factor": 2.0, "pairs": [3, 5], "control": 1.5}]}
OF_CODE = {"faults": [{"kind": "slow", "factor": 2.0, "arm": "head"}]}


@pytest.fixture
def tenure():
    client = ServiceClient("http://s", "t", clock=FakeClock())
    return Tenure(a_lease(), TIMES, client, FakeClock(), claimed_at=1000.0)


@pytest.fixture
def workspace(tmp_path):
    with Workspace(tmp_path / "work", 1) as made:
        yield made


@pytest.fixture
def make(tmp_path, tenure, workspace):
    """Make the control of simulated devices that differ in what these scripts say."""

    def made(*scripts, runner=None, locks=(), **options):
        file = tmp_path / "devices.json"
        named_ones = [
            {"class": "sim", "hardware_id": f"sim-{n}", "seed": n, **script}
            for n, script in enumerate(scripts or ({},))
        ]
        file.write_text(json.dumps(named_ones))
        devices = DeviceGroup(detect(("simulated",), Host(tmp_path / "state", tmp_path, file)))
        runner = runner or Runner(tenure, Cgroups(tmp_path, home=tmp_path / "no groups here"))
        return Control(runner, tenure, devices, workspace, locks, tmp_path / "caches", **options)

    return made


class Recorder:
    """A runner that starts nothing, and keeps what it was to start and what that was asked."""

    def __init__(self):
        self.programs, self.requests = [], []

    def run(self, program):
        self.programs.append(program)
        self.requests.append(json.loads((program.cwd / "request.json").read_text()))
        raise JobError("agent_fault", "nothing starts here")


def seconds(result):
    return {name: shown["seconds"] for name, shown in result.probes.items()}


# --- the kit's process ---


def test_the_full_kit_shows_every_probe(make, tenure, workspace):
    result = make().full()
    assert (result.version, result.backend) == (control_version(), "simulated")
    assert seconds(result) == {NOMINAL[probe][0]: pytest.approx(NOMINAL[probe][1]) for probe in FULL}
    assert all(shown["n"] >= 30 for shown in result.probes.values())
    assert set(result.probes["triad"]) == {"seconds", "cv", "n", "rate", "unit"}
    assert result.unavailable == {}
    assert tenure.device_s == result.duration_s > 0
    assert list((workspace.path / "homes").iterdir()) == []


def test_the_short_kit_shows_two_probes_and_its_time_counts_too(make, tenure):
    kit = make()
    results = [kit.probe(0), kit.probe(2)]
    assert list(results[0].probes) == [named(probe, "simulated") for probe in SHORT]
    assert tenure.device_s == pytest.approx(sum(result.duration_s for result in results))


def test_a_fault_of_the_machine_moves_the_control_and_one_of_the_code_does_not(make):
    machine, code = make(BY_FAULTS), make(OF_CODE)
    assert machine.deviation(machine.probe(0)) is None
    assert machine.deviation(machine.probe(2)) == pytest.approx(0.0)
    assert machine.deviation(machine.probe(4)) == pytest.approx(0.5)
    code.probe(0)
    assert code.deviation(code.probe(4)) == pytest.approx(0.0)


def test_of_several_devices_the_slowest_counts_and_each_is_told(make):
    result = make({}, BY_FAULTS).probe(3)
    nominal_s = NOMINAL["triad"][1]
    assert result.probes["triad"]["seconds"] == pytest.approx(1.5 * nominal_s)
    assert result.probes["triad"]["of_devices"] == [
        pytest.approx(nominal_s),
        pytest.approx(1.5 * nominal_s),
    ]


@pytest.mark.parametrize(
    ("script", "longest_s", "why"),
    [
        ("import time; time.sleep(600)", 0.5, "timeout: it ran for over 0 s and was stopped"),
        ("import os; os.abort()", 60.0, "killed: it was ended by signal 6 (SIGABRT)"),
        ("raise SystemExit('no room')", 60.0, "exit_code: it ended with exit status 1; no room"),
        ("pass", 60.0, "ended: the kit said no more"),
    ],
)
def test_a_kit_that_does_not_end_well_is_a_result_with_a_reason(
    make, monkeypatch, tenure, script, longest_s, why
):
    monkeypatch.setattr(control, "START", script)
    result = make(longest_s={"full": longest_s}).full()
    assert result.probes == {}
    assert set(result.unavailable) == {named(probe, "simulated") for probe in FULL}
    assert all(reason.startswith(why) for reason in result.unavailable.values())
    assert tenure.device_s == result.duration_s > 0


DIES_ON_THE_WAY = """
import sys; sys.path.insert(0, sys.argv[1])
import json, os
from workers.control.kit import answer
asked = json.load(sys.stdin)
with open(asked["result"], "a", buffering=1) as out:
    answer({**asked, "mode": "short"}, lambda line: out.write(json.dumps(line) + chr(10)))
    os.abort()
"""


def test_what_a_kit_showed_before_it_died_stays(make, monkeypatch):
    monkeypatch.setattr(control, "START", DIES_ON_THE_WAY)
    result = make().full()
    assert list(result.probes) == ["gemm_bf16", "triad"]
    assert result.unavailable["h2d"].startswith("killed: it was ended by signal 6 (SIGABRT)")
    assert result.backend == "simulated"


def test_a_kit_that_cannot_be_started_is_a_result_with_a_reason(make, tenure):
    result = make(runner=Recorder()).probe(0)
    assert result.unavailable == {
        "gemm_bf16": "agent_fault: nothing starts here",
        "triad": "agent_fault: nothing starts here",
    }
    assert tenure.device_s == 0


def test_the_end_of_a_lease_ends_the_control_too(make, tenure):
    kit = make()
    tenure.end(End.STOPPED)
    with pytest.raises(LeaseEndedError):
        kit.full()


# --- what it is started with ---


def test_the_kit_runs_with_the_agent_s_interpreter_and_holds_the_devices_locks(make, monkeypatch, tmp_path):
    monkeypatch.setenv("RATCHET_TOKEN", "secret")
    recorder = Recorder()
    make({}, {}, runner=recorder, locks=(7, 8)).full()
    program = recorder.programs[0]
    assert list(program.argv[:2]) == ["sh", "-c"]
    assert program.argv[4] == sys.executable
    assert program.pass_fds == (7, 8)
    assert program.timeout_s == 60.0
    assert program.env["HOME"] == str(program.cwd)
    assert program.env["SIMULATED_VISIBLE_DEVICES"] == "sim-0,sim-1"
    assert program.env["CUDA_CACHE_PATH"].startswith(str(tmp_path / "caches"))
    assert (tmp_path / "caches").is_dir()
    assert not any(name.startswith("RATCHET") for name in program.env)
    assert "VIRTUAL_ENV" not in program.env or program.env["VIRTUAL_ENV"] == os.environ.get("VIRTUAL_ENV")


def test_a_request_says_what_to_run_on_which_devices_and_how_their_times_are_made_up(make):
    recorder = Recorder()
    kit = make({}, BY_FAULTS, runner=recorder, backend="simulated")
    kit.full()
    kit.probe(4)
    kit.full()
    first, second, third = recorder.requests
    assert (first["mode"], first["kind"], first["backend"]) == ("full", "simulated", "simulated")
    assert first["devices"] == ["sim-0", "sim-1"]
    assert [request["simulate"]["call"] for request in (first, second, third)] == [1, 2, 3]
    assert [request["simulate"]["pair"] for request in (first, second, third)] == [0, 4, 4]
    factors = [device["control_factor"] for device in second["simulate"]["devices"]]
    assert factors == [1.0, 1.5]


# --- reading ---


def a_line(name, time_s, device=0):
    numbers = {"seconds": time_s, "cv": 0.01, "n": 30, "rate": 2.0, "unit": "B/s"}
    return {"type": "probe", "device": device, "name": name, **numbers}


def a_refusal(name, reason, device=0):
    return {"type": "unavailable", "device": device, "name": name, "reason": reason}


def read(*lines, mode="short", kind="nvidia", n_devices=1):
    return result_of(lines, mode=mode, kind=kind, n_devices=n_devices, reason="ended: early", duration_s=1.0)


def test_a_product_may_be_of_other_numbers_than_the_kind_is_known_for():
    result = read(a_line("gemm_fp32", 1e-3), a_line("triad", 2e-3))
    assert seconds(result) == {"gemm_fp32": 1e-3, "triad": 2e-3}
    assert result.unavailable == {}


@pytest.mark.parametrize(("kind", "name"), [("nvidia", "gemm_bf16"), ("cpu", "gemm_fp32")])
def test_a_product_of_which_nothing_is_known_is_named_after_the_kind(kind, name):
    assert read(kind=kind).unavailable == {name: "ended: early", "triad": "ended: early"}


@pytest.mark.parametrize("time_s", [0.0, -1.0, float("nan"), float("inf"), None, "1", True])
def test_a_probe_without_a_time_has_no_value(time_s):
    result = read(a_line("gemm_bf16", time_s), a_line("triad", 1e-3))
    assert seconds(result) == {"triad": 1e-3}
    assert result.unavailable == {"gemm_bf16": "ended: early"}


def test_a_reason_that_the_kit_gave_is_told():
    result = read(a_line("gemm_bf16", 1e-3), a_refusal("triad", "cuda_error: too little memory"))
    assert result.unavailable == {"triad": "cuda_error: too little memory"}


def test_a_probe_that_one_device_lacks_is_one_that_the_group_lacks():
    lines = [
        a_line("gemm_bf16", 1e-3),
        a_line("gemm_bf16", 2e-3, 1),
        a_line("triad", 1e-3),
        a_refusal("triad", "no", 1),
    ]
    result = read(*lines, n_devices=2)
    assert seconds(result) == {"gemm_bf16": 2e-3}
    assert result.unavailable == {"triad": "no"}


def test_a_device_that_was_not_reached_leaves_the_group_without_a_value():
    result = read(a_line("gemm_bf16", 1e-3), a_line("triad", 1e-3), n_devices=2)
    assert result.unavailable == {"gemm_bf16": "ended: early", "triad": "ended: early"}


def test_a_line_that_was_cut_off_is_none(tmp_path):
    file = tmp_path / "result.jsonl"
    file.write_text('{"type": "header"}\n[]\n{"type": "probe", "seconds": 1.2')
    assert read_lines(file) == [{"type": "header"}]
    assert read_lines(tmp_path / "missing") == []


# --- how far it is off ---


def showing(version="v", backend="b", **times):
    return ControlResult(
        version=version, backend=backend, probes={name: {"seconds": time_s} for name, time_s in times.items()}
    )


@pytest.mark.parametrize(
    ("now", "off"),
    [
        ({"gemm": 1.0, "triad": 2.0}, 0.0),
        ({"gemm": 1.02, "triad": 2.0}, 0.02),
        ({"gemm": 1.02, "triad": 1.9}, -0.05),
        ({"gemm": 0.97}, -0.03),
        ({"other": 5.0, "gemm": 1.01}, 0.01),
        ({"other": 5.0}, None),
        ({}, None),
    ],
)
def test_a_probe_is_as_far_off_as_its_worst_part_is_off_the_median_before_it(now, off):
    earlier = [showing(gemm=g, triad=t) for g, t in ((0.9, 2.0), (1.0, 2.2), (1.3, 1.9))]
    found = deviation(showing(**now), earlier)
    assert found == (None if off is None else pytest.approx(off))


def test_the_first_probe_is_off_nothing():
    assert deviation(showing(gemm=1.0), []) is None


@pytest.mark.parametrize("other", [{"version": "w"}, {"backend": "c"}])
def test_results_of_another_kit_or_backend_are_not_compared(other):
    assert deviation(showing(gemm=1.0), [showing(**other, gemm=2.0)]) is None


def test_a_second_probe_within_a_block_is_held_against_those_before_it_alone(make):
    kit = make(BY_FAULTS)
    first, second = kit.probe(0), kit.probe(4)
    kit.probe(4)
    assert kit.deviation(first) is None
    assert kit.deviation(second) == pytest.approx(0.5)
