"""Benchmark results of Conbench."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from app.formats.imported.conbench import read, recognises
from app.formats.imported.model import Reading
from app.formats.imported.registry import recognise

SHA = "02addad336ba19a654f9c857ede546331be7b631"


def result(name: str = "file-write", **fields: Any) -> dict[str, Any]:
    return {
        "id": "some-id",
        "run_id": "run-1",
        "timestamp": "2020-11-25T21:02:42Z",
        "tags": {"name": name, "id": "case-id", "compression": "snappy", "cpu_count": 2},
        "stats": {"data": [1.0, 3.0], "unit": "s", "iterations": 2, "mean": 2.0},
        "error": None,
        "commit": {
            "sha": SHA,
            "parent_sha": "4b" * 20,
            "timestamp": "2021-02-25T01:02:51",
            "message": "ARROW-1: faster\n\nmuch",
            "author_name": "Diana",
        },
        "hardware": {"name": "diana", "info": {"cpu_model_name": "AMD EPYC 7763", "cpu_thread_count": "4"}},
    } | fields


@pytest.mark.parametrize("page", [[result()], {"data": [result()], "metadata": {}}, result()])
def test_pages_and_single_results_are_told_and_read(page):
    assert recognises(page)
    assert recognise(page) == "conbench"
    assert len(read(page, {}, Reading()).measured) == 1


def test_commit_and_machine_are_told():
    (measured,) = read([result()], {}, Reading()).measured
    commit = measured.commit
    assert (commit.sha, commit.parent, commit.author) == (SHA, "4b" * 20, "Diana")
    assert (commit.subject, commit.time) == ("ARROW-1: faster", datetime(2021, 2, 25, 1, 2, 51, tzinfo=UTC))
    assert measured.machine.device_class == "cpu-amd-epyc-7763-4t"


def test_tags_are_parameters():
    ((one,),) = (m.results for m in read([result()], {}, Reading()).measured)
    assert (one.benchmark, one.params) == ("file-write", {"compression": "snappy", "cpu_count": 2})


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [
        ("s", ("time", "s", "lower")),
        ("ns", ("time", "ns", "lower")),
        ("B/s", ("throughput", "B/s", "higher")),
        ("b/s", ("throughput", "B/s", "higher")),
        ("i/s", ("throughput", "items/s", "higher")),
        ("B", ("value", "B", "lower")),
    ],
)
def test_metric_and_direction_follow_from_the_unit(unit, wanted):
    ((one,),) = (m.results for m in read([result(stats={"data": [1], "unit": unit})], {}, Reading()).measured)
    assert (one.metric, one.unit, one.better) == wanted


def test_results_of_one_run_stand_together():
    found = read([result("a"), result("b"), result("c", run_id="run-2")], {}, Reading()).measured
    assert [[r.benchmark for r in measured.results] for measured in found] == [["a", "b"], ["c"]]


def test_posted_documents_are_read_with_their_commit_and_numbers_as_text():
    posted = result(
        stats={"data": ["1.5"], "unit": "s"}, github={"commit_hash": SHA}, commit=None, hardware=None
    )
    (measured,) = read(
        [posted | {"machine_info": {"name": "x", "cpu_thread_count": 2}}], {}, Reading()
    ).measured
    assert (measured.commit.sha, measured.results[0].values) == (SHA, (1.5,))
    assert measured.machine.device_class == "cpu-x-2t"


def commit(branch: str | None, fork_point: str | None) -> dict[str, Any]:
    return result()["commit"] | {"branch": branch, "fork_point_sha": fork_point}  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("fields", "branch"),
    [
        ({"commit": commit("apache:main", SHA)}, None),
        ({"commit": commit("apache:main", None)}, None),
        ({"commit": commit("ada:fix", "cd" * 20)}, "ada:fix"),
        ({"commit": commit(None, "cd" * 20)}, ""),
        ({"commit": None, "github": {"commit": SHA, "branch": "apache:main"}}, None),
        ({"commit": None, "github": {"commit": SHA, "pr_number": 7, "branch": "ada:fix"}}, "ada:fix"),
        ({"commit": None, "github": {"commit": SHA, "pr_number": 7}}, ""),
    ],
)
def test_results_of_a_pull_request_are_on_its_branch_and_all_others_on_that_of_the_project(fields, branch):
    (measured,) = read([result(**fields)], {}, Reading()).measured
    assert measured.commit.branch == branch


def test_failed_results_are_left_out_and_counted():
    failed = [
        result(error={"stack": "…"}),
        result(stats={"data": [1.0, None], "unit": "s"}),
        result(stats=None),
    ]
    reading = read(failed, {}, Reading())
    assert (reading.measured, dict(reading.left_out)) == ([], {"that failed": 3})


def test_bad_result_is_told_with_its_place_and_keeps_no_other_out():
    reading = read([result(stats={"data": ["fast"], "unit": "s"}), result("good")], {}, Reading())
    assert reading.problems == [("[0]", 'stats.data[0] is "fast"; expected a number')]
    assert [r.benchmark for m in reading.measured for r in m.results] == ["good"]
