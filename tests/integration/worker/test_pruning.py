"""What an agent keeps between runs goes when no job has used it for long: mirrors, environments."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.integration.worker.bench import ADD, SIMULATED, Repository, agent_on, job, make_agent, simulated
from tests.integration.worker.service_double import ServiceDouble
from workers.arms.checkout import UNUSED_S, is_unused
from workers.arms.environments import RECORD

BENCH = {"benchmarks/bench_add.py": ADD}
DAY_S = 86400.0
DOCUMENT = Path(__file__).parents[3] / "docs" / "operations.md"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "a repository")


def run(folder: Path, repository: Repository, *, greeting: str = "") -> None:
    """Measure one commit; another greeting makes another environment."""
    commit = repository.commit(BENCH)
    setup = {"setup": ["true"], "env": {"GREETING": greeting}} if greeting else {}
    service = ServiceDouble(job(repository, None, commit, **setup))
    make_agent(service, folder).run()
    assert service.finish.outcome == "ok", service.prepared


def mirrors(folder: Path) -> set[Path]:
    return set((folder / "data/mirrors").iterdir())


def environments(folder: Path) -> set[Path]:
    return set((folder / "data/environments").iterdir())


def used_before(path: Path, seconds: float) -> None:
    """Date a mirror or an environment as if its last use was so long ago."""
    mark = path / ("HEAD" if path.suffix == ".git" else RECORD)
    os.utime(mark, (time.time() - seconds,) * 2)


def test_mirror_of_a_repository_that_is_long_unused_goes_and_others_stay(
    repository: Repository, tmp_path: Path
) -> None:
    run(tmp_path, Repository(tmp_path / "vanished"))
    (vanished,) = mirrors(tmp_path)
    run(tmp_path, Repository(tmp_path / "quiet"))
    (quiet,) = mirrors(tmp_path) - {vanished}
    used_before(vanished, UNUSED_S + DAY_S)
    used_before(quiet, UNUSED_S - DAY_S)
    run(tmp_path, repository)
    assert not vanished.exists()
    assert quiet.exists()
    assert len(mirrors(tmp_path)) == 2


def test_mirror_that_was_long_unused_is_used_on_and_dated_anew(
    repository: Repository, tmp_path: Path
) -> None:
    run(tmp_path, repository)
    (mirror,) = mirrors(tmp_path)
    made = mirror.stat().st_ino
    used_before(mirror, 2 * UNUSED_S)
    run(tmp_path, repository)
    assert mirrors(tmp_path) == {mirror}
    assert mirror.stat().st_ino == made, "it was not made anew"
    assert not is_unused(mirror / "HEAD")


def test_mirror_that_was_never_finished_goes(repository: Repository, tmp_path: Path) -> None:
    unfinished = tmp_path / "data/mirrors/0123456789abcdef.git"
    (unfinished / "objects").mkdir(parents=True)
    run(tmp_path, repository)
    assert not unfinished.exists()
    assert len(mirrors(tmp_path)) == 1


def test_environment_that_is_long_unused_goes_although_there_is_room(
    repository: Repository, tmp_path: Path
) -> None:
    run(tmp_path, repository, greeting="vanished")
    (vanished,) = environments(tmp_path)
    run(tmp_path, repository, greeting="quiet")
    (quiet,) = environments(tmp_path) - {vanished}
    used_before(vanished, UNUSED_S + DAY_S)
    used_before(quiet, UNUSED_S - DAY_S)
    run(tmp_path, repository)
    assert not vanished.exists()
    assert quiet.exists()


def test_environment_that_was_long_unused_is_used_on_and_dated_anew(
    repository: Repository, tmp_path: Path
) -> None:
    run(tmp_path, repository, greeting="hello")
    (environment,) = environments(tmp_path)
    used_before(environment, 2 * UNUSED_S)
    run(tmp_path, repository, greeting="hello")
    assert environments(tmp_path) == {environment}
    assert not is_unused(environment / RECORD)


FILL = 'mkdir -p "$%s_CACHE_DIR/a" && head -c %d /dev/zero > "$%s_CACHE_DIR/a/wheel"'


def run_with_caches(folder: Path, repository: Repository, *, max_gb: float) -> set[str]:
    """Measure a commit whose set-up fills both caches, uv's with twice as much; return what is left of them."""
    setup = [FILL % (name, size_b, name) for name, size_b in (("PIP", 100_000), ("UV", 200_000))]
    service = ServiceDouble(job(repository, None, repository.commit(BENCH), setup=setup))
    devices = simulated(folder, SIMULATED)
    agent_on(service.client(), folder, devices, environments_max_gb=max_gb).run()
    assert service.finish.outcome == "ok", service.prepared
    packages = folder / "data/packages"
    return {cache.name for cache in packages.iterdir() if (cache / "a/wheel").exists()}


@pytest.mark.parametrize(
    ("max_gb", "left"),
    [(1.0, {"pip", "uv"}), (0.00015, {"pip"}), (0.00005, set())],
    ids=["all", "one", "none"],
)
def test_caches_of_installers_are_emptied_above_their_limit_the_largest_first(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_gb: float, left: set[str]
) -> None:
    monkeypatch.setattr("workers.measuring.measure.find_uv", lambda: None)  # it would fill its cache itself
    assert run_with_caches(tmp_path, repository, max_gb=max_gb) == left


def test_time_after_which_things_go_is_the_documented_one() -> None:
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    told = [row for row in rows if row.startswith(("| `mirrors/`", "| `environments/`"))]
    assert len(told) == 2
    assert all(f"unused for {UNUSED_S / DAY_S:.0f} days" in row for row in told)
