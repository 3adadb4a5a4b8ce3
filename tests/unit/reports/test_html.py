import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from app.domain.results import Note, VoidPair
from app.domain.verdicts import Conclusion, Verdict
from app.reports.html import render_report
from app.reports.troubles import GROUP_LIMIT
from tests.factories import results
from tests.factories.results import check, measured, suite, untold

MEGABYTE = 1_000_000


class Outline(HTMLParser):
    """Open tags with their attributes, visible text, and whether tags nest."""

    VOID = frozenset({"meta", "link", "input", "br", "path", "use", "circle"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.stack: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.stack):
            self.words.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def reports() -> dict[str, str]:
    return {kind: render_report(make()) for kind, make in results.EVERY.items()}


@pytest.mark.parametrize("kind", results.EVERY)
def test_every_report_is_well_formed_and_names_its_check(reports, kind: str) -> None:
    page = Outline(reports[kind])
    assert page.stack == []
    assert page.count("h1") == 1
    assert "check 12" in page.text


@pytest.mark.parametrize("kind", results.EVERY)
def test_no_report_refers_to_anything_outside_itself(reports, kind: str) -> None:
    page = Outline(reports[kind])
    references = [attrs[key] for _, attrs in page.tags for key in ("src", "href", "action") if key in attrs]
    assert all(reference.startswith(("#", "data:image/svg+xml;base64,")) for reference in references)
    styles = "".join(re.findall(r"<style>(.*?)</style>", reports[kind], re.DOTALL))
    assert "url(" not in re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
    assert "@import" not in re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)


@pytest.mark.parametrize("kind", results.EVERY)
def test_every_icon_that_is_used_is_drawn(reports, kind: str) -> None:
    page = Outline(reports[kind])
    used = {attrs["href"] for tag, attrs in page.tags if tag == "use"}
    drawn = {f"#{attrs['id']}" for tag, attrs in page.tags if tag == "symbol"}
    assert used <= drawn


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("passed", ["Nothing regressed.", "All 48 results exclude a change for the worse of 2 % or more."]),
        ("improved", ["Nothing regressed, 2 results improved.", "Best:", "10 of 12 results exclude"]),
        (
            "regressed",
            ["2 of 7 results regressed.", "Worst:", "resize[batch=8]", "New and removed", "flash_attention"],
        ),
        (
            "inconclusive",
            ["4 of 6 results stayed open.", "could hide anything", "could hide up to 9.8 %", "unbounded"],
        ),
        (
            "no_capacity",
            [
                "This change could not be measured.",
                "No worker can take it: no live worker has a device of class nvidia",
                "nvidia-h100-sxm5-80gb",
            ],
        ),
        (
            "failing",
            ["2 results fail on head.", "End of its log", "TypeError: resize() missing 1 required", "legacy"],
        ),
        (
            "running",
            [
                "Still measuring: 3 of 5 results settled.",
                "12 pairs so far",
                "inference on jetson-orin-agx-64gb: queued",
            ],
        ),
        ("queued", ["Waiting for a worker."]),
        ("empty", ["This change could not be measured.", "No suite of ratchet.toml runs for this change."]),
    ],
)
def test_report_says_the_verdict_and_what_it_rests_on(reports, kind: str, said: list[str]) -> None:
    text = re.sub("[\u2068\u2069]", "", Outline(reports[kind]).text)
    assert [words for words in said if words not in text] == []


def test_report_of_which_a_part_could_not_be_compared_says_how_much_and_why() -> None:
    failing = untold("legacy", Verdict.NOT_MEASURED, reason="both_fail: exit status 3", gating=True)
    steady = results.passed().suites[0].cases[0]
    idle = results.no_capacity().suites[0]
    html = render_report(check(Conclusion.NOT_MEASURED, suite(failing, steady), idle))
    text = re.sub("[\u2068\u2069]", "", Outline(html).text)
    assert "2 of 3 results could not be compared." in text
    assert "it fails on base and on head: exit status 3. What could be compared stands below" in text
    assert "2 not measured" in text
    assert f"{idle.device_class} ({idle.device_class})" not in text
    assert "could not be measured" not in text


def test_pairs_that_a_busy_processor_disturbed_are_void_in_part() -> None:
    its = results.passed().suites[0]
    busy = VoidPair(3, "host_cpu: 1.4 of them, where 0.5 may be", "base")
    text = Outline(render_report(check(None, replace(its, void_pairs=[busy])))).text
    assert "pair 4 (during base), in part: other programs kept the host's processors busy" in text


def test_report_names_what_ran_where_and_how_to_repeat_it(reports) -> None:
    text = Outline(reports["regressed"]).text
    for words in (
        "4f1d2c9ab0",
        "Normalise images before batching",
        "8 min 12 s of 20 min",
        "Software that differs between the arms",
        "Intel Xeon Platinum 8488C",
        "pair 4 (during base): another process was on the device",
        "pairs 6 (during head) and 10 (during base)",
        "ratchet check --repo . --base 4f1d2c9ab07e",
        "tau0 = 0.5 %",
        "M = 7",
        "For every result: control_unavailable",
        "benchmark_changed: the benchmark file differs",
        "While it ran: the device ran at its power limit",
    ):
        assert words in text


def test_software_that_differs_comes_before_the_machine(reports) -> None:
    text = Outline(reports["regressed"]).text
    assert text.index("pillow-simd") < text.index("clock policy")


def test_exploratory_metrics_come_after_the_gating_ones(reports) -> None:
    text = Outline(reports["regressed"]).text
    assert text.index("Gating results") < text.index("Exploratory metrics") < text.index("latency_p99")


def test_names_cannot_break_out_of_the_page(reports) -> None:
    page = Outline(reports["hostile"])
    assert not {"img", "script"} & {tag for tag, _ in page.tags}
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on")]
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in reports["hostile"]
    assert "\u202e" not in reports["hostile"]


def test_names_of_either_direction_are_set_apart(reports) -> None:
    assert re.search(r"<bdi[^>]*>مقياس", reports["hostile"])


def test_pictures_are_labelled_and_tables_have_headers(reports) -> None:
    page = Outline(reports["regressed"])
    plots = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("class") == "plot"]
    assert len(plots) == 12
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in plots)
    assert {attrs.get("scope") for tag, attrs in page.tags if tag == "th"} == {"col", "row"}


@pytest.mark.parametrize("kind", results.EVERY)
def test_every_other_drawing_is_hidden_from_screen_readers(reports, kind: str) -> None:
    drawings = [attrs for tag, attrs in Outline(reports[kind]).tags if tag == "svg"]
    assert all(attrs.get("aria-hidden") == "true" or attrs.get("aria-label") for attrs in drawings)


def test_script_comes_only_with_many_rows_and_the_filter_is_hidden_without_it(reports) -> None:
    assert "<script>" not in reports["regressed"]
    assert "<script>" in reports["passed"]
    assert '<div class="filter" hidden>' in reports["passed"]


def test_report_of_500_cases_is_small_and_says_which_pictures_it_leaves_out() -> None:
    html = render_report(results.large(500))
    text = Outline(html).text
    assert len(html.encode()) < MEGABYTE
    assert html.count('class="bar"') == 500
    assert "pictures are left out for 440 of 500 results" in text
    assert "496 more without regression" in text


def test_report_stays_under_a_megabyte_whatever_the_check() -> None:
    html = render_report(results.worst_case(500))
    assert len(html.encode()) < MEGABYTE
    assert html.count("<pre") == 10
    assert "and 390 more, in the JSON document" in Outline(html).text


def test_failures_of_many_kinds_are_told_together_beyond_a_limit() -> None:
    broken = [untold(f"case_{n}", Verdict.HEAD_FAILS, reason=f"exit status {n}") for n in range(300)]
    html = render_report(check(Conclusion.REGRESSED, suite(*broken)))
    assert html.count('class="card trouble') == GROUP_LIMIT + 1
    assert "case_0/" in html
    assert "and 160 more, in the JSON document" in Outline(html).text


def test_rows_beyond_the_room_are_counted_and_the_loud_ones_kept() -> None:
    quiet = [
        untold("速" * 100 + str(n), Verdict.NO_REGRESSION, change=0.001, params={"n": n}) for n in range(1500)
    ]
    html = render_report(check(Conclusion.REGRESSED, suite(*quiet, measured("slower", 0.08, pairs=8))))
    text = Outline(html).text
    assert len(html.encode()) < MEGABYTE
    assert "more results, those with the smallest effects, are in the JSON document only" in text
    assert "slower" in text


def test_results_of_several_jobs_say_where_they_ran() -> None:
    one = suite(measured("bert", 0.0), device_class="cpu-a")
    two = suite(measured("bert", 0.0), device_class="cpu-b")
    text = Outline(render_report(check(Conclusion.PASSED, one, two))).text
    assert "inference on cpu-a" in text
    assert "inference on cpu-b" in text


def test_a_metric_with_limits_of_its_own_says_so() -> None:
    case = measured("bert", 0.0, tolerance=0.05)
    text = Outline(render_report(check(Conclusion.PASSED, suite(case)))).text
    assert "minimum effect 0.5 %, tolerance 5 %" in text


def test_numbers_beside_a_change_are_those_that_it_is_the_ratio_of() -> None:
    case = measured("serve", 0.01, params={"clients": 8}, noise=0.05, pairs=16, m=6)
    assert (case.head_median > case.base_median) != (case.change > 0)
    page = Outline(render_report(check(Conclusion.INCONCLUSIVE, suite(case))))
    base, head = map(float, re.search(r"([\d.]+) → ([\d.]+) ms", page.text).groups())
    assert (head > base) == (case.change > 0)
    assert "Geometric means base" in page.text
    assert "Medians base" in page.text


def test_result_without_regression_says_how_bad_it_can_be() -> None:
    case = measured("vit", 0.0, noise=0.001, pairs=4, m=40)
    page = Outline(render_report(check(Conclusion.PASSED, suite(case))))
    bound = re.search(r"≤ (\+[\d.]+ %)", page.text).group(1)
    assert f"No worse than {bound} at 95 %" in page.text
    assert "unbounded at 99.975 %" in page.text


def test_note_about_the_settings_is_told_under_the_verdict() -> None:
    note = Note("budget_unmatched", '[[budget]] on "<p99>" limits nothing')
    page = Outline(render_report(replace(results.passed(), notes=(note,))))
    assert f"{note.flag}: {note.message}" in page.text
