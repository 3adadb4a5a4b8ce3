"""The list of checks, one check, and its report as a file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from app.domain.results import CheckResult
from app.services.access import Scope, issue_token
from app.services.render_report import store_report
from app.store.repositories import checks as check_rows
from app.store.repositories import projects
from app.store.tables import Alert, Check, Repository
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import Page, browser, counted, shown

pytestmark = pytest.mark.postgres


def store(service: Service, *wanted: CheckResult, **fields: timedelta) -> list[int]:
    with service.database.session() as session:
        return [stored.check(session, result, **fields).id for result in wanted]


def open_alerts(service: Service, check_id: int, n: int) -> None:
    """Open alerts that came with a check's commits."""
    with service.database.session() as session:
        check = session.get_one(Check, check_id)
        commits = {"previous_commit_id": check.base_commit_id, "commit_id": check.head_commit_id}
        session.add_all(
            Alert(project_id=check.project_id, branch="main", state="new", **commits) for _ in range(n)
        )


def small(conclusion: bool = True) -> CheckResult:
    """A check with one case, quick to store."""
    case = results.untold("resize", None, params={"batch": 8})
    if conclusion:
        return results.no_capacity()
    return results.check(None, results.suite(case, state="running", finished_at=None, phase="measuring"))


# --- the list ---


def test_only_who_may_have_something_measured_is_led_there_from_an_empty_list(service: Service) -> None:
    with service.database.session() as session:
        its = projects.project(session, "acme/vision")
        session.add(
            Repository(external_id=5, slug="acme/vision", branch="main", project_id=its.id, is_connected=True)
        )
        asks, reads = (
            issue_token(session, str(scope), [scope]) for scope in (Scope.JOBS_CREATE, Scope.RESULTS_READ)
        )
    told = "Have something measured"
    assert told in shown(browser(service, asks), "/?project=acme/vision").text
    assert told not in shown(browser(service, reads), "/?project=acme/vision").text


def test_empty_list_says_what_to_run(reader: TestClient) -> None:
    page = shown(reader, "/")
    assert "No checks yet" in page.text
    assert "ratchet check --repo . --base main --head HEAD" in page.text
    assert page.refresh_s is None


def test_list_shows_each_check_with_verdict_sentence_commits_and_times(
    reader: TestClient, service: Service
) -> None:
    [check] = store(service, results.regressed(), ago=timedelta(hours=3))
    page = shown(reader, "/")
    assert "regressed 2 regressed of 7 · worst resize[batch=8]/latency_p50 +36.3" in page.text
    assert "acme/vision · 4f1d2c9a → b83e07d1 Normalise images before batching" in page.text
    assert "3 hours ago took 9 min" in page.text
    assert f"/checks/{check}" in page.links


def test_list_has_the_newest_first(reader: TestClient, service: Service) -> None:
    first, second = store(service, results.passed(), results.improved())
    links = [link for link in shown(reader, "/").links if link.startswith("/checks/")]
    assert links == [f"/checks/{second}", f"/checks/{first}"]


def test_conclusion_is_said_once_in_a_line(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    assert "passed 48 of 48 show no regression" in shown(reader, "/").text


def test_exact_time_stands_behind_the_relative_one(reader: TestClient, service: Service) -> None:
    [check] = store(service, results.passed(), ago=timedelta(minutes=12))
    with service.database.session() as session:
        asked = session.get_one(Check, check).created_at
    times = [attributes for tag, attributes in shown(reader, "/").elements if tag == "time"]
    assert times == [{"datetime": asked.isoformat(), "title": asked.strftime("%Y-%m-%d %H:%M:%S UTC")}]


def test_running_check_shows_how_far_it_is_and_the_list_renews_itself(
    reader: TestClient, service: Service
) -> None:
    store(service, results.running())
    page = shown(reader, "/")
    assert "in progress Measuring: 3 of 5 results settled, 12 pairs so far" in page.text
    assert [a["value"] + "/" + a["max"] for tag, a in page.elements if tag == "progress"] == ["3/5"]
    assert page.refresh_s == 5


def test_queued_check_names_what_it_waits_for(reader: TestClient, service: Service) -> None:
    store(service, results.queued())
    assert "Waiting for a worker with cpu-xeon-platinum-8488c-8t" in shown(reader, "/").text


def test_renewal_can_be_paused(reader: TestClient, service: Service) -> None:
    [check] = store(service, results.running())
    for path in ("/", f"/checks/{check}"):
        pause = next(link for link in shown(reader, path).links if "live=0" in link)
        assert shown(reader, pause).refresh_s is None
        assert "Updates are paused" in shown(reader, pause).text


def test_list_of_finished_checks_stands_still(reader: TestClient, service: Service) -> None:
    store(service, results.passed())
    assert shown(reader, "/").refresh_s is None


def test_project_filter_offers_every_project_and_shows_one(reader: TestClient, service: Service) -> None:
    store(service, results.passed(), replace(results.improved(), project="acme/language & more"))
    everything = shown(reader, "/")
    assert "/?project=acme%2Flanguage+%26+more" in everything.links
    one = shown(reader, "/?project=acme/language%20%26%20more")
    assert "2 improved" in one.text
    assert "48 of 48" not in one.text


def test_project_that_is_not_there_is_not_found(reader: TestClient) -> None:
    answer = reader.get("/?project=acme/unheard-of")
    assert answer.status_code == 404
    assert "no project 'acme/unheard-of'" in Page(answer.text).text


def test_project_without_checks_is_told_how_to_get_one(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        projects.project(session, "acme/new")
    page = shown(reader, "/?project=acme/new")
    assert "No checks of acme/new yet" in page.text
    assert "ratchet check --repo . --base main --head HEAD" in page.text
    assert "/series?project=acme/new" in page.links


def test_project_filter_shows_some_projects_the_chosen_among_them_and_folds_the_rest(
    reader: TestClient, service: Service
) -> None:
    store(service, results.passed())
    with service.database.session() as session:
        for n in range(20):
            projects.project(session, f"acme/p{n:02}")
    page = shown(reader, "/?project=acme/p15")
    assert "12 more" in page.text
    before_the_fold = page.html.partition("<summary>12 more")[0]
    assert "/?project=acme%2Fp07" in before_the_fold
    assert "/?project=acme%2Fp08" not in before_the_fold
    assert '<a href="/?project=acme%2Fp15" aria-current="true">' in before_the_fold
    assert page.links.count("/?project=acme%2Fp15") == 1


def test_home_leads_to_the_alerts_that_it_does_not_show(reader: TestClient, service: Service) -> None:
    [check] = store(service, results.passed())
    open_alerts(service, check, 5)
    page = shown(reader, "/")
    assert "5 open alerts" in page.text
    assert "All 5 open alerts" in page.text
    assert page.links.count("/alerts") == 3, "of the navigation, of the heading and of the rest"


def test_long_list_goes_on_page_by_page_without_gap_or_overlap(reader: TestClient, service: Service) -> None:
    wanted = store(service, *[results.no_capacity()] * 53)
    first = shown(reader, "/")
    older = next(link for link in first.links if "before=" in link)
    second = shown(reader, older)
    seen = [
        check_number(link) for page in (first, second) for link in page.links if link.startswith("/checks/")
    ]
    assert seen == wanted[::-1]
    assert not any("before=" in link for link in second.links)


def check_number(link: str) -> int:
    return int(link.removeprefix("/checks/"))


@pytest.mark.parametrize("path", ["/", "/runs", "/workers"])
def test_lists_cost_the_same_statements_however_long_they_are(
    reader: TestClient, service: Service, path: str
) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), "cpu-xeon-platinum-8488c-8t")
    store(service, small(False), small())
    with counted(service.database.engine) as few:
        shown(reader, path)
    store(service, *[small(False), small()] * 15)
    with counted(service.database.engine) as many:
        shown(reader, path)
    assert len(few) == len(many) <= 13, "one of them is whether the service observes"


def test_broken_page_number_is_a_mistake_in_the_address(reader: TestClient) -> None:
    answer = reader.get("/?before=yesterday")
    assert answer.status_code == 422
    assert "The parameter “before” must be " in Page(answer.text).text


# --- one check ---


@pytest.mark.parametrize("kind", sorted(results.EVERY))
def test_every_kind_of_check_has_a_page(reader: TestClient, service: Service, kind: str) -> None:
    [check] = store(service, results.EVERY[kind]())
    page = shown(reader, f"/checks/{check}")
    assert page.title.endswith(" · Ratchet")
    assert {
        f"/checks/{check}/report",
        f"/checks/{check}/report?download=1",
        f"/api/v1/checks/{check}",
    } <= set(page.links)


def test_check_page_begins_with_the_verdict_and_shows_what_the_report_shows(
    reader: TestClient, service: Service
) -> None:
    [check] = store(service, results.regressed())
    page = shown(reader, f"/checks/{check}")
    report = Page(reader.get(f"/checks/{check}/report").text)
    start = report.text.index("2 of 7 results regressed")
    body = report.text[start : report.text.index("Environment", start)]
    assert body in page.text.replace(jobs_of(page), "")
    assert page.text.index("2 of 7 results regressed") < page.text.index("Gating results")


def jobs_of(page: Page) -> str:
    """The words of the section that the page has and the report does not."""
    start = page.text.index("Jobs ✓" if "Jobs ✓" in page.text else "Jobs succeeded")
    return page.text[start : page.text.index("Environment", start)]


def test_check_page_leads_to_its_runs(reader: TestClient, service: Service) -> None:
    [check] = store(service, results.passed())
    assert "/runs/1" in shown(reader, f"/checks/{check}").links


def test_running_check_renews_itself_until_it_is_complete(reader: TestClient, service: Service) -> None:
    running, complete = store(service, results.running(), results.passed())
    page = shown(reader, f"/checks/{running}")
    assert page.refresh_s == 2
    assert "Progress" in page.text
    assert "3 of 5 results settled" in page.text
    assert "measuring" in page.text
    assert shown(reader, f"/checks/{complete}").refresh_s is None


def test_filter_of_a_long_report_comes_as_a_file(reader: TestClient, service: Service) -> None:
    long, short = store(service, results.large(80), results.improved())
    *ours, its = scripts_of(reader, long)
    assert reader.get(its).headers["content-type"].startswith("text/javascript")
    assert scripts_of(reader, short) == ours, "what all pages have: their keys, and series as one types"


def scripts_of(reader: TestClient, check: int) -> list[str]:
    return [a["src"] for tag, a in shown(reader, f"/checks/{check}").elements if tag == "script"]


def test_unknown_check_is_not_found(reader: TestClient) -> None:
    for path in ("/checks/999", "/checks/999/report", "/checks/9223372036854775807"):
        answer = reader.get(path)
        assert answer.status_code == 404
        assert "There is no check" in Page(answer.text).text


@pytest.mark.parametrize("number", ["0", "-1", "abc", "9223372036854775808", "1e3"])
def test_number_that_is_none_is_not_found(reader: TestClient, number: str) -> None:
    assert reader.get(f"/checks/{number}").status_code == 404


def test_token_of_one_project_sees_only_its_checks(service: Service) -> None:
    own, foreign = store(service, results.improved(), replace(results.passed(), project="acme/secret"))
    with service.database.session() as session:
        project = projects.find_project(session, "acme/vision")
        assert project
        token = issue_token(session, "vision", [Scope.RESULTS_READ], project_id=project.id)
    client = browser(service, token)
    assert client.get(f"/checks/{own}").status_code == 200
    for path in (f"/checks/{foreign}", f"/checks/{foreign}/report", "/runs/2"):
        assert client.get(path).status_code == 404
    assert "secret" not in shown(client, "/").html
    assert "secret" not in shown(client, "/runs").html
    unknown, hidden = (client.get(f"/?project={name}") for name in ("acme/nosuch", "acme/secret"))
    assert unknown.status_code == hidden.status_code == 404
    assert Page(unknown.text).text.replace("nosuch", "secret") == Page(hidden.text).text


# --- the report as a file ---


def test_report_is_shown_and_downloaded(reader: TestClient, service: Service) -> None:
    [check] = store(service, results.regressed())
    inline = reader.get(f"/checks/{check}/report")
    assert "content-disposition" not in inline.headers
    kept = reader.get(f"/checks/{check}/report?download=1")
    assert kept.headers["content-disposition"] == f'attachment; filename="ratchet-check-{check}.html"'
    assert kept.text == inline.text


def test_stored_report_is_served_as_it_was_rendered(reader: TestClient, service: Service) -> None:
    [check] = store(service, results.passed())
    with service.database.session() as session:
        check_rows.put_report(session, check, gzip.compress(b"<!DOCTYPE html>as it was"))
    assert reader.get(f"/checks/{check}/report").text == "<!DOCTYPE html>as it was"


def test_policy_of_a_report_lets_in_its_own_filter_and_no_other_script(
    reader: TestClient, service: Service
) -> None:
    [check] = store(service, results.large(80))
    with service.database.session() as session:
        store_report(session, check)
    answer = reader.get(f"/checks/{check}/report")
    policy = directives(answer.headers["content-security-policy"])
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == [f"'sha256-{digest}'" for digest in digests_of_scripts(answer.text)]
    assert policy["frame-ancestors"] == ["'none'"]


def directives(policy: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in (part.split() for part in policy.split(";"))}


def digests_of_scripts(html: str) -> Iterable[str]:
    for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL):
        yield base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
