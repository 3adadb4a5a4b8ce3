"""`ratchet import`, from files to points of a service in PostgreSQL."""

from __future__ import annotations

import json
import subprocess
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.cli import DATA, USAGE, run
from app.commands import import_history, import_posting
from app.integrations.git import Repository
from app.integrations.service_client import ServiceClient
from app.store.tables import BenchmarkCase, Commit, Result, Sample, Series, Upload
from benchmarks.asv_tree import make_tree
from tests.factories.histories import deliver
from tests.factories.repository import ToyRepository

pytestmark = pytest.mark.postgres

SHA = "ab" * 20
BENCH = {"name": "fib", "value": 100, "unit": "ns/iter", "range": "± 10"}


class InProcess(ServiceClient):
    """A client that calls the application in the test's own process."""

    def __init__(self, client: Any, token: str) -> None:
        super().__init__("http://testserver", token)
        client.headers["Authorization"] = f"Bearer {token}"
        self._http = client
        self.batches = 0

    def _send(self, method: str, path: str, **options: Any) -> Any:
        options.pop("timeout", None)  # the test's client knows none
        return super()._send(method, path, **options)

    def post_batch(self, lines: Any) -> dict[str, Any]:
        self.batches += 1
        return super().post_batch(lines)


@pytest.fixture
def posting(client, admin_token, monkeypatch) -> InProcess:
    its = InProcess(client, admin_token)
    monkeypatch.setattr(import_history, "_service", lambda: nullcontext(its))
    return its


@pytest.fixture
def imported(posting, capsys):
    def call(*arguments: object, status: int = 0, project: str = "acme/vision") -> dict[str, Any]:
        words = ["import", *map(str, arguments), "--project", project, "--json"]
        assert run(words) == status
        return json.loads(capsys.readouterr().out)

    return call


def data_js(*entries: tuple[str, str, int], **bench: Any) -> str:
    """Return a `data.js` with one entry for each (commit, day, value)."""
    suite = [
        {
            "commit": {
                "id": sha,
                "timestamp": f"{day}T00:00:00Z",
                "message": f"c {day}",
                "author": {"name": "Ada"},
            },
            "date": 1,
            "tool": "cargo",
            "benches": [BENCH | {"value": value} | bench],
        }
        for sha, day, value in entries
    ]
    return "window.BENCHMARK_DATA = " + json.dumps({"entries": {"Rust": suite}})


def points(session) -> list[tuple[str, float]]:
    """Return commit and value of every point of the one series, in the order of its history."""
    query = (
        select(Commit.sha, Result.value)
        .join(Result, Result.commit_id == Commit.id)
        .order_by(Result.place, Result.id)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def test_data_js_becomes_points_at_the_dates_of_their_commits(imported, session, tmp_path):
    path = tmp_path / "data.js"
    path.write_text(data_js((SHA, "2020-05-01", 100)))
    told = imported(path)
    assert (told["stored"], told["known"], told["refused"]) == (1, 0, [])
    assert (told["formats"], told["first"]) == ({"github-action-benchmark": 1}, "2020-05-01")
    result = session.scalars(select(Result)).one()
    assert (result.value, result.low, result.high) == pytest.approx((1e-7, 0.9e-7, 1.1e-7))
    assert result.measured_at == datetime(2020, 5, 1, tzinfo=UTC)
    commit = session.scalars(select(Commit)).one()
    assert (commit.sha, commit.author, commit.subject) == (SHA, "Ada", "c 2020-05-01")


def test_points_stand_in_the_order_of_their_commits_and_not_of_the_import(
    imported, session, tmp_path, service
):
    days = {"2": "2020-05-02", "4": "2020-05-04", "1": "2020-05-01", "3": "2020-05-03"}
    for name in ("24", "1", "3"):
        path = tmp_path / f"{name}.json"
        path.write_text(data_js(*((one * 40, days[one], int(one)) for one in name)))
        imported(path)
        deliver(service)
    assert [sha[0] for sha, _ in points(session)] == ["1", "2", "3", "4"]


def test_the_same_import_again_stores_nothing_and_says_so(imported, session, tmp_path):
    make_tree(tmp_path / "results", files=5, benchmarks=12)
    first, again = imported(tmp_path), imported(tmp_path)
    assert (first["stored"], first["known"]) == (first["results"], 0)
    assert (again["stored"], again["known"]) == (0, first["stored"])
    assert len(session.scalars(select(Upload)).all()) == 5


def test_import_that_was_interrupted_goes_on(imported, session, tmp_path, posting, monkeypatch):
    n = make_tree(tmp_path / "results", files=9, benchmarks=4)
    monkeypatch.setattr(import_posting, "MOST_DOCUMENTS", 2)
    whole = posting.post_batch

    def dies(lines: Any) -> dict[str, Any]:
        if posting.batches == 3:
            raise KeyboardInterrupt
        return whole(lines)

    monkeypatch.setattr(posting, "post_batch", dies)
    assert run(["import", str(tmp_path), "--project", "acme/vision"]) == 130
    stored = len(session.scalars(select(Result)).all())
    assert 0 < stored < n
    monkeypatch.setattr(posting, "post_batch", whole)
    told = imported(tmp_path)
    assert (told["stored"], told["known"]) == (n - stored, stored)


def test_asv_tree_keeps_every_number_with_its_case(imported, session, tmp_path, service):
    n = make_tree(tmp_path / "results", files=12, benchmarks=11)
    told = imported(tmp_path / "results")
    assert (told["stored"], told["commits"], told["device_classes"]) == (
        n,
        12,
        ["cpu-intel-xeon-e5-2680-v4-28t"],
    )
    assert sum(told["left_out"].values()) + n == 12 * 15
    assert len(session.scalars(select(Series)).all()) == 15
    params = {case.params["n"] for case in session.scalars(select(BenchmarkCase)) if "n" in case.params}
    assert params == {10, 1000, "float32"}
    deliver(service)
    query = select(Result.series_id, Result.measured_at).order_by(Result.series_id, Result.place)
    rows = [tuple(row) for row in session.execute(query)]
    assert rows == sorted(rows)
    file = next((tmp_path / "results" / "bench-1").glob("*-virtualenv*.json"))
    written = json.loads(file.read_text())["results"]["suite_1.TimeSuite1.time_operation_1"][0][0]
    stored = session.scalars(
        select(Result.value)
        .join(Commit, Commit.id == Result.commit_id)
        .join(Series, Series.id == Result.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(
            Commit.sha == json.loads(file.read_text())["commit_hash"],
            BenchmarkCase.benchmark == "suite_1.TimeSuite1.time_operation_1",
        )
    ).one()
    assert stored == written


def test_bad_files_are_told_and_keep_no_others_out(imported, tmp_path):
    make_tree(tmp_path / "results", files=3, benchmarks=4)
    machine = tmp_path / "results" / "bench-1"
    (machine / "00-cut.json").write_text('{"commit_hash": "ab')
    (machine / "01-other.json").write_text('{"some": "thing"}')
    told = imported(tmp_path, status=DATA)
    assert told["stored"] == told["results"] > 0
    (refused,) = told["refused"]
    assert refused["file"] == str(machine / "00-cut.json")
    assert "not JSON" in refused["message"]
    assert told["unknown_files"] == [str(machine / "01-other.json")]


def test_refused_value_is_told_with_file_place_and_value(imported, tmp_path, posting, capsys):
    path = tmp_path / "data.js"
    path.write_text(data_js((SHA, "2020-05-01", 1), name="x" * 300))
    told = imported(path, status=DATA)
    assert [(one["file"], one["place"]) for one in told["refused"]] == [
        (str(path), "entries.Rust[0].benches[0]")
    ]
    assert run(["import", str(path), "--project", "acme/vision"]) == DATA
    said = capsys.readouterr().out
    assert f'{path}: entries.Rust[0].benches[0]: benchmark "xxx' in said
    assert 'xxx…": the text is 300 bytes long' in said
    assert "correct what was refused and import again" in said


def test_result_that_disagrees_with_its_series_is_refused_alone(imported, tmp_path):
    path = tmp_path / "data.js"
    path.write_text(data_js((SHA, "2020-05-01", 1)))
    imported(path)
    script = json.loads(data_js(("cd" * 20, "2020-05-02", 1)).partition("= ")[2])
    entry = script["entries"]["Rust"][0]
    entry["tool"] = "customBiggerIsBetter"
    entry["benches"].append(BENCH | {"name": "other"})
    path.write_text(json.dumps(script))
    told = imported(path, status=DATA)
    assert told["stored"] == 1
    assert [one["place"] for one in told["refused"]] == ["entries.Rust[0].benches[0]"]
    assert "of series" in told["refused"][0]["message"]


@pytest.mark.parametrize("name", ["<b>x</b>", "**bold**", "🚀", "שלום עולם"])
def test_names_of_other_tools_come_in_as_they_are(imported, session, tmp_path, name):
    path = tmp_path / "data.js"
    path.write_text(data_js((SHA, "2020-05-01", 1), name=name))
    imported(path)
    assert session.scalars(select(BenchmarkCase.benchmark)).all() == [name]


def test_dry_run_says_what_would_come_in_and_stores_nothing(imported, posting, session, tmp_path):
    n = make_tree(tmp_path / "results", files=3, benchmarks=4)
    told = imported(tmp_path, "--dry-run")
    assert (told["dry_run"], told["results"], told["stored"], told["runs"]) == (True, n, 0, 3)
    assert (posting.batches, session.scalars(select(Result)).all()) == (0, [])


def test_clone_gives_commits_their_order_whatever_their_dates(imported, session, tmp_path, service):
    repository = ToyRepository(tmp_path / "clone")
    shas = [repository.commit(f"change\x1e{i}", {"a.txt": str(i)}) for i in range(4)]
    days = ("2020-05-03", "2020-05-01", "2020-05-04", "2020-05-02")
    path = tmp_path / "data.js"
    entries = [(sha, day, i + 1) for i, (sha, day) in enumerate(zip(shas, days, strict=True))]
    path.write_text(data_js(*reversed(entries), ("99" * 20, "2020-05-09", 9)))
    told = imported(path, "--repo", repository.path)
    deliver(service)
    assert [sha for sha, _ in points(session)] == shas
    assert told["left_out"] == {"of commits that are not on the line of first parents of HEAD": 1}
    commit = session.scalars(select(Commit).where(Commit.sha == shas[2])).one()
    assert (commit.position, commit.parent_sha, commit.subject) == (2, shas[1], "change 2")
    assert commit.author == "Ada"


def test_clone_completes_commits_that_were_imported_without_it(imported, session, tmp_path):
    repository = ToyRepository(tmp_path / "clone")
    sha = repository.commit("first", {"a.txt": "0"})
    path = tmp_path / "data.js"
    path.write_text(data_js((sha, "2020-05-03", 1)))
    imported(path)
    told = imported(path, "--repo", repository.path)
    assert (told["stored"], told["known"]) == (0, 1)
    assert session.scalars(select(Commit.position)).one() == 0


def git(path: Path, *arguments: object) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", str(path), *identity, *map(str, arguments)], check=True, capture_output=True)


def test_commits_of_merged_branches_are_not_on_the_line(imported, session, tmp_path, service):
    repository = ToyRepository(tmp_path / "clone")
    first = repository.commit("first", {"a.txt": "0"})
    git(repository.path, "checkout", "-qb", "side")
    side = repository.commit("side", {"a.txt": "1"})
    git(repository.path, "checkout", "-q", "main")
    git(repository.path, "merge", "-q", "--no-ff", "-m", "merge", "side")
    merge = Repository(repository.path).commit("HEAD").sha
    path = tmp_path / "data.js"
    path.write_text(data_js((merge, "2020-05-03", 3), (side, "2020-05-02", 2), (first, "2020-05-01", 1)))
    told = imported(path, "--repo", repository.path, "--branch", "main")
    deliver(service)
    assert [sha for sha, _ in points(session)] == [first, merge]
    assert told["left_out"] == {"of commits that are not on the line of first parents of main": 1}
    assert session.scalars(select(Commit.parent_sha).where(Commit.sha == merge)).one() == first


def test_shallow_clone_is_refused_as_it_does_not_know_the_order(posting, capsys, tmp_path):
    repository = ToyRepository(tmp_path / "whole")
    for i in range(2):
        repository.commit(f"change {i}", {"a.txt": str(i)})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository.path}", "shallow")
    path = tmp_path / "data.js"
    path.write_text(data_js((SHA, "2020-05-01", 1)))
    assert run(["import", str(path), "--project", "p", "--repo", str(tmp_path / "shallow")]) == DATA
    assert "git fetch --unshallow" in capsys.readouterr().err


def test_file_without_a_commit_takes_that_of_the_options(imported, session, tmp_path):
    path = tmp_path / "gb.json"
    run_ = {"name": "fib", "run_type": "iteration", "real_time": 2.0, "cpu_time": 1.0, "time_unit": "us"}
    path.write_text(json.dumps({"context": {"num_cpus": 4}, "benchmarks": [run_]}))
    assert "give --commit" in imported(path, status=DATA)["refused"][0]["message"]
    told = imported(
        path, "--commit", SHA, "--date", "2024-02-03", "--device-class", "my-box", "--branch", "next"
    )
    assert (told["stored"], told["device_classes"]) == (2, ["my-box"])
    result = session.scalars(select(Result).where(Result.branch == "next").limit(1)).one()
    assert result.measured_at == datetime(2024, 2, 3, tzinfo=UTC)


def test_direction_can_be_named(imported, session, tmp_path):
    path = tmp_path / "data.js"
    path.write_text(data_js((SHA, "2020-05-01", 1)))
    imported(path, "--higher-is-better", "f*")
    assert session.scalars(select(Series.better)).all() == ["higher"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nowhere.json"], DATA, "cannot be read"),
        (["other.json"], DATA, "it is of no known format; known are asv"),
        (["data.js", "--format", "asv"], DATA, "it is no asv file"),
        (["data.js", "--format", "avs"], USAGE, 'did you mean "asv"?'),
        (["data.js", "--date", "yesterday"], USAGE, "no ISO 8601 time"),
        (["data.js", "--commit", "x"], USAGE, "no id of a commit"),
        (["data.js", "--commit", "my-branch"], USAGE, "no id of a commit"),
        (["data.js", "--commit", "abcdef12"], USAGE, "is abbreviated: write all its digits, or give --repo"),
        (["new\nline.json"], DATA, r"new\nline.json: the file: cannot be read"),
        (["a\nfolder"], DATA, r"a\nfolder: no file of a known format"),
        (["data.js", "--branch", "x" * 300], USAGE, "--branch"),
        (["data.js", "--project", "acme/../vision"], USAGE, "has a part . or .."),
        (["data.js", "--repo", "nowhere"], DATA, "is not a folder"),
        (["empty"], DATA, "no file of a known format"),
    ],
)
def test_wrong_usage_and_bad_data_are_told_with_their_status(
    posting, capsys, tmp_path, monkeypatch, arguments, status, said
):
    monkeypatch.chdir(tmp_path)
    Path("data.js").write_text(data_js((SHA, "2020-05-01", 1)))
    Path("other.json").write_text("{}")
    Path("empty").mkdir()
    Path("a\nfolder").mkdir()
    assert run(["import", "--project", "acme/vision", *arguments]) == status
    output = capsys.readouterr()
    assert said in output.out + output.err
    assert posting.batches == 0


def test_what_is_noted_is_told_and_refuses_nothing(imported, posting, capsys, tmp_path):
    stats = {"median": 2.0, "min": 1.0, "max": 5.0}
    told = {
        "machine_info": {},
        "commit_info": {"id": SHA, "time": "2020-05-01T00:00:00Z", "dirty": True},
        "benchmarks": [{"fullname": "b.py::test", "stats": stats}],
    }
    path = tmp_path / "0001.json"
    path.write_text(json.dumps(told))
    ((note, n),) = imported(path)["noted"].items()
    assert run(["import", str(path), "--project", "acme/vision"]) == 0
    assert f"noted: {n} {note}\n" in capsys.readouterr().out
    assert note.startswith("measured with changes that were not committed")


def test_results_of_a_pull_request_join_no_history_of_the_project(imported, session, tmp_path):
    fork = "cd" * 20
    result = {"tags": {"name": "b"}, "stats": {"data": [1.0], "unit": "s"}}
    commits = [
        {"sha": SHA, "timestamp": "2020-05-01", "branch": "acme:main", "fork_point_sha": SHA},
        {"sha": fork, "timestamp": "2020-05-02", "branch": "ada:fix", "fork_point_sha": SHA},
    ]
    path = tmp_path / "page.json"
    path.write_text(json.dumps([result | {"commit": commit} for commit in commits]))
    imported(path)
    query = select(Commit.sha, Result.branch).join(Result, Result.commit_id == Commit.id)
    assert dict(session.execute(query).all()) == {SHA: "main", fork: "ada:fix"}


def test_documents_of_our_own_come_out_with_the_values_that_went_in(imported, session, tmp_path):
    values = [0.1, 1 / 3, 5e-324, 1e300, 0.30000000000000004]
    result = {"benchmark": "b", "metric": "m", "unit": "s", "better": "lower", "values": values}
    day = "2026-01-31T12:00:00+00:00"
    documents = [
        {
            "project": "p",
            "commit": f"{i:040x}",
            "time": day,
            "measured_at": day,
            "device_class": "d",
            "results": [result],
        }
        for i in range(2)
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    assert imported(path)["formats"] == {"ratchet": 1}
    assert session.scalars(select(Sample.values)).all() == [values, values]


def test_recordings_of_the_tools_come_in_whole(imported, recordings):
    folders = [recordings / name for name in ("asv", "google-benchmark", "pytest-benchmark")]
    told = imported(*folders, "--commit", SHA, "--date", "2024-01-01")
    assert told["formats"] == {"asv": 1, "google-benchmark": 1, "pytest-benchmark": 2}
    assert (told["stored"], told["refused"]) == (27, [])
