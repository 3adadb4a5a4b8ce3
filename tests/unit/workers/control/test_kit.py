import json
import math
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from workers.control import control_version, kit
from workers.control.backends import BACKENDS, UNASKED, opened
from workers.control.backends.interface import Backend, UnavailableError, Work
from workers.control.backends.simulated import NOMINAL, Simulated
from workers.control.probes import FULL, SHORT, named
from workers.measuring.control import ROOT, START

SCRIPT = {"noise_sd": 0.0, "drift": 0.0, "seed": 1}


def request(mode="short", *scripts, **fields):
    scripts = scripts or (SCRIPT,)
    simulate = {"devices": list(scripts), "pair": 0, "call": 1}
    return {"mode": mode, "kind": "simulated", "devices": [*scripts], "simulate": simulate, **fields}


def answered(asked):
    lines = []
    kit.answer(asked, lines.append)
    return lines


def seconds(lines):
    return {line["name"]: line["seconds"] for line in lines if line["type"] == "probe"}


# --- the lines ---


@pytest.mark.parametrize(("mode", "probes"), [("full", FULL), ("short", SHORT)])
def test_a_kit_says_which_it_is_then_each_probe_then_that_it_has_ended(mode, probes):
    lines = answered(request(mode))
    assert lines[0] == {"type": "header", "control_version": control_version()}
    assert lines[1] == {"type": "backend", "name": "simulated", "device": 0}
    assert [line["name"] for line in lines[2:-1]] == [named(probe, "simulated") for probe in probes]
    assert lines[-1] == {"type": "end"}


def test_a_probe_has_its_time_spread_count_and_rate():
    line = answered(request("full"))[2]
    name, nominal_s, amount, unit = NOMINAL["gemm"]
    assert line["n"] >= 30
    assert line["seconds"] == pytest.approx(nominal_s)
    assert line["rate"] == pytest.approx(amount / nominal_s)
    assert (line["name"], line["unit"], line["device"]) == (name, unit, 0)
    assert line["cv"] == pytest.approx(0.0, abs=1e-9)


def test_each_device_of_a_group_is_run_in_turn():
    lines = answered(request("short", SCRIPT, {**SCRIPT, "control_factor": 2.0}))
    devices = [line["device"] for line in lines if "device" in line]
    assert devices == [0, 0, 0, 1, 1, 1]
    gemm = [line["seconds"] for line in lines if line.get("name") == "gemm_bf16"]
    assert gemm[1] == pytest.approx(2 * gemm[0])


class Broken(Backend):
    """A backend of which one probe fails in every way that it can."""

    name = "broken"

    def __init__(self, index, error):
        self.closed = False
        self._error = error

    @contextmanager
    def work(self, probe):
        if probe == "triad":
            raise self._error
        yield Work(probe, lambda k: k * 0.01, 1, "1/s")

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnavailableError("no_device: it fell off"), "no_device: it fell off"),
        (RuntimeError("HIP error"), "failed: RuntimeError: HIP error"),
        (MemoryError("x" * 9999), "failed: MemoryError: " + "x" * (kit.LONGEST_REASON - 21)),
    ],
)
def test_a_probe_that_fails_costs_no_other_and_says_why(monkeypatch, error, reason):
    backend = Broken(0, error)
    monkeypatch.setattr(kit, "opened", lambda *_: backend)
    lines = answered(request("full"))
    unavailable = [line for line in lines if line["type"] == "unavailable"]
    assert unavailable == [{"type": "unavailable", "name": "triad", "reason": reason, "device": 0}]
    assert len(seconds(lines)) == len(FULL) - 1
    assert backend.closed


def test_a_device_that_cannot_be_given_back_does_not_keep_the_next_from_its_turn(monkeypatch):
    def refuse():
        raise RuntimeError("it is gone")

    backend = Broken(0, MemoryError())
    monkeypatch.setattr(backend, "close", refuse)
    monkeypatch.setattr(kit, "opened", lambda *_: backend)
    lines = answered(request("short", SCRIPT, SCRIPT))
    assert [line["device"] for line in lines if line["type"] == "backend"] == [0, 1]
    assert lines[-1] == {"type": "end"}


def test_a_device_that_cannot_be_opened_has_no_probe_at_all(monkeypatch):
    def refuse(*_):
        raise RuntimeError("no such device")

    monkeypatch.setattr(kit, "opened", refuse)
    lines = answered(request("short"))
    assert [(line["type"], line.get("name")) for line in lines[1:-1]] == [
        ("unavailable", "gemm_bf16"),
        ("unavailable", "triad"),
    ]


# --- which backend ---


def test_every_kind_has_a_backend_that_is_tried_unasked():
    assert UNASKED.keys() == BACKENDS.keys()
    assert all(set(UNASKED[kind]) <= BACKENDS[kind].keys() for kind in BACKENDS)


def test_a_kind_that_nothing_works_with_is_refused():
    with pytest.raises(UnavailableError, match="no_backend: nothing works with the kind abacus"):
        opened({"kind": "abacus"}, 0)


def test_a_backend_that_a_kind_does_not_have_is_refused_with_those_that_it_has():
    with pytest.raises(UnavailableError, match="the kind cpu has stdlib, torch, not cuda"):
        opened({"kind": "cpu", "backend": "cuda"}, 0)


def test_reasons_of_all_backends_that_were_tried_are_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnavailableError, match=r"no_jax: .*; no_torch: .*"):
        opened({"kind": "tpu"}, 0)


# --- scripted devices ---


def drawn(probe="gemm", runs=200, **fields):
    simulate = {"devices": [{**SCRIPT, **fields.pop("device", {})}], "pair": 0, "call": 1, **fields}
    with Simulated(simulate, 0).work(probe) as work:
        return [work.run(1) for _ in range(runs)]


def test_scripted_times_follow_from_the_seed_the_pair_and_the_call():
    noisy = {"noise_sd": 0.1}
    assert drawn(device=noisy) == drawn(device=noisy)
    others = [
        drawn(device=noisy, pair=1),
        drawn(device=noisy, call=2),
        drawn(device={**noisy, "seed": 2}),
    ]
    assert all(other != drawn(device=noisy) for other in others)


def test_scripted_noise_is_that_of_the_script():
    times = [math.log(time) for time in drawn(runs=4000, device={"noise_sd": 0.1})]
    mean = sum(times) / len(times)
    spread = math.sqrt(sum((time - mean) ** 2 for time in times) / len(times))
    assert spread == pytest.approx(0.1, rel=0.05)
    assert mean == pytest.approx(math.log(NOMINAL["gemm"][1]), abs=0.01)


@pytest.mark.parametrize(
    ("fields", "factor"),
    [
        ({}, 1.0),
        ({"control_factor": 1.3}, 1.3),
        ({"device": {"control_factor": 1.3}}, 1.3),
        ({"control_factor": 2.0, "device": {"control_factor": 1.5}}, 3.0),
        ({"pair": 1_000_000, "device": {"drift": 0.01}}, 1.0),
        ({"device": {"faults": [{"kind": "slow", "factor": 9.0}]}}, 1.0),
    ],
)
def test_what_the_script_says_of_the_machine_moves_the_control_and_what_it_says_of_the_code_does_not(
    fields, factor
):
    for probe, (_, nominal_s, _, _) in NOMINAL.items():
        assert drawn(probe, 1, **dict(fields)) == [pytest.approx(nominal_s * factor)]


# --- the process ---


def start(asked, folder, *, cwd):
    result = folder / "result.jsonl"
    ended = subprocess.run(
        [sys.executable, "-I", "-c", START, str(ROOT)],
        input=json.dumps({**asked, "result": str(result)}).encode(),
        capture_output=True,
        cwd=cwd,
        timeout=60,
        check=False,
    )
    return ended, [json.loads(line) for line in result.read_text().splitlines()]


def test_the_process_writes_its_lines_to_the_file_and_prints_nothing(tmp_path):
    ended, lines = start(request("full"), tmp_path, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert lines == answered(request("full"))


def test_the_process_runs_this_kit_whatever_lies_where_it_is_started(tmp_path):
    for name in ("workers", "random", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    ended, lines = start(request(), tmp_path, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert lines[0]["control_version"] == control_version()


def test_the_process_of_a_processor_imports_nothing_but_the_standard_library(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import workers.control.kit as k; "
        "k.opened({'kind': 'cpu'}, 0); "
        "print(*sorted({n.partition('.')[0] for n in sys.modules} - set(sys.stdlib_module_names) - {'__main__'}))"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT)],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=60,
        check=True,
    )
    assert ended.stdout.split() == ["workers"]
