import json
from dataclasses import replace

import pytest

from app.domain.results import CommitRef, DeviceReading, DeviceState, Note
from app.domain.verdicts import Conclusion
from app.reports.check_json import check_document
from app.reports.check_reading import result_of_document
from app.reports.terminal import render_check
from tests.factories import efficient, results

TOP = ["check", "conclusion", "status", "base", "head", "suites", "report"]
SUITE = ["name", "device_class", "environment", "cases"]
CASE = [
    "benchmark", "params", "metric", "unit", "better", "gating", "verdict", "change", "worse", "ci_low", "ci_high",
    "ci_level", "n_pairs", "n_void", "could_hide", "grade", "flags",
]  # fmt: skip
MORE_TOP = [
    "project", "state", "title", "reason", "alpha", "minimum_effect", "tolerance", "reproduce", "base_subject",
    "head_subject", "page", "notes",
]  # fmt: skip
MORE_SUITE = [
    "state",
    "reason",
    "worker",
    "software_changes",
    "device_s",
    "log_tail",
    "efficiency",
    "devices",
]
MORE_CASE = [
    "exploratory", "kind", "reason", "base_median", "head_median", "attribution", "log_tail", "base_geomean",
    "head_geomean", "bound_pass", "provenance",
]  # fmt: skip


def test_document_has_the_keys_of_the_contract_first_and_no_others_than_named_here() -> None:
    document = check_document(results.regressed(), "report.html")
    job = document["suites"][0]
    assert list(document) == TOP + MORE_TOP
    assert list(job) == SUITE + MORE_SUITE
    assert {tuple(case) for case in job["cases"]} == {tuple(CASE + MORE_CASE)}


def test_document_of_a_regressed_check_holds_what_was_found() -> None:
    document = check_document(results.regressed(), "out/report.html")
    case = document["suites"][0]["cases"][0]
    assert (document["check"], document["conclusion"], document["status"]) == (12, "regressed", 1)
    assert (document["base"], document["head"]) == (results.BASE.sha, results.HEAD.sha)
    assert document["report"] == "out/report.html"
    assert (case["benchmark"], case["params"]) == ("bert", {"batch": 32, "dtype": "bf16"})
    assert (case["verdict"], case["worse"], case["flags"]) == ("regressed", True, ["control_unavailable"])
    assert case["ci_low"] < case["change"] < case["ci_high"]


@pytest.mark.parametrize(
    ("conclusion", "status"),
    [
        (Conclusion.PASSED, 0),
        (Conclusion.REGRESSED, 1),
        (Conclusion.NOT_MEASURED, 2),
        (Conclusion.INCONCLUSIVE, 3),
        (None, None),
    ],
)
def test_status_is_the_exit_status_of_the_conclusion(
    conclusion: Conclusion | None, status: int | None
) -> None:
    assert check_document(results.check(conclusion), None)["status"] == status


@pytest.mark.parametrize("make", results.EVERY.values(), ids=results.EVERY)
def test_every_document_is_json_without_nan(make) -> None:
    document = check_document(make(), None)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_numbers_that_are_not_finite_become_null_even_in_params() -> None:
    case = check_document(results.not_finite(), None)["suites"][0]["cases"][0]
    assert case["params"] == {"x": None}
    assert [case[key] for key in ("change", "ci_low", "ci_high", "could_hide", "base_median")] == [None] * 5


def test_failures_keep_the_end_of_their_log() -> None:
    cases = check_document(results.failing(), None)["suites"][0]["cases"]
    assert cases[0]["verdict"] == "head_fails"
    assert "TypeError" in cases[0]["log_tail"]


def test_change_of_a_sampled_result_is_the_ratio_of_the_geometric_means_in_the_document() -> None:
    for case in check_document(results.regressed(), None)["suites"][0]["cases"]:
        if case["kind"] == "sampled" and case["change"] is not None:
            ratio = case["head_geomean"] / case["base_geomean"]
            assert ratio - 1 == pytest.approx(case["change"], abs=1e-12)
        elif case["kind"] == "exact":
            assert (case["base_geomean"], case["head_geomean"], case["bound_pass"]) == (None, None, None)


def test_document_names_both_commits_by_the_first_line_of_their_messages() -> None:
    head = CommitRef("c" * 40, "Make \x1b[31mred\u202e things\r\nfaster\n\nand more")
    document = check_document(replace(results.passed(), head=head), None, "https://ratchet.example/checks/12")
    assert document["base_subject"] == "Merge branch 'faster-tokenizer'"
    assert document["head_subject"] == "Make red� things"
    assert document["page"] == "https://ratchet.example/checks/12"


def test_note_about_the_settings_is_in_the_document_with_its_flag() -> None:
    note = Note("budget_unmatched", "nothing is measured by that name")
    document = check_document(replace(results.passed(), notes=(note,)), None)
    assert document["notes"] == [{"flag": note.flag, "message": note.message}]


def test_suite_of_which_nothing_is_known_has_neither_efficiency_nor_devices() -> None:
    (suite,) = check_document(results.regressed(), None)["suites"]
    assert (suite["efficiency"], suite["devices"]) == (None, [])
    assert {case["provenance"] for case in suite["cases"]} == {None}


def test_efficiency_is_told_by_case_and_arm_with_peaks_and_evidence() -> None:
    document = check_document(efficient.efficient(), None)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    efficiency = document["suites"][0]["efficiency"]
    assert list(efficiency) == ["device", "peaks", "bandwidth", "hint", "activity", "cases"]
    assert efficiency["peaks"][0]["value"] == 989e12
    assert efficiency["activity"][1] == {
        "device": "GPU-1",
        "name": "tensor_active",
        "value": 0.44,
        "unit": "1",
    }
    gemm = efficiency["cases"][0]
    assert (gemm["benchmark"], gemm["dtype"], gemm["changed"]) == ("gemm", "bf16", True)
    assert (gemm["base"]["bottleneck"], gemm["head"]["bottleneck"]) == ("compute", "power")
    assert gemm["head"]["also"] == ["compute"]
    assert gemm["head"]["evidence"][0]["is_decisive"] is True
    assert gemm["head"]["signs"]["power_throttle_share"] == 0.83
    assert gemm["head"]["roofline"]["intensity"] == pytest.approx(2 * 8192**3 / (6 * 8192**2))


def test_metric_that_is_made_of_others_says_of_what_by_arm() -> None:
    cases = check_document(efficient.efficient(), None)["suites"][0]["cases"]
    made = next(case for case in cases if case["metric"] == "mfu")["provenance"]
    assert list(made) == ["base", "head"]
    assert list(made["head"]) == ["value", "unit", "formula", "inputs", "notes"]
    assert [given["name"] for given in made["head"]["inputs"]] == ["model FLOP", "time", "devices", "peak"]


def test_devices_are_told_with_lowest_middle_and_highest_of_each_arm() -> None:
    clock = DeviceReading("sm_clock_hz", "Hz", (1.5e9, 1.9e9, 1.98e9), None)
    state = DeviceState("GPU-1", (clock,), (("power_cap", 0.02, 0.83),), ("fan",))
    result = results.check(Conclusion.PASSED, results.suite(device_states=(state,)))
    (device,) = check_document(result, None)["suites"][0]["devices"]
    assert device == {
        "device": "GPU-1",
        "readings": [{"name": "sm_clock_hz", "unit": "Hz", "base": [1.5e9, 1.9e9, 1.98e9], "head": None}],
        "throttled": [{"reason": "power_cap", "base": 0.02, "head": 0.83}],
        "unavailable": ["fan"],
    }


@pytest.mark.parametrize("kind", ["regressed", "failing", "inconclusive", "no_capacity", "efficient"])
def test_table_of_a_document_is_the_table_of_its_check(kind: str) -> None:
    make = {**results.EVERY, "efficient": efficient.efficient}[kind]
    result = replace(make(), notes=(Note("metric_unmatched", "no case reports it"),))
    read = result_of_document(check_document(result, None))
    assert render_check(read, width=120, color=False) == render_check(result, width=120, color=False)


def test_document_of_an_earlier_release_is_shown_without_what_it_did_not_know() -> None:
    document = check_document(results.regressed(), None)
    for name in ("base_subject", "head_subject", "page", "notes"):
        del document[name]
    for case in document["suites"][0]["cases"]:
        for name in ("base_geomean", "head_geomean", "bound_pass"):
            del case[name]
    read = result_of_document(document)
    assert read.base.subject == ""
    assert read.suites[0].cases[0].levels == (
        read.suites[0].cases[0].base_median,
        read.suites[0].cases[0].head_median,
    )
