"""What a trend shows beside its points: machines that arrive, the control, void values, lost runs and the budget."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factories.checks import SETTINGS, check_request
from tests.factories.histories import Poster, deliver, sha
from tests.factories.snapshots import Beginnings
from tests.integration.history.conftest import CASE, LISTING, Branch, branch, grow
from tests.integration.series.conftest import grown
from tests.integration.series.test_pages import data_of, look

pytestmark = pytest.mark.postgres

__all__ = ["branch"]

OLD, NEW = {"driver": "550.54", "kernel": "6.8.0"}, {"driver": "560.28", "kernel": "6.8.0"}
LEVEL, USUAL_S = 0.010, 0.020
BUDGET = '[[budget]]\nbenchmark = "res*"\nmetric = "latency_p50"\nmax = "11 ms"\n'


def begin(branch: Branch, commit: int) -> None:
    """Have a commit checked against its child, and the agent take the job."""
    body = check_request(
        settings=SETTINGS.format(devices="cpu-*") + BUDGET,
        base={"sha": sha(commit)},
        head={"sha": sha(commit + 1)},
        source=branch.source,
    )
    headers = {"Authorization": f"Bearer {branch.poster.token}"}
    assert branch.poster.client.post("/api/v1/checks", json=body, headers=headers).status_code == 201
    assert branch.agent.claim() is not None


def measure(branch: Branch, commit: int, *, slower: float = 1.0, void: str = "", fails: bool = False) -> None:
    """Measure a commit as the base of a check, one block of two pairs, the second of which may be void."""
    begin(branch, commit)
    branch.agent.prepare([LISTING], [LISTING])

    def latency(arm: str, pair: int) -> float | None:
        return None if fails and arm == "base" else LEVEL * slower * (1 + 0.001 * pair)

    def told(arm: str, pair: int) -> dict[str, Any]:
        return {"void": True, "void_reason": void} if void and pair == 1 else {}

    branch.agent.block(CASE, latency, told=told)
    assert branch.agent.finish().status_code == 200
    deliver(branch.poster.service)


@pytest.fixture
def marked(branch: Branch, beginnings: Beginnings) -> Branch:
    """Eight commits: from the fifth on another machine with a slower control; one void pair, two lost runs."""
    return grow(beginnings, branch, mark)


def mark(branch: Branch) -> None:
    agent = branch.agent
    for commit in range(4):
        agent.machine, agent.start = OLD, {"triad": USUAL_S}
        measure(branch, commit, void="foreign_process: python" if commit == 2 else "")
    for commit in range(4, 8):
        agent.machine, agent.start = NEW, {"triad": USUAL_S * 1.05}
        measure(branch, commit, slower=1.05, fails=commit == 6)
    begin(branch, 8)
    assert agent.finish("infra_failed", reason="disk_full", retryable=False).status_code == 200
    deliver(branch.poster.service)
    branch.poster.series = branch.poster.get("series", project="acme/vision")["series"][0]["id"]


def trend(poster: Poster, **query: Any) -> dict[str, Any]:
    return poster.get(f"series/{poster.series}/trend", **query)


def test_trend_tells_what_could_explain_it(marked: Branch) -> None:
    found = trend(marked.poster)
    assert found["points"]["commit"] == [sha(commit) for commit in (0, 1, 2, 3, 4, 5, 7)]
    (epoch,) = found["epochs"]
    assert (found["machines"], epoch["row"], epoch["commit"], epoch["returned"]) == (2, 4, sha(4), False)
    assert epoch["changes"] == [{"name": "driver", "before": "550.54", "after": "560.28"}]
    assert found["control"]["row"] == list(range(7))
    assert found["control"]["deviation"] == pytest.approx([0.0] * 4 + [0.05] * 3)
    assert found["void"] == [{"row": 2, "n_void": 1, "n_values": 2, "reasons": ["foreign_process"]}]
    fails, full = found["failed"]
    assert (fails["row"], fails["commit"], fails["verdict"]) == (6, sha(6), "base_fails")
    assert (full["row"], full["commit"], full["verdict"], full["reason"]) == (7, sha(8), None, "disk_full")
    assert found["budget"] == {"benchmark": "res*", "max": 0.011, "min": None}


def test_part_of_a_trend_has_the_control_and_the_void_values_of_its_points(marked: Branch) -> None:
    part = trend(marked.poster, first=3, last=5)
    assert (part["void"], part["control"]["row"]) == ([], [3, 4, 5])
    assert [epoch["row"] for epoch in part["epochs"]] == [4]
    assert len(part["failed"]) == 2
    few = trend(marked.poster, columns=1)
    assert few["control"] == {"row": [6], "deviation": [0.0], "thinned": True}


def test_a_commit_that_was_measured_after_all_is_not_lost(marked: Branch) -> None:
    measure(marked, 6, slower=1.05)
    assert [run["commit"] for run in trend(marked.poster)["failed"]] == [sha(8)]


def test_a_control_beside_which_something_else_ran_says_nothing(marked: Branch) -> None:
    marked.agent.disturbed = "host_busy"
    measure(marked, 9)
    found = trend(marked.poster)
    assert (found["n"], found["control"]["row"]) == (8, list(range(7)))


def test_settings_that_nobody_merged_set_no_budget(branch: Branch) -> None:
    measure(branch, 0)
    branch.poster.series = 1
    assert trend(branch.poster)["budget"] is None


def test_page_shows_the_marks_without_a_script_and_in_lists(marked: Branch) -> None:
    html = look(marked.poster, f"/series/{marked.poster.series}")
    picture = html.partition('<svg class="trend"')[2].partition("</svg>")[0]
    for shape in ("rule", "void", "budget", "control"):
        assert f'<path class="{shape}"' in picture
    assert "<title>Another machine: driver 550.54 → 560.28</title>" in html
    assert "budget: at most 11 ms" in html
    assert "Where the machine changed" in html
    assert "Runs without a point" in html
    assert "the worker&#39;s disk was full" in html.lower()
    assert "1 of 2 void" in html
    words = data_of(html)["words"]
    assert words["epochs"] == ["Another machine: driver 550.54 → 560.28"]
    assert words["reasons"] == {"foreign_process": "another process was on the device"}


def test_a_series_without_any_of_it_looks_as_before(poster: Poster) -> None:
    grown(poster, [10.0, 10.1, 10.2])
    found = trend(poster)
    assert (found["epochs"], found["void"], found["failed"], found["budget"]) == ([], [], [], None)
    assert found["control"] == {"row": [], "deviation": [], "thinned": False}
    html = look(poster, f"/series/{poster.series}")
    assert 'class="beside-key' not in html
    assert "Where the machine changed" not in html


def test_posted_results_tell_of_their_machine_too(poster: Poster) -> None:
    for commit, runner in enumerate(("a", "a", "b", "a", "b")):
        poster.tell(10.0, commit, environment={"runner": runner, "python": "3.12"})
    found = trend(poster)
    (epoch,) = found["epochs"]
    assert (found["machines"], epoch["row"]) == (2, 2)
    assert epoch["changes"] == [{"name": "runner", "before": "a", "after": "b"}]
    poster.tell(10.0, 5, environment={})
    assert len(trend(poster)["epochs"]) == 1, "one that tells nothing is no machine"


def test_names_of_machines_are_text(poster: Poster) -> None:
    for commit, runner in enumerate(("a", "</title><script>alert(1)</script>")):
        poster.tell(10.0, commit, environment={"runner": runner})
    assert "<script>alert" not in look(poster, f"/series/{poster.series}")
