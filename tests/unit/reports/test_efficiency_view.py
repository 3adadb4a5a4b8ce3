"""The section on efficiency: what holds cases back, their numbers, where those come from, and the roofline."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from app.domain.efficiency import ArmEfficiency, CaseEfficiency, SuiteEfficiency
from app.domain.results import CaseVerdict, CheckResult, Estimate
from app.domain.verdicts import Conclusion, Verdict
from app.reports.efficiency_view import MOST_DRAWN, EfficiencyRow, efficiency_views
from app.reports.html import render_report
from tests.factories import efficient, results
from tests.unit.reports.test_html import MEGABYTE, Outline


def suite_of(result: CheckResult):
    (view,) = efficiency_views(result.suites)
    return view


def row_of(result: CheckResult, name: str) -> EfficiencyRow:
    return next(row for row in suite_of(result).rows if row.case.shown.startswith(name))


def text_of(result: CheckResult) -> str:
    return Outline(render_report(result)).text


def told(*cases: CaseVerdict, **fields: object) -> CheckResult:
    """A check of cases of which nothing but their metrics is known."""
    found = {(case.benchmark, str(case.params)): case for case in cases}
    arms = {"base": ArmEfficiency("unclear"), "head": ArmEfficiency("unclear")}
    efficiency = SuiteEfficiency(
        "cpu-x", tuple(CaseEfficiency(case.benchmark, case.params, None, **arms) for case in found.values()), **fields
    )  # fmt: skip
    return results.check(Conclusion.PASSED, results.suite(*cases, efficiency=efficiency))


@pytest.fixture(scope="module")
def gemm() -> EfficiencyRow:
    return row_of(efficient.efficient(), "gemm")


# --- rows -----------------------------------------------------------------------------------------------------


def test_suite_of_which_nothing_is_known_has_no_section() -> None:
    assert efficiency_views(results.regressed().suites) == ()
    assert "Efficiency" not in text_of(results.regressed())


def test_changed_class_is_marked_and_both_arms_say_why(gemm: EfficiencyRow) -> None:
    assert (gemm.was, gemm.kind) == ("compute", "power")
    assert [(arm.role, arm.why) for arm in gemm.arms] == [
        ("base", "the model's operations take 71.7 % of the arithmetic peak"),
        ("head", "83 % of the time a limit of power held; the median clock was 86 % of the highest"),
    ]
    assert gemm.arms[1].also == "compute"
    page = text_of(efficient.efficient())
    assert "changed compute → power base: the model's operations take 71.7 %" in page


def test_same_class_is_told_once_with_what_head_shows() -> None:
    row = row_of(efficient.efficient(), "layer_norm")
    assert (row.was, row.kind) == ("", "memory")
    page = text_of(efficient.efficient())
    assert "bf16 memory the declared bytes take 76 % of the memory's peak bandwidth 0.45 → 0.45 %" in page


def test_class_that_nothing_decides_says_so() -> None:
    row = row_of(efficient.efficient(), "attention")
    assert (row.kind, row.arms[1].why) == ("unclear", "nothing that is known reaches its threshold")
    (bare,) = suite_of(told(results.measured("resize", 0.0, metric="mfu", unit="1"))).rows
    assert bare.arms[0].why == "nothing is known of it"


def test_numbers_are_those_of_the_verdicts_with_what_they_are_per(gemm: EfficiencyRow) -> None:
    assert suite_of(efficient.efficient()).columns == ("MFU", "Bandwidth", "Energy", "Cost")
    assert [(cell.title, cell.text, cell.note) for cell in gemm.cells] == [
        ("MFU", "71.7 → 62.1 %", ""),
        ("Bandwidth", "7.8 → 6.7 %", ""),
        ("Energy", "1.050 → 1.220 J", "per iteration"),
        ("Cost", "0.01675 → 0.01935 EUR", "per million samples"),
    ]


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (0.31, ("0.3100 → 0.3100 EUR", "per sample")),
        (3.1e-4, ("0.3100 → 0.3100 EUR", "per thousand samples")),
        (3.1e-9, ("0.003100 → 0.003100 EUR", "per million samples")),
    ],
)
def test_cost_is_of_as_many_samples_as_make_it_readable(level: float, shown: tuple[str, str]) -> None:
    case = CaseVerdict(
        "a", {}, "cost_per_sample", "EUR", "lower", False, None, base_median=level, head_median=level
    )
    ((cell,),) = (row.cells for row in suite_of(told(case)).rows)
    assert (cell.text, cell.note) == shown


def test_case_without_a_pair_shows_the_median_of_the_arm_that_ran() -> None:
    values = [
        Estimate(0, "head", 0, 0.5),
        Estimate(0, "head", 1, 0.6),
        Estimate(1, "head", 0, 0.9, void=True),
    ]
    case = CaseVerdict("a", {}, "mfu", "1", "higher", True, Verdict.NEW, estimates=tuple(values))
    (row,) = suite_of(told(case)).rows
    assert row.cells[0].text == "55.0 %"


def test_doubts_about_a_number_stand_below_it() -> None:
    flags = ("peak_not_verified", "beyond_peak", "run_drift")
    (row,) = suite_of(told(results.measured("a", 0.0, metric="mfu", unit="1", level=1.1, flags=flags))).rows
    assert row.cells[0].note == "beyond the peak, peak not verified"


def test_column_that_no_case_fills_is_left_out() -> None:
    view = suite_of(told(results.measured("a", 0.0, metric="cost_per_million_tokens", unit="EUR", level=0.4)))
    assert view.columns == ("Cost",)
    assert view.rows[0].cells[0].note == "per million tokens"


def test_cases_held_back_by_something_else_come_first_then_what_moved_most() -> None:
    names = [row.case.shown.partition("[")[0] for row in suite_of(efficient.efficient()).rows]
    assert names == ["gemm", "attention", "layer_norm"]


def test_reason_for_missing_peaks_is_said() -> None:
    result = told(
        results.measured("a", 0.0, metric="energy_per_iter", unit="J"), hint='no peak figures for "x"'
    )
    assert 'No peaks of this device: no peak figures for "x".' in text_of(result)


def test_what_dcgm_told_is_listed_as_ranges_over_devices() -> None:
    result = efficient.efficient()
    told = suite_of(result).activity
    assert told == (
        ("Multiprocessors active", "91.0 %"),
        ("Matrix units active", "44.0 %"),
        ("Sent over PCIe", "210 MB/s"),
    )
    (suite,) = result.suites
    assert suite.efficiency is not None
    second = replace(suite.efficiency.activity[1], device="GPU-2", value=0.52)
    more = replace(suite.efficiency, activity=(*suite.efficiency.activity, second))
    (view,) = efficiency_views([replace(suite, efficiency=more)])
    assert view.activity[1] == ("Matrix units active", "44.0 % … 52.0 %")


# --- where numbers come from ----------------------------------------------------------------------------------


def test_fold_explains_each_number_with_formula_inputs_and_sources(gemm: EfficiencyRow) -> None:
    assert [(one.title, one.values) for one in gemm.explained] == [
        ("Model FLOP utilisation", "71.7 → 62.1 %"),
        ("Bandwidth utilisation", "7.8 → 6.7 %"),
        ("Energy per iteration", "1.050 → 1.220 J"),
        ("Cost per sample", "1.675e−8 → 1.935e−8 EUR"),
    ]
    made = gemm.explained[0].provenance
    assert made.formula == "model FLOP / (time · devices · peak)"
    assert made.steps == (
        ("base", "1.10 TFLOP / (1.55 ms · 1 · 989 TFLOP/s) = 71.7 %"),
        ("head", "1.10 TFLOP / (1.79 ms · 1 · 989 TFLOP/s) = 62.1 %"),
    )
    assert [(one.name, one.value) for one in made.inputs] == [
        ("model FLOP", "1.10 TFLOP"),
        ("time", "1.550 → 1.790 ms"),
        ("devices", "1"),
        ("peak", "989 TFLOP/s"),
    ]


def test_details_of_a_gating_metric_explain_it_too() -> None:
    page = text_of(efficient.efficient(activity=False))
    cases = page[: page.index("Efficiency What holds")]
    assert (
        "model FLOP / (time · devices · peak) base 1.10 TFLOP / (1.55 ms · 1 · 989 TFLOP/s) = 71.7 %" in cases
    )
    assert "peak 989 TFLOP/s H100-SXM (1 GPU), https://www.nvidia.com/en-us/data-center/h100/" in cases
    assert "not verified" not in page


def test_peak_that_nobody_compared_is_marked_in_the_fold_and_on_the_picture() -> None:
    unverified = replace(efficient.BF16, is_verified=False)
    page = render_report(efficient.efficient(peak=unverified))
    assert re.search(r"989\xa0?.?TFLOP/s</b> <span class=\"doubt\">not verified</span>", page)
    assert "bf16 989 TFLOP/s, peak not verified" in page


# --- the roofline ---------------------------------------------------------------------------------------------


def test_roofline_has_base_and_head_of_every_case_that_says_its_work() -> None:
    view = suite_of(efficient.efficient())
    assert "Roofline of H100-SXM (1 GPU)" in view.picture
    wide = str(view.picture).partition("</svg>")[0]
    assert (wide.count('<circle class="base"'), wide.count('<rect class="head"')) == (4, 4), (
        "three and the legend"
    )
    assert "709 → 614" in view.key
    assert view.n_undrawn == 0


def test_no_more_cases_are_drawn_than_can_be_told_apart_and_the_others_counted() -> None:
    result = efficient.many(40)
    view = suite_of(result)
    assert str(view.picture).partition("</svg>")[0].count('<rect class="head"') == MOST_DRAWN + 1
    assert view.n_undrawn == 40 - MOST_DRAWN
    assert "28 more cases are not drawn; the JSON document has them." in text_of(result)


def test_without_a_place_nothing_is_drawn() -> None:
    view = suite_of(told(results.measured("a", 0.0, metric="mfu", unit="1", level=0.3)))
    assert (str(view.picture), str(view.key), view.n_undrawn) == ("", "", 0)


# --- the page -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [efficient.efficient, efficient.hostile])
def test_report_is_well_formed_and_refers_to_nothing_outside(make) -> None:
    html = render_report(make())
    page = Outline(html)
    assert page.stack == []
    assert "script" not in {tag for tag, _ in page.tags}
    assert {key for _, attrs in page.tags for key in attrs if key in ("src", "action")} == set()
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert all(
        a.get("aria-hidden") == "true" or a.get("aria-label") or a.get("role") == "img" for a in drawings
    )


def test_report_of_500_cases_with_everything_stays_under_a_megabyte_and_counts_what_it_leaves_out() -> None:
    result = efficient.many(500)
    html = render_report(result)
    assert len(html.encode()) < MEGABYTE
    hidden = suite_of(result).n_hidden
    assert 400 < hidden < 500
    assert (
        f"{hidden} more cases, those that moved least, are in the JSON document only." in Outline(html).text
    )


def test_several_suites_share_the_room_and_are_named() -> None:
    (suite,) = efficient.many(500).suites
    two = results.check(Conclusion.REGRESSED, suite, replace(suite, name="training"))
    first, second = efficiency_views(two.suites)
    assert first.rows
    assert second.rows == ()
    assert second.n_hidden == 500
    html = render_report(two)
    assert len(html.encode()) < MEGABYTE
    assert "training on cpu-xeon" in Outline(html).text


def test_every_class_of_the_section_has_a_style() -> None:
    html = render_report(efficient.efficient())
    section = html[
        html.index('<section id="efficiency">') : html.index("</section>", html.index('id="efficiency"'))
    ]
    used = {name for value in re.findall(r'class="([^"]+)"', section) for name in value.split()}
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    assert [name for name in sorted(used - {"wide"}) if f".{name}" not in styles] == []
