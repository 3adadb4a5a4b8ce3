"""A lease that ends early leaves nothing running, and nothing is said under it that it no longer covers."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.integration.worker.bench import Repository, job, make_agent
from tests.integration.worker.service_double import ServiceDouble, confirmed, stale
from workers.programs.cgroups import Cgroups, own_group

SLOW = """
import os, pathlib, time

def setup(ctx):
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{os.getpid()}\\n")

def run(ctx):
    if len(open(os.environ["PIDS"]).readlines()) > 1:
        pathlib.Path(os.environ["STARTED"]).touch()
        time.sleep(3600)

def simulated_s(ctx):
    return 0.001
"""
"""Primes at once; when it is measured it says so and then takes an hour."""


DYING_AGENT = """
import os, sys
from pathlib import Path
from tests.integration.worker.bench import make_agent
from tests.integration.worker.service_double import ServiceDouble, confirmed
from workers.protocol import JobSpec

job, started, folder = map(Path, sys.argv[1:])
service = ServiceDouble(JobSpec.model_validate_json(job.read_text()), heartbeat_s=0.2)
service.heartbeat = lambda _: os._exit(9) if started.exists() else confirmed()
make_agent(service, folder).run()
"""
"""An agent that dies without a word once it measures."""


@pytest.fixture
def service(tmp_path):
    """A service with a job on one commit whose measurement does not end by itself."""
    repository = Repository(tmp_path / "repository")
    head = repository.commit({"benchmarks/bench_slow.py": SLOW})
    (tmp_path / "pids").touch()
    env = {"PIDS": str(tmp_path / "pids"), "STARTED": str(tmp_path / "started")}
    return ServiceDouble(job(repository, None, head, env=env), heartbeat_s=0.2)


def has_started(tmp_path):
    return (tmp_path / "started").exists()


def assert_nothing_is_left(tmp_path):
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    assert [pid for pid in pids if Path("/proc", pid).exists()] == []
    assert list((tmp_path / "data/work").iterdir()) == []


def test_a_cancelled_job_stops_in_the_middle_and_says_so(service, tmp_path):
    service.heartbeat = lambda _: confirmed(cancel=has_started(tmp_path))
    make_agent(service, tmp_path).run()
    assert service.finish.outcome == "cancelled"
    assert service.invocations == []
    assert_nothing_is_left(tmp_path)


def test_a_stale_lease_stops_in_the_middle_and_says_nothing_more(service, tmp_path):
    service.heartbeat = lambda _: stale() if has_started(tmp_path) else confirmed()
    make_agent(service, tmp_path).run()
    assert service.finish is None
    assert service.invocations == []
    assert_nothing_is_left(tmp_path)


def test_a_stopped_agent_hands_the_job_back(service, tmp_path):
    agent = make_agent(service, tmp_path)
    stopper = threading.Thread(target=agent.stop)

    def answer(_):
        if has_started(tmp_path) and not stopper.is_alive() and stopper.ident is None:
            stopper.start()
        return confirmed()

    service.heartbeat = answer
    agent.run()
    stopper.join()
    finish = service.finish
    assert (finish.outcome, finish.reason, finish.retryable) == ("infra_failed", "agent_stopped", True)
    (signed_off,) = service.signed_off
    assert (signed_off.worker_id, signed_off.instance) == (1, service.registered[0].instance)
    assert_nothing_is_left(tmp_path)


def test_a_job_that_is_cancelled_between_blocks_says_so(service, tmp_path):
    service.blocks, service.stop = 0, "cancelled"
    make_agent(service, tmp_path).run()
    assert (service.finish.outcome, service.invocations) == ("cancelled", [])


def test_a_service_that_falls_silent_ends_in_the_self_fence_with_results_kept(tmp_path):
    repository = Repository(tmp_path / "repository")
    tree = {
        "benchmarks/bench_add.py": "def run(ctx):\n    pass\n\n\ndef simulated_s(ctx):\n    return 0.001\n"
    }
    base, head = repository.commit(tree), repository.commit(tree | {"x": ""})
    service = ServiceDouble(job(repository, base, head), heartbeat_s=0.1, self_fence_s=4.0, mute_after=2)
    make_agent(service, tmp_path).run()

    assert service.finish is None
    assert len(service.invocations) == 2
    assert list((tmp_path / "data/work").iterdir()) == []
    waiting = list((tmp_path / "data/spool").iterdir())
    assert len(waiting) == 1

    after = ServiceDouble(job(repository, base, head), blocks=0)
    make_agent(after, tmp_path).run()
    assert after.invocations[0].position == 2
    assert list((tmp_path / "data/spool").iterdir()) == []


def test_an_agent_that_is_killed_takes_its_measurement_with_it(service, tmp_path):
    (tmp_path / "job.json").write_text(service.job.model_dump_json())
    root = Path(__file__).parents[3]
    arguments = [str(tmp_path / name) for name in ("job.json", "started", "")]
    done = subprocess.run([sys.executable, "-c", DYING_AGENT, *arguments], cwd=root, check=False)
    assert done.returncode == 9

    pids, pause = (tmp_path / "pids").read_text().split(), threading.Event()
    deadline = time.monotonic() + 60
    while any(Path("/proc", pid).exists() for pid in pids):
        assert time.monotonic() < deadline, pids
        pause.wait(0.1)

    next_one = Cgroups(tmp_path / "data")
    with next_one:
        pass
    home = own_group()
    assert home is None or not list(home.glob(f"{next_one._name}*"))
