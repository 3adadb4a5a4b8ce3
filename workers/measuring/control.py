"""Runs the frozen control kit, in a process of its own, and says how far the machine is off what it was.

The kit runs with the agent's own interpreter, never in the environment of what is measured, and through the same
bounded runner as everything else. A kit that hangs or dies costs its numbers and some device time, not the run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from workers import control
from workers.arms.workspace import Workspace, remove_tree
from workers.control.probes import Mode
from workers.devices.group import DeviceGroup
from workers.errors import JobError
from workers.lease.tenure import Tenure
from workers.measuring.control_result import read_lines, result_of
from workers.measuring.process_environment import common_variables
from workers.programs.runner import Program, Runner
from workers.protocol import ControlResult

LONGEST_S: Final[Mapping[Mode, float]] = {"full": 60.0, "short": 20.0}
"""How long the kit's process may take, its start included."""

ROOT = Path(control.__file__).parents[2]
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import workers.control; del sys.path[0]; "
    "from workers.control.kit import main; main()"
)
"""Isolated, the interpreter would find an installed kit first; this starts the one beside this module."""


class Control:
    """The control workload of one run on its devices."""

    def __init__(
        self,
        runner: Runner,
        tenure: Tenure,
        devices: DeviceGroup,
        workspace: Workspace,
        locks: tuple[int, ...],
        caches: Path,
        *,
        backend: str | None = None,
        longest_s: Mapping[Mode, float] = LONGEST_S,
    ) -> None:
        """Name the run's means; `caches` outlives it, and holds what compilers make of the kit.

        `backend` chooses how a kind of device is made to work, where it has several ways (docs/control.md).
        """
        self._runner = runner
        self._tenure = tenure
        self._devices = devices
        self._workspace = workspace
        self._locks = locks
        self._caches = caches
        self._backend = backend
        self._longest_s = longest_s
        self._calls = 0
        self._pair = 0
        """The newest pair that a probe was for; scripted devices change with it."""
        self._probes: list[ControlResult] = []

    def full(self) -> ControlResult:
        """Run every probe, at the start or at the end of a run.

        Raises:
            LeaseEndedError: the lease was over before or ended meanwhile.
        """
        self._probes.append(self._run("full"))
        return self._probes[-1]

    def probe(self, pair: int) -> ControlResult:
        """Run the short probe before a pair; exceptions as of `full`."""
        self._pair = pair
        self._probes.append(self._run("short"))
        return self._probes[-1]

    def deviation(self, result: ControlResult) -> float | None:
        """Return how far a probe of this run is off those before it; see the function of the same name."""
        index = next((i for i, probe in enumerate(self._probes) if probe is result), len(self._probes))
        return deviation(result, self._probes[:index])

    def _run(self, mode: Mode) -> ControlResult:
        self._calls += 1
        home = self._workspace.new_home()
        request, result = home / "request.json", home / "result.jsonl"
        asked = self._request(mode)
        request.write_text(json.dumps({**asked, "result": str(result)}))
        try:
            duration_s, reason = self._carry_out(request, self._longest_s[mode])
            return result_of(
                read_lines(result),
                mode=mode,
                kind=asked["kind"],
                n_devices=len(asked["devices"]),
                reason=reason,
                duration_s=duration_s,
            )
        finally:
            remove_tree(home)

    def _request(self, mode: Mode) -> dict[str, Any]:
        scripts = self._devices.control_simulation(self._pair)
        simulate = {"devices": scripts, "pair": self._pair, "call": self._calls}
        return {
            "mode": mode,
            "kind": self._devices.devices[0].kind,
            "devices": [device.hardware_id for device in self._devices.devices],
            "backend": self._backend,
            "simulate": None if scripts is None else simulate,
        }

    def _carry_out(self, request: Path, longest_s: float) -> tuple[float, str]:
        """Run the kit; return how long it took [s], and why what it did not say is missing."""
        # The keeper gives no standard input on, so a shell opens it and then is the kit.
        script = 'exec "$1" -I -c "$2" "$3" < "$0"'
        argv = ["sh", "-c", script, str(request), sys.executable, START, str(ROOT)]
        home = request.parent
        program = Program(argv, self._variables(home), home, longest_s, pass_fds=self._locks)
        try:
            ended = self._runner.run(program)
        except JobError as error:
            return 0.0, f"{error.reason}: {error}"
        self._tenure.device_s += ended.duration_ns / 1e9
        last_words = ended.output.tail().strip().splitlines()[-1:]
        return ended.duration_ns / 1e9, "; ".join(
            [ended.reason or "ended: the kit said no more", *last_words]
        )

    def _variables(self, home: Path) -> dict[str, str]:
        self._caches.mkdir(parents=True, exist_ok=True)
        kept = self._devices.cache_env(self._caches)
        return {**common_variables(home), **kept, **self._devices.visible_env()}


def deviation(short: ControlResult, earlier: Sequence[ControlResult]) -> float | None:
    """Return how far a short probe is off the median of earlier ones of the run: of its probes the worst, as a share.

    Positive is slower. None where no probe of it has an earlier value by the same kit and backend.
    """
    alike = [result for result in earlier if _key(result) == _key(short)]
    past = {
        name: [_seconds(result, name) for result in alike if name in result.probes] for name in short.probes
    }
    found = [_seconds(short, name) / median(times) - 1 for name, times in past.items() if times]
    return max(found, key=abs, default=None)


def _key(result: ControlResult) -> tuple[str, str]:
    """Return what results must share to be of one series."""
    return result.version, result.backend


def _seconds(result: ControlResult, name: str) -> float:
    return float(result.probes[name]["seconds"])
