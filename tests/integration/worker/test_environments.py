"""What set-up commands make of a commit, and who may share it; with installers that reach no index."""

import json

import pytest

from tests.integration.worker.bench import ADD, Repository, job, make_agent
from tests.integration.worker.service_double import ServiceDouble

BACKEND = """
import base64, hashlib, os, pathlib, zipfile

META = "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n"
WHEEL = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"

def _wheel(folder, files):
    files = {**files, "thing-1.0.dist-info/METADATA": META, "thing-1.0.dist-info/WHEEL": WHEEL}
    name = "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        record = []
        for path, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            record.append(f"{path},sha256={digest},{len(text)}\\n")
            wheel.writestr(path, text)
        wheel.writestr("thing-1.0.dist-info/RECORD", "".join(record) + "thing-1.0.dist-info/RECORD,,\\n")
    return name

def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"thing.py": pathlib.Path("thing.py").read_text()})

def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"thing.pth": os.getcwd() + "\\n"})
"""
"""A build backend that needs nothing but Python."""

PROJECT = {
    "backend.py": BACKEND,
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    '[project]\nname = "thing"\nversion = "1.0"\n',
    "thing.py": "ORIGIN = 'base'\n",
    "benchmarks/bench_thing.py": "import thing\n\n\n" + ADD,
}
CHANGED = PROJECT | {"thing.py": "ORIGIN = 'head'\n"}

INSTALL = "python -m pip install --quiet --no-build-isolation --no-deps"


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "a repository")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No installer may look for an index."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def run(repository, folder, base, head, **suite):
    service = ServiceDouble(job(repository, base, head, **suite))
    make_agent(service, folder).run()
    assert service.finish.outcome == "ok", service.prepared
    return service


def scopes(folder):
    records = (folder / "data/environments").glob("*/ratchet-environment.json")
    return sorted(json.loads(record.read_text())["scope"] for record in records)


def test_commits_without_set_up_share_one_empty_environment(repository, tmp_path):
    plain = {"benchmarks/bench_add.py": ADD}
    service = run(repository, tmp_path, repository.commit(plain), repository.commit(plain | {"x": ""}))
    assert scopes(tmp_path) == ["shared"]
    assert set(service.arm("head").software) == {"python"}


def test_commands_that_leave_the_commit_out_make_one_environment_for_both_arms_and_later_runs(
    repository, tmp_path
):
    built = tmp_path / "built"
    setup = [f'echo once >> "{built}"', 'echo "$GREETING" > "$VIRTUAL_ENV/greeting"']
    base, head = repository.commit(PROJECT), repository.commit(CHANGED)
    for _ in range(2):
        run(repository, tmp_path, base, head, setup=setup, env={"GREETING": "hello"})
    assert built.read_text() == "once\n"
    assert scopes(tmp_path) == ["shared"]
    assert [path.read_text() for path in (tmp_path / "data/environments").glob("*/greeting")] == ["hello\n"]


def test_other_requirements_make_another_environment(repository, tmp_path):
    setup = ["cat requirements.txt"]
    base, head = (repository.commit(PROJECT | {"requirements.txt": text}) for text in ("a", "b"))
    run(repository, tmp_path, base, head, setup=setup)
    assert scopes(tmp_path) == ["shared", "shared"]


def test_an_installed_copy_belongs_to_its_tree(repository, tmp_path):
    base, head = repository.commit(PROJECT), repository.commit(CHANGED)
    service = run(repository, tmp_path, base, head, setup=[f"{INSTALL} ."])
    assert scopes(tmp_path) == ["tree", "tree"]
    assert service.arm("head").software["thing"] == "1.0"
    run(repository, tmp_path, base, head, setup=[f"{INSTALL} ."])
    assert scopes(tmp_path) == ["tree", "tree"]


def test_an_editable_install_goes_with_its_work_tree(repository, tmp_path):
    base, head = repository.commit(PROJECT), repository.commit(CHANGED)
    service = run(repository, tmp_path, base, head, setup=[f"{INSTALL} --editable ."])
    assert service.arm("base").software["thing"] == "1.0"
    assert scopes(tmp_path) == []


def test_what_is_built_in_place_goes_with_its_work_tree(repository, tmp_path):
    bench = "import pathlib\n\n\ndef setup(ctx):\n    pathlib.Path('fast.so').read_text()\n\n\n" + ADD
    tree = {"benchmarks/bench_fast.py": bench, "source": "1"}
    base, head = repository.commit(tree), repository.commit(tree | {"source": "2"})
    for _ in range(2):
        service = run(repository, tmp_path, base, head, setup=["cp source fast.so"])
        assert {case.status for case in service.measured()} == {"ok"}
    assert scopes(tmp_path) == []


def test_set_up_commands_run_in_the_work_tree_with_the_environment_active(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("RATCHET_TOKEN", "secret")
    report = tmp_path / "report"
    command = (
        f'(pwd; command -v python; echo $VIRTUAL_ENV; env | grep -c ^RATCHET_TOKEN || true) > "{report}"'
    )
    run(repository, tmp_path, None, repository.commit(PROJECT), setup=[command])
    folder, python, environment, secrets = report.read_text().splitlines()
    assert folder.endswith("/work/7/arms/head")
    assert python == f"{environment}/bin/python"
    assert secrets == "0"


def test_environments_do_not_depend_on_the_cache_of_uv(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_LINK_MODE", "symlink")
    report = tmp_path / "report"
    run(
        repository,
        tmp_path,
        None,
        repository.commit(PROJECT),
        setup=[f'echo "${{UV_LINK_MODE-none}}" > "{report}"'],
    )
    assert report.read_text() == "none\n"


def test_an_unfinished_environment_is_removed(repository, tmp_path):
    (tmp_path / "data/environments/0123456789abcdef/bin").mkdir(parents=True)
    run(repository, tmp_path, None, repository.commit({"benchmarks/bench_add.py": ADD}))
    assert scopes(tmp_path) == ["shared"]
    assert len(list((tmp_path / "data/environments").iterdir())) == 1


def test_an_index_that_cannot_be_reached_is_no_fault_of_the_commit(repository, tmp_path):
    command = "echo 'error: Connection refused' >&2; exit 1"
    service = ServiceDouble(job(repository, None, repository.commit(PROJECT), setup=[command]))
    make_agent(service, tmp_path).run()
    finish = service.finish
    assert (finish.outcome, finish.reason, finish.retryable) == ("infra_failed", "packages_unreachable", True)
    assert "Connection refused" in finish.log_tail
