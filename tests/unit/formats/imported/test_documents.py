"""What was imported as documents of the service, and what is refused of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Problem
from app.formats.imported.documents import ImportWishes, Preparing, label
from app.formats.imported.lineage import Lineage
from app.formats.imported.model import ImportedCommit, ImportedResult, Machine, Measured
from app.formats.imported.portions import MOST_VALUES
from app.formats.results_payload import read_payload

NOW = datetime(2026, 11, 21, tzinfo=UTC)
DAY = datetime(2020, 3, 1, tzinfo=UTC)
SHA = "ab" * 20


def imported(benchmark: str = "b", values: tuple[Any, ...] = (1.0,), **fields: Any) -> ImportedResult:
    default: dict[str, Any] = {
        "params": {},
        "metric": "m",
        "unit": "ms",
        "better": "lower",
        "place": f"at {benchmark}",
    }
    return ImportedResult(benchmark=benchmark, values=values, **default | fields)


def measured(*results: ImportedResult, commit: ImportedCommit | None = None, **fields: Any) -> Measured:
    default: dict[str, Any] = {"machine": Machine("AMD EPYC 7763", 8, "one"), "environment": {"os": "Linux"}}
    its_commit = ImportedCommit(SHA, DAY) if commit is None else commit
    return Measured(its_commit, results=results or (imported(),), place="the file", **default | fields)


def preparing(lineage: Lineage | None = None, **wishes: Any) -> Preparing:
    return Preparing(ImportWishes("acme/vision", **wishes), NOW, lineage)


def line(n: int = 5) -> Lineage:
    commits = [
        ImportedCommit(
            f"{i:x}" * 40,
            datetime(2020, 1, 1 + i, tzinfo=UTC),
            f"{i - 1:x}" * 40 if i else None,
            author="Ada",
            subject=f"c{i}",
        )
        for i in range(n)
    ]
    return Lineage("main", commits)


def test_point_is_dated_back_to_its_commit():
    (document,) = preparing(branch="main").prepare("f.json", measured())
    payload = read_payload(document.line, now=NOW)
    assert (payload.commit, payload.time, payload.measured_at) == (SHA, DAY, DAY)
    assert (payload.branch, payload.device_class) == ("main", "cpu-amd-epyc-7763-8t")
    assert payload.flags == ("backdated",)
    assert payload.results[0].values == (0.001,)


def test_document_of_our_own_keeps_when_it_was_measured_and_needs_no_date_of_its_commit():
    commit, later = ImportedCommit("3" * 40), datetime(2021, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    told = measured(imported(version="file-7"), commit=commit, measured_at=later, is_exact=True)
    (document,) = preparing().prepare("f", told)
    payload = read_payload(document.line, now=NOW)
    assert (payload.time, payload.measured_at, payload.results[0].version) == (None, later, "file-7")
    (dated,) = preparing(line()).prepare("f", told)
    assert (dated.body["time"], dated.body["measured_at"]) == ("2020-01-04T00:00:00+00:00", later.isoformat())


def test_clone_tells_position_parent_author_and_subject():
    known = line()
    (document,) = preparing(known).prepare("f", measured(commit=ImportedCommit("3" * 8)))
    body = document.body
    assert (body["commit"], body["parent"], body["position"]) == ("3" * 40, "2" * 40, 3)
    assert (body["author"], body["subject"], body["time"]) == ("Ada", "c3", "2020-01-04T00:00:00+00:00")


def test_point_counts_at_the_same_time_with_a_clone_and_without():
    told = measured(commit=ImportedCommit("3" * 40), measured_at=DAY)
    documents = [preparing(known).prepare("f", told)[0].body for known in (None, line())]
    assert [body["measured_at"] for body in documents] == [DAY.isoformat()] * 2
    assert documents[1]["time"] == "2020-01-04T00:00:00+00:00"


def test_point_of_our_own_documents_counts_when_it_was_measured():
    (document,) = preparing().prepare("f", measured(measured_at=NOW, is_exact=True))
    assert (document.body["time"], document.body["measured_at"]) == (DAY.isoformat(), NOW.isoformat())


def test_documents_stand_in_the_order_of_moments_wherever_they_were_written():
    times = ["2020-01-01T00:30:00+02:00", "2019-12-31T23:00:00+00:00"]
    commits = [ImportedCommit(SHA, datetime.fromisoformat(time)) for time in times]
    documents = [document for one in commits for document in preparing().prepare("f", measured(commit=one))]
    assert sorted(documents, key=lambda document: document.order) == documents


def test_own_date_of_the_file_is_kept_beside_that_of_the_clone():
    (document,) = preparing(line()).prepare("f", measured(commit=ImportedCommit("3" * 40, DAY)))
    assert document.body["measured_at"] == DAY.isoformat()


def test_commit_that_is_not_on_the_branch_is_left_out_and_counted():
    its = preparing(line())
    assert its.prepare("f", measured(imported("a"), imported("b"))) == []
    assert list(its.left_out.values()) == [2]


@pytest.mark.parametrize("sha", ["", "0", "000000", "f" * 40, "0123456789"])
def test_lineage_finds_no_commit_that_is_not_meant(sha):
    assert line().find(sha) is None


def test_lineage_finds_commits_by_id_and_by_abbreviation():
    its = line()
    assert len(its) == 5
    assert [its.find(sha).position for sha in ("4" * 40, "1" * 7)] == [4, 1]


def test_commit_and_date_are_those_of_the_options_where_the_file_has_none():
    (document,) = preparing(commit=SHA, date=DAY).prepare("f", measured(commit=ImportedCommit()))
    assert (document.body["commit"], document.body["time"]) == (SHA, DAY.isoformat())


@pytest.mark.parametrize(
    ("commit", "wishes", "message"),
    [(ImportedCommit(), {}, "give --commit"), (ImportedCommit(SHA), {}, "give --date, or --repo")],
)
def test_run_without_commit_or_date_is_refused_with_what_to_do(commit, wishes, message):
    its = preparing(**wishes)
    assert its.prepare("f.json", measured(commit=commit)) == []
    (refused,) = its.refused
    assert (refused.file, refused.place, refused.results) == ("f.json", "the file", 1)
    assert message in refused.message


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "**bold** [x](y)", "🚀 fast", "שלום עולם", "a\u200db", "x" * 255]
)
def test_name_comes_in_as_it_is(name):
    (document,) = preparing().prepare("f", measured(imported(name)))
    assert read_payload(document.line, now=NOW).results[0].benchmark == name


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"benchmark": "x" * 256}, 'benchmark "xxx'),
        ({"benchmark": "\u202eevil"}, "benchmark"),
        ({"benchmark": "half \ud83d"}, "benchmark"),
        ({"benchmark": "e\u0301"}, "not in Unicode normal form C"),
        ({"params": {"n": "x" * 300}}, "params.n"),
        ({"values": (-1.0,)}, "negative"),
        ({"values": (1e301,)}, "beyond"),
        ({"unit": "u" * 300}, "unit"),
    ],
)
def test_result_that_the_service_would_refuse_is_told_with_file_place_and_value(field, message):
    its = preparing()
    (document,) = its.prepare("f.json", measured(imported(**{"place": "there"} | field), imported("good")))
    assert [r.benchmark for r in read_payload(document.line, now=NOW).results] == ["good"]
    (refused,) = its.refused
    assert (refused.file, refused.place, refused.results) == ("f.json", "there", 1)
    assert message in refused.message


@pytest.mark.parametrize("sha", ["12ab", "ABCDEF12", "a" * 39])
def test_abbreviated_commit_is_refused_with_what_to_do_where_no_clone_knows_it(sha):
    its = preparing()
    assert its.prepare("f", measured(imported("a"), imported("b"), commit=ImportedCommit(sha, DAY))) == []
    (refused,) = its.refused
    assert refused.message.startswith(f'commit "{sha.lower()}" is abbreviated')
    assert ("--repo" in refused.message, refused.results) == (True, 2)


def test_results_of_a_branch_are_on_it_unless_the_options_or_a_clone_say_otherwise():
    told = measured(commit=ImportedCommit("3" * 40, DAY, branch="ada:fix"))
    bodies = [
        its.prepare("f", told)[0].body for its in (preparing(), preparing(branch="b"), preparing(line()))
    ]
    assert [body.get("branch") for body in bodies] == ["ada:fix", "b", None]


def test_results_of_a_branch_without_a_name_are_left_out_and_counted_unless_they_get_one():
    told = measured(commit=ImportedCommit("3" * 40, DAY, branch=""))
    its = preparing()
    assert its.prepare("f", told) == []
    assert list(its.left_out.items()) == [
        ("of pull requests whose branch is not told: --branch names one", 1)
    ]
    assert [len(other.prepare("f", told)) for other in (preparing(branch="b"), preparing(line()))] == [1, 1]


def test_result_with_more_values_than_a_post_takes_is_its_median_between_the_extremes_and_noted():
    its = preparing()
    values = (3.0, *(1.0,) * 50_000, *(2.0,) * 50_001)
    (document,) = its.prepare("f", measured(imported("many", values), imported("few", (1.0, 5.0))))
    (many, few) = document.body["results"]
    assert (many["values"], many["low"], many["high"]) == ((2.0,), 1.0, 3.0)
    assert few["values"] == (1.0, 5.0)
    assert list(its.noted.values()) == [1]
    assert its.refused == []


def test_result_with_as_many_values_as_a_post_takes_keeps_them():
    its = preparing()
    (document,) = its.prepare("f", measured(imported(values=(1.0,) * 100_000)))
    assert (len(document.body["results"][0]["values"]), its.noted) == (100_000, {})


def test_notes_count_the_results_that_come_in():
    its = preparing(line())
    results = (imported("a"), imported("b"), imported("x" * 300))
    its.prepare("f", measured(*results, commit=ImportedCommit("3" * 40), notes=("so",)))
    its.prepare("f", measured(*results, commit=ImportedCommit("f" * 40), notes=("so",)))
    assert its.noted == {"so": 2}


def test_run_of_which_nothing_is_left_is_no_document():
    its = preparing()
    assert its.prepare("f", measured(imported("x" * 300))) == []


def test_bad_commit_is_told_once_for_the_whole_run():
    its = preparing()
    assert (
        its.prepare("f", measured(imported("a"), imported("b"), commit=ImportedCommit("not hex", DAY))) == []
    )
    (refused,) = its.refused
    assert (refused.results, refused.message.partition(":")[0]) == (2, "commit")


def test_what_the_service_refuses_is_taken_out_and_told():
    its = preparing()
    (document,) = its.prepare("f", measured(imported("a"), imported("b")))
    its.drop(document, [Problem("results[1].unit", "unit_mismatch", "series 3 is in s")])
    assert [r["benchmark"] for r in json.loads(document.line)["results"]] == ["a"]
    assert (its.refused[0].place, its.refused[0].message) == ("at b", 'unit "ms": series 3 is in s')


def test_directions_can_be_named_by_globs():
    its = preparing(higher=("*rate*",), lower=("rate_of_errors",))
    (document,) = its.prepare(
        "f", measured(imported("my_rate"), imported("x"), imported("y", better="higher"))
    )
    assert [r["better"] for r in document.body["results"]] == ["higher", "lower", "higher"]


def test_case_that_stands_twice_in_a_run_makes_two_documents():
    documents = preparing().prepare(
        "f", measured(imported(values=(1.0,)), imported(values=(2.0,)), imported("c"))
    )
    assert [[r["values"] for r in d.body["results"]] for d in documents] == [[(1.0,), (1.0,)], [(2.0,)]]


def test_run_with_very_many_values_makes_several_documents():
    half = (1.0,) * (MOST_VALUES // 2)
    documents = preparing().prepare("f", measured(*(imported(str(i), half) for i in range(5))))
    assert [len(document.places) for document in documents] == [2, 2, 1]


def test_second_machine_of_a_class_has_a_class_of_its_own():
    its = preparing()
    machines = [Machine("AMD EPYC 7763", 8, name) for name in ("one", "The Other", "one", "The Other")]
    classes = [its.prepare("f", measured(machine=machine))[0].body["device_class"] for machine in machines]
    assert classes == ["cpu-amd-epyc-7763-8t", "cpu-amd-epyc-7763-8t-the-other"] * 2


def test_device_class_of_the_options_holds_for_all_machines():
    its = preparing(device_class="gpu-x")
    machines = [Machine("A", 8, name) for name in ("one", "other")]
    assert {its.prepare("f", measured(machine=m))[0].body["device_class"] for m in machines} == {"gpu-x"}


@pytest.mark.parametrize(
    ("machine", "wanted"),
    [
        (Machine("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 28), "cpu-intel-xeon-e5-2680-v4-28t"),
        (Machine("AMD Ryzen 9 5950X 16-Core Processor", 32), "cpu-amd-ryzen-9-5950x-32t"),
        (Machine("", 4, "Corgi.local"), "cpu-corgi-local-4t"),
        (Machine("", 4), "cpu-4t"),
        (Machine(), "unknown"),
    ],
)
def test_device_class_follows_from_what_is_known_of_the_machine(machine, wanted):
    assert machine.device_class == wanted


@given(st.text())
def test_label_is_always_a_text_that_the_service_takes(text):
    document = {"project": "p", "commit": SHA, "device_class": "d", "subject": label(text)}
    result = {"benchmark": "b", "metric": "m", "unit": "s", "better": "lower", "values": [1]}
    read_payload(json.dumps(document | {"results": [result]}).encode(), now=NOW)
