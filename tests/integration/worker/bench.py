"""What the worker's integration tests share: small repositories, jobs on them, and an agent that carries one out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.worker.service_double import ServiceDouble
from workers.agent import Agent
from workers.config import Config
from workers.devices import detect
from workers.devices.base import Device, Host
from workers.host.clock import SystemClock
from workers.lease.client import ServiceClient
from workers.protocol import JobSpec, Source, SuiteSpec

Tree = Mapping[str, str]

SIMULATED = {"class": "sim-test", "hardware_id": "sim-test-0", "noise_sd": 0.01}

ADD = "def run(ctx):\n    sum(range(100))\n\n\ndef simulated_s(ctx):\n    return 0.001\n"
"""A benchmark file that every arm can run in no time."""


class Repository:
    """A git repository that commits whole trees."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def commit(self, tree: Tree) -> str:
        """Commit exactly these files and return the commit's id."""
        self.git("rm", "-r", "-q", "--ignore-unmatch", ".")
        for name, content in tree.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "work")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        """Run git here and return what it prints."""
        author = {
            f"GIT_{who}_{what}": "test@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.path,
            env={"PATH": os.environ["PATH"], "HOME": str(self.path.parent), **author},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def job(repository: Repository, base: str | None, head: str, **suite: Any) -> JobSpec:
    """Return a job over two commits; keywords are fields of the suite."""
    fields = {"name": "unit"} | suite
    if "command" not in fields:
        fields.setdefault("benchmarks", ["benchmarks/bench_*.py"])
    return JobSpec(
        job_id=1,
        project="acme/vision",
        suite=SuiteSpec(**fields),
        source=Source(kind="git", location=str(repository.path)),
        base_sha=base,
        head_sha=head,
        device_class="sim-test",
        hardware_ids=["sim-test-0"],
        budget_s=2.4,
    )


def agent_on(client: ServiceClient, folder: Path, devices: list[Device], **settings: Any) -> Agent:
    """Return an agent on these devices, for one claim of whatever service the client speaks to.

    Keywords are settings of the agent's.
    """
    settings.setdefault("foreign_cpu", 1000.0)  # other tests run beside this one,
    settings.setdefault("steal", 1.0)  # and other machines beside this one
    config = Config(
        url="http://service",
        token="token-of-the-agent",
        name="test",
        kinds=("simulated",),
        data_dir=folder / "data",
        lock_dir=folder,
        once=True,
        **settings,
    )
    return Agent(config, devices, client, SystemClock())


def make_agent(service: ServiceDouble, folder: Path, *, device: Mapping[str, Any] = SIMULATED) -> Agent:
    """Return an agent on one simulated device, for one claim."""
    return agent_on(service.client(), folder, simulated(folder, device))


def make_cpu_agent(service: ServiceDouble, folder: Path) -> Agent:
    """Return an agent on this machine's processor, for one claim; the job is set to its device."""
    devices = detect(("cpu",), Host(folder / "data", folder))
    update = {"hardware_ids": [devices[0].hardware_id], "device_class": devices[0].device_class}
    service.job = service.job.model_copy(update=update)
    return agent_on(service.client(), folder, devices)


def simulated(folder: Path, *scripts: Mapping[str, Any]) -> list[Device]:
    """Return simulated devices with these scripts."""
    script = folder / "devices.json"
    script.write_text(json.dumps(scripts))
    return detect(("simulated",), Host(folder / "data", folder, script))
