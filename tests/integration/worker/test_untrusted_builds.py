"""What a stranger's commit is built from: base's environment and build tools, without a network, for this run alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.factories.sandbox import needs_sandbox
from tests.integration.worker.bench import ADD, Repository, job, make_agent
from tests.integration.worker.service_double import ServiceDouble
from workers.arms.environments import RECORD

pytestmark = needs_sandbox

BACKEND = '''
"""A build backend, installed as a package: without it no project of these tests is built."""
import os, pathlib, tomllib, zipfile

WHEEL = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"

def _wheel(folder, files):
    project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
    needs = "".join(f"Requires-Dist: {one}\\n" for one in project.get("dependencies", []))
    meta = f"Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n{needs}"
    files = {**files, "thing-1.0.dist-info/METADATA": meta, "thing-1.0.dist-info/WHEEL": WHEEL}
    with zipfile.ZipFile(pathlib.Path(folder, "thing-1.0-py3-none-any.whl"), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr("thing-1.0.dist-info/RECORD", "".join(f"{path},,\\n" for path in files))
    return "thing-1.0-py3-none-any.whl"

def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"thing.py": pathlib.Path("thing.py").read_text()})

def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"thing.pth": os.getcwd() + "\\n"})
'''

PYPROJECT = """
[build-system]
requires = ["toybackend"]
build-backend = "toybackend"

[project]
name = "thing"
version = "1.0"
dependencies = [{dependencies}]
"""

BENCH = "import thing, helper\n\n\n" + ADD
PROJECT = {
    "pyproject.toml": PYPROJECT.format(dependencies='"helper"'),
    "thing.py": "ORIGIN = 'base'\n",
    "benchmarks/bench_thing.py": BENCH,
}
CHANGED = PROJECT | {"thing.py": "ORIGIN = 'head'\n"}


def wheel(folder: Path, name: str, code: str) -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in files))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "a repository")


@pytest.fixture(autouse=True)
def index(tmp_path, monkeypatch):
    """All that trusted set-up commands can install from."""
    wheels = tmp_path / "wheels"
    wheel(wheels, "toybackend", BACKEND)
    wheel(wheels, "helper", "HELPS = True\n")
    wheel(wheels, "another", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    return wheels


def run(repository, folder, base, head, *setup):
    fields = {"sandbox": 2}
    spec = job(repository, base, head, setup=list(setup)).model_copy(update=fields)
    service = ServiceDouble(spec)
    make_agent(service, folder).run()
    return service


def contents(folder):
    """Return the files in a folder, and when each was written; but for the marks that a use dates."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != RECORD]
    return {(str(path.relative_to(folder)), path.lstat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(
    ("has_uv", "command"),
    [(True, "pip install -e ."), (False, "python -m pip install .")],
    ids=["uv, editable", "pip alone, installed"],
)
def test_project_with_the_same_dependencies_is_built_upon_bases_environment(
    repository, tmp_path, monkeypatch, command, has_uv
):
    if not has_uv:
        monkeypatch.setattr("workers.measuring.measure.find_uv", lambda: None)
    origin = "import thing\nassert thing.ORIGIN == 'head', thing.__file__\n"
    bench = {"benchmarks/bench_thing.py": BENCH.replace("import thing, helper", f"{origin}import helper")}
    base, head = repository.commit(PROJECT), repository.commit(CHANGED | bench)
    service = run(repository, tmp_path, base, head, command)
    assert service.finish.outcome == "ok", service.finish
    assert service.arm("head").software.keys() >= {"thing", "helper", "python"}
    (case,) = service.arm("head").cases
    assert case.failure is None
    assert "toybackend" not in service.arm("head").software, "it was only there to build with"


def test_environment_of_a_stranger_goes_with_its_run(repository, tmp_path):
    base, head = repository.commit(PROJECT), repository.commit(CHANGED)
    run(repository, tmp_path, base, base, "python -m pip install .")
    before = contents(tmp_path / "data/environments")
    service = run(repository, tmp_path, base, head, "python -m pip install .")
    assert service.finish.outcome == "ok", service.finish
    assert contents(tmp_path / "data/environments") == before


def test_equal_set_up_without_code_of_the_commit_shares_bases_environment(repository, tmp_path):
    base = repository.commit({"benchmarks/bench_a.py": "import helper\n\n\n" + ADD})
    head = repository.commit({"benchmarks/bench_a.py": "import helper\n\n\n" + ADD, "x": "y"})
    service = run(repository, tmp_path, base, head, "pip install helper")
    assert service.finish.outcome == "ok", service.finish
    assert len(list((tmp_path / "data/environments").iterdir())) == 1
    assert service.arm("head").software == service.arm("base").software


def test_new_dependency_is_no_fault_of_head_but_not_measured(repository, tmp_path):
    more = {"pyproject.toml": PYPROJECT.format(dependencies='"helper", "another"')}
    base, head = repository.commit(PROJECT), repository.commit(CHANGED | more)
    service = run(repository, tmp_path, base, head, "pip install -e .")
    assert (service.finish.outcome, service.finish.reason) == ("infra_failed", "untrusted_needs_network")
    assert not service.finish.retryable
    assert "can only use what base's set-up installs" in service.finish.message
    assert "another" in service.finish.log_tail


def test_broken_build_is_heads(repository, tmp_path):
    broken = {name: text for name, text in CHANGED.items() if name != "thing.py"}
    base, head = repository.commit(PROJECT), repository.commit(broken)
    service = run(repository, tmp_path, base, head, "python -m pip install .")
    assert service.arm("head").status == "build_failed", service.finish
    assert "thing.py" in service.arm("head").log_tail


def test_build_of_a_stranger_reaches_neither_network_nor_what_is_shared(repository, tmp_path):
    hostile = """
import os, socket
def tried(attempt, *arguments):
    try:
        attempt(*arguments)
        return "done"
    except OSError as error:
        return type(error).__name__
def write(folder):
    os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
found = [tried(socket.create_connection, ("192.0.2.1", 80), 5)]
found += [tried(write, path) for path in PATHS]
found += [name for name in os.environ if "INDEX" in name and "NO_INDEX" not in name or "FIND_LINKS" in name]
raise SystemExit(f"FOUND {found}")
"""
    data = tmp_path / "data"
    paths = [str(data / "packages"), str(data / "agent.lock"), str(tmp_path / "wheels")]
    paths += [str(data / "work/7/arms/base"), str(data / "mirrors")]
    base = repository.commit(PROJECT | {"prepare.py": ""})
    head = repository.commit(CHANGED | {"prepare.py": hostile.replace("PATHS", repr(paths))})
    service = run(repository, tmp_path, base, head, "python prepare.py", "pip install -e .")
    report = service.arm("head")
    assert report.status == "build_failed"
    assert "FOUND [" in report.log_tail
    assert "done" not in report.log_tail
    assert report.log_tail.count("Error") == 1 + len(paths), "no variable of an index is in its environment"


def test_work_tree_of_a_stranger_has_its_own_history_alone(repository, tmp_path):
    base = repository.commit({"benchmarks/bench_a.py": ADD})
    repository.git("checkout", "-q", "-b", "secret")
    secret = repository.commit({"benchmarks/bench_a.py": ADD, "secret": "plans"})
    repository.git("checkout", "-q", "main")
    head = repository.commit({"benchmarks/bench_a.py": ADD, "x": "y"})
    run(repository, tmp_path, secret, base)  # now the agent's mirror has it
    look = f"git cat-file -e {head} && ! git cat-file -e {secret} && test ! -s .git/objects/info/alternates"
    spec = job(repository, base, head, command=look).model_copy(update={"sandbox": 2})
    service = ServiceDouble(spec)
    make_agent(service, tmp_path).run()
    failures = {arm: [case.failure for case in service.arm(arm).cases] for arm in ("base", "head")}
    assert failures["head"] == [None], service.arm("head")


def test_submodules_of_a_stranger_are_not_fetched(repository, tmp_path):
    other = Repository(tmp_path / "other")
    other.commit({"a": "b"})
    base = repository.commit({"benchmarks/bench_a.py": ADD})
    repository.git("submodule", "--quiet", "add", str(other.path), "other")
    repository.git("commit", "-qm", "submodule")
    service = run(repository, tmp_path, base, repository.git("rev-parse", "HEAD"))
    assert (service.finish.reason, service.finish.retryable) == ("untrusted_submodules", False)


def test_filters_of_the_machine_do_not_run_for_a_stranger(repository, tmp_path, monkeypatch):
    mark = tmp_path / "ran"
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[filter "evil"]\n\tsmudge = touch {mark}; cat\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(settings.read_text())
    base = repository.commit({"benchmarks/bench_a.py": ADD})
    head = repository.commit({"benchmarks/bench_a.py": ADD, ".gitattributes": "* filter=evil\n"})
    service = run(repository, tmp_path, base, head)
    assert service.finish.outcome == "ok", service.finish
    assert not mark.exists()
