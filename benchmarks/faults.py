"""Machines that fail on purpose: which pairs that voids, which changes are the machine's, and which stay the code's.

Three parts, each on the code that runs in service, with simulated devices and fixed seeds:

- contaminations: a whole agent against the tests' double of the service, every kind of disturbance that the tests know
  once in each run, at random pairs; it takes some minutes;
- histories: results, controls and epochs are stored in PostgreSQL as a run stores them, and examined point by point;
- a head that draws more power than its device may: checks of a whole service.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.changes import STANDING, WITHIN_CHANCE, ChangeState
from app.embedded import EmbeddedPostgres
from app.services.examine_series import examine_series
from app.store.migrate import migrate
from app.store.repositories import fleet, machines, projects, series
from app.store.repositories.series import NewResult, SeriesKey
from app.store.session import Database
from app.store.tables import Attempt, ChangePoint, Commit, Epoch, Job, LeaseDevice, Run
from benchmarks.figure import Figure
from benchmarks.stack import RATCHET, data_folder, make_repository, running
from tests.integration.worker.bench import ADD, SIMULATED, Repository, agent_on, job, simulated
from tests.integration.worker.service_double import ServiceDouble
from tests.integration.worker.test_faults import CONTAMINATIONS, QUIET

RUNS, BLOCKS = 8, 28
"""Runs with contaminations, and their blocks of two pairs."""

HISTORIES = 150
"""Of each kind."""

BEFORE, AFTER = 20, 12
"""Commits of a history before its step, and from it on."""

PROBES_S = {"gemm_bf16": 0.02, "triad": 0.003}
"""What the control takes, of which a machine's step moves all."""

CHECKS = 5
LOST, SPOILT, UNLABELLED = 0.05, 0.01, 0.05
PAIRED = 0.25
"""Of the machine's steps those that are measured in pairs before their control is clear: no harm but device time."""


def figures() -> Iterator[Figure]:
    """Yield the figures of all parts."""
    yield from contaminations()
    yield from histories()
    yield from capped_heads()


# --- contaminations -------------------------------------------------------------------------------------------


def contaminations() -> Iterator[Figure]:
    """Yield which share of the struck pairs counted all the same, and which share of the others did not."""
    struck, clean = [], []
    for seed in range(RUNS):
        kinds = _drawn(random.Random(seed))
        void = _void_pairs(seed, kinds)
        struck += [(what, pair in void) for pair, what in kinds.items()]
        clean += [pair in void for pair in range(2 * BLOCKS) if pair not in kinds]
    missed = [what for what, is_void in struck if not is_void]
    for what in sorted(set(missed)):
        print(f"  not void: {what}, {missed.count(what)} of {RUNS}")
    yield Figure(f"struck pairs that counted, of {len(struck)}", len(missed) / len(struck), LOST, "")
    yield Figure(f"undisturbed pairs that were void, of {len(clean)}", sum(clean) / len(clean), SPOILT, "")


def _drawn(draw: random.Random) -> dict[int, str]:
    """Return a pair for each kind of contamination; none is the first, by which the usual is learned."""
    pairs = draw.sample(range(1, 2 * BLOCKS), len(CONTAMINATIONS))
    return dict(zip(pairs, CONTAMINATIONS, strict=True))


def _void_pairs(seed: int, kinds: dict[int, str]) -> set[int]:
    """Return the pairs that an agent posts as void where these happen."""
    with tempfile.TemporaryDirectory(prefix="ratchet-bench-") as name:
        folder = Path(name)
        repository = Repository(folder / "repository")
        base = repository.commit({"benchmarks/bench_add.py": ADD})
        head = repository.commit({"benchmarks/bench_add.py": ADD, "x": ""})
        service = ServiceDouble(
            job(repository, base, head).model_copy(update={"budget_s": 1800.0}), blocks=BLOCKS
        )
        faults = [_fault(pair, what) for pair, what in kinds.items()]
        device = {**SIMULATED, "noise_sd": 0.005, "seed": seed, "telemetry": QUIET, "faults": faults}
        agent_on(service.client(), folder, simulated(folder, device), foreign_cpu=0.5, steal=0.02).run()
        assert service.finish is not None
        assert service.finish.outcome == "ok", service.finish
        return {posted.pair_index for posted in service.invocations if posted.void}


def _fault(pair: int, what: str) -> dict[str, Any]:
    _, telemetry, control = CONTAMINATIONS[what]
    return {"kind": "slow", "factor": 1.2, "pair": pair, "telemetry": telemetry, "control": control}


# --- histories ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Story:
    """What happens at the step of a history: to the code, to the machine, and what is seen of the machine."""

    name: str
    is_machine: bool
    control_shares: bool = False
    has_epoch: bool = False
    has_bridge: bool = False


STORIES = (
    Story("steps that the control shares", is_machine=True, control_shares=True),
    Story("steps with a new epoch", is_machine=True, has_epoch=True),
    Story("steps with a new epoch and a bridge", is_machine=True, has_epoch=True, has_bridge=True),
    Story("steps of the code beside a quiet control", is_machine=False),
    Story(
        "steps of the code with a new epoch and a bridge", is_machine=False, has_epoch=True, has_bridge=True
    ),
)


@dataclass
class Outcome:
    """What the service made of the histories of one story."""

    found: int = 0
    labelled: int = 0
    asked: int = 0
    """Histories in which a suspicion without the label was to be measured in pairs, at some time."""
    alerts: int = 0
    """Histories in which a change without the label was confirmed: people are told of those."""


def histories() -> Iterator[Figure]:
    """Yield for machine and code how often a change that was found got the wrong label, and whom that alerted."""
    with data_folder() as folder, EmbeddedPostgres(folder / "postgres", fast_and_unsafe=True) as server:
        database = Database(server.url())
        migrate(database.engine)
        settings = ServiceSettings(database_url=server.url(), redis_url="redis://nobody", data_dir=folder)
        for story in STORIES:
            outcome = Outcome()
            for seed in range(HISTORIES):
                _History(database, settings, story, seed).tell(outcome)
            yield from _of_story(story, outcome)
        database.close()


def _of_story(story: Story, seen: Outcome) -> Iterator[Figure]:
    of = f"{story.name}: of {seen.found}"
    yield Figure(f"{story.name}, not found", 1 - seen.found / HISTORIES, LOST, "")
    if story.is_machine:
        yield Figure(f"{of} not labelled", 1 - seen.labelled / seen.found, UNLABELLED, "")
        yield Figure(f"{of} measured in pairs", seen.asked / seen.found, PAIRED, "")
        yield Figure(f"{of} told to people", seen.alerts, 0, "")
    else:
        yield Figure(f"{of} labelled", seen.labelled / seen.found, UNLABELLED, "")


@dataclass
class _History:
    """One history of a project of its own, on a device of its own."""

    database: Database
    settings: ServiceSettings
    story: Story
    seed: int
    draw: random.Random = field(init=False)
    now: datetime = field(default_factory=lambda: datetime.now(UTC) - timedelta(days=20))

    def __post_init__(self) -> None:
        self.draw = random.Random(f"{self.story.name} {self.seed}")
        self.size = self.draw.uniform(0.04, 0.12) * self.draw.choice([-1, 1])
        self.noise, self.control_noise = self.draw.uniform(0.003, 0.01), self.draw.uniform(0.002, 0.01)

    def tell(self, outcome: Outcome) -> None:
        """Store it point by point, have it examined, and note what that made of its step."""
        with self.database.session() as session:
            self._begin(session)
            for i in range(BEFORE):
                self._measure(session, i, moved=False)
        self._examine()
        rows, seen = [], set()
        for i in range(BEFORE, BEFORE + AFTER):
            with self.database.session() as session:
                self._step(session, i)
            rows = self._examine()
            seen |= {row.state for row in rows if _is_blamed(row)}
        found = [row for row in rows if row.state in STANDING]
        outcome.found += bool(found)
        outcome.labelled += bool(found) and all(row.label is not None for row in found)
        outcome.asked += ChangeState.SUSPECTED in seen
        outcome.alerts += ChangeState.CONFIRMED in seen

    def _step(self, session: Session, commit: int) -> None:
        """Measure a commit from the step on; a new epoch begins with the first, and its bridge follows that."""
        is_first = commit == BEFORE
        if is_first and self.story.has_epoch:
            self.now += timedelta(minutes=10)
            session.add(_epoch(self.device_id, self.now, {"driver": ["550", "560"]}))
        self._measure(session, commit, moved=True)
        if is_first and self.story.has_bridge:
            self._measure(session, BEFORE - 1, moved=self.story.is_machine)

    def _begin(self, session: Session) -> None:
        name = f"{self.story.name} {self.seed}"
        worker = fleet.worker_named(session, name, host=name, instance="one")
        device = fleet.device(session, name, worker_id=worker.id, kind="simulated", device_class="sim")
        self.worker_id, self.device_id = worker.id, device.id
        session.add(_epoch(device.id, self.now, {}))
        project = projects.project(session, name)
        case = projects.cases(session, project.id, [("resize", {})])["resize {}"]
        key = SeriesKey(case.id, "latency_p50", "sim")
        self.project_id = project.id
        self.series_id = series.ensure(session, project.id, {key: ("s", "lower")})[key].id

    def _measure(self, session: Session, commit: int, *, moved: bool) -> None:
        """Store a run of a commit, before or after the step has come to it, with its control."""
        self.now += timedelta(hours=1)
        row = projects.commit(
            session, self.project_id, f"{commit + 1:040x}", parent_sha=f"{commit:040x}" if commit else None
        )
        run = self._run(session, row)
        shared = moved and self.story.control_shares
        probes = {
            name: {
                "seconds": usual_s * (1 + self.size * shared) * (1 + self.draw.gauss(0, self.control_noise))
            }
            for name, usual_s in PROBES_S.items()
        }
        result = {"version": "kit", "backend": "sim", "unavailable": {}, "duration_s": 1.0, "disturbed": ""}
        machines.add_control(session, run.id, self.device_id, "start", result | {"probes": probes})
        session.flush()
        value = 0.01 * (1 + self.size * moved) * (1 + self.draw.gauss(0, self.noise))
        series.add_results(session, [_point(self.series_id, row.id, run.id, value, self.now)])

    def _run(self, session: Session, commit: Commit) -> Run:
        """Return a run on the history's device, which is over."""
        name = f"{self.project_id}/{self.now.isoformat()}"
        its_job = Job(
            project_id=self.project_id,
            key=name,
            suite="unit",
            device_class="sim",
            head_commit_id=commit.id,
            spec={"source": {"kind": "git", "location": "nowhere"}, "suite": {}},
            policy={},
            budget_s=60.0,
            max_pairs=32,
        )
        session.add(its_job)
        session.flush()
        attempt = Attempt(job_id=its_job.id, number=1, lease_id=name, worker_id=self.worker_id)
        session.add_all([attempt, LeaseDevice(lease_id=name, device_id=self.device_id, active=False)])
        session.flush()
        run = Run(project_id=self.project_id, job_id=its_job.id, attempt_id=attempt.id)
        session.add(run)
        session.flush()
        return run

    def _examine(self) -> list[ChangePoint]:
        """Have the history examined and return its changes."""
        with self.database.session() as session:
            examine_series(session, self.settings, self.series_id)
        with self.database.session() as session:
            query = select(ChangePoint).where(ChangePoint.series_id == self.series_id)
            rows = list(session.scalars(query))
            session.expunge_all()
            return rows


def _is_blamed(change: ChangePoint) -> bool:
    """Tell whether a change is put down to the code: it is neither chance nor the machine's."""
    return change.label is None and change.reason != WITHIN_CHANCE


def _epoch(device_id: int, began_at: datetime, changes: dict[str, Any]) -> Epoch:
    driver = changes.get("driver", ["", "550"])[1]
    return Epoch(
        device_id=device_id,
        machine_hash=driver,
        machine={"driver": driver},
        changes=changes,
        began_at=began_at,
    )


def _point(series_id: int, commit_id: int, run_id: int, value: float, when: datetime) -> NewResult:
    return NewResult(
        series_id=series_id,
        commit_id=commit_id,
        run_id=run_id,
        arm="base",
        value=value,
        low=value,
        high=value,
        values=[value],
        void=[],
        flags=[],
        measured_at=when,
        branch="main",
    )


# --- a head that reaches the power limit ----------------------------------------------------------------------

SETTINGS = """
[project]
name = "bench/power"

[[suite]]
name = "s"
benchmarks = "bench_*.py"
devices = ["sim-*"]

[gate]
device_minutes = 1
"""


def capped_heads() -> Iterator[Figure]:
    """Yield how many checks did not say `regressed` by the power limit, and how many of their pairs were void."""
    cases = []
    with data_folder() as folder:
        files = {"ratchet.toml": SETTINGS, "bench_add.py": ADD}
        repository = make_repository(folder / "repository", files, {"later.txt": "x"})
        for seed in range(CHECKS):
            (folder / "devices.json").write_text(json.dumps([_capped(seed)]))
            env = {"RATCHET_SIMULATED": str(folder / "devices.json")}
            with running(folder / f"data {seed}", "--worker", "simulated", env=env) as (url, token, _):
                cases.append(_checked(repository, url, token))
    told = [
        case["verdict"] == "regressed" and any(a.startswith("power_limited") for a in case["attribution"])
        for case in cases
    ]
    changes = ", ".join(f"{case['change']:+.1%}" for case in cases)
    yield Figure(f"heads at the power limit ({changes}) not told so", told.count(False), 0, "")
    yield Figure(
        f"their void pairs, of {sum(c['n_pairs'] for c in cases)}", sum(c["n_void"] for c in cases), 0, ""
    )


def _capped(seed: int) -> dict[str, Any]:
    """Return a device on which head draws 15 % more power than base, and the limit is in between."""
    return {
        "class": "sim-capped",
        "hardware_id": f"sim-capped-{seed}",
        "noise_sd": 0.004,
        "seed": seed,
        "power": {"idle_w": 60, "busy_w": 290, "limit_w": 300},
        "faults": [{"kind": "power", "factor": 1.15, "arm": "head"}],
        "telemetry": {"temp_c": 50.0, "foreign_pids": [], "host_cpu_foreign": 0.0, "host_steal": 0.0},
    }


def _checked(repository: Path, url: str, token: str) -> dict[str, Any]:
    """Return what a check of the last commit says of its latency."""
    command = [*RATCHET, "check", "--repo", str(repository), "--base", "HEAD~1", "--head", "HEAD", "--json"]
    env = os.environ | {"RATCHET_URL": url, "RATCHET_TOKEN": token}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    cases = json.loads(done.stdout)["suites"][0]["cases"]
    found: dict[str, Any] = next(case for case in cases if case["metric"] == "latency_p50")
    return found


if __name__ == "__main__":
    for figure in figures():
        print(figure.line(), flush=True)
