"""Each class of data goes when its time is over, and stays while something needs it."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from sqlalchemy import text

from app.services.relay_outbox import find_lost_hints
from app.services.render_report import report_html, store_report
from app.store.repositories import access, machines
from tests.factories import results
from tests.factories.histories import deliver
from tests.integration.retention.conftest import Years

pytestmark = pytest.mark.postgres

OLD = 401


def kept_values(years: Years) -> list[str]:
    """The commits whose values are still there, by their last digit."""
    with years.service.database.session() as session:
        rows = session.scalars(
            text(
                "select right(sha, 1) from result join sample on result_id = result.id"
                " join commit on commit.id = commit_id order by result.id"
            )
        )
        return list(rows)


def grow(years: Years, n: int, first: int = 0) -> None:
    years.poster.tell_all([10.0 + i / 1_000 for i in range(n)], first=first)


def test_values_go_after_their_time_and_younger_ones_stay(years: Years) -> None:
    grow(years, 3)
    years.go_by(OLD)
    grow(years, 2, first=3)
    assert years.prune()["values"] == 3
    assert kept_values(years) == ["4", "5"]
    assert years.count("result") == 5


def test_values_at_the_end_of_a_history_stay_as_the_next_is_held_against_them(years: Years) -> None:
    grow(years, 3)
    years.go_by(OLD)
    years.prune()
    assert kept_values(years) == ["3"]


def test_values_that_nobody_examined_stay_until_somebody_has(years: Years) -> None:
    for commit in range(3):
        years.poster.post(10.0, commit)
    years.go_by(OLD)
    assert "values" not in years.prune()
    deliver(years.service)
    assert years.prune()["values"] == 2


@pytest.mark.parametrize(("state", "kept"), [("confirmed", ["3", "4", "6"]), ("withdrawn", ["6"])])
def test_values_of_the_commits_of_a_change_stay_while_it_stands(
    years: Years, state: str, kept: list[str]
) -> None:
    grow(years, 6)
    years.do(
        "insert into change_point (project_id, series_id, branch, commit_id, previous_commit_id, end_commit_id,"
        " result_id, index, end_index, kind, state) values (1, 1, 'main', 4, 3, 4, 4, 3, 3, 'step', 'suspected')"
    )
    years.do("update change_point set state = :state", state=state)
    years.go_by(OLD)
    years.prune()
    assert kept_values(years) == kept


def test_raw_values_of_a_run_go_and_what_they_came_to_stays(years: Years) -> None:
    years.check(results.regressed())
    years.do("insert into telemetry (invocation_id, ticks) values (1, 'x')")
    years.go_by(OLD)
    n = years.count("timing") + years.count("estimate") + 1
    young = years.check(results.passed())
    assert years.prune()["timings"] == n
    assert years.count("timing") == years.ask(
        "select count(*) from timing join invocation on invocation.id = invocation_id"
        ' join run on run.id = run_id join request_job using (job_id) join "check" using (request_id)'
        ' where "check".id = :id',
        id=young,
    )
    assert years.count("telemetry") == 0
    assert years.ask("select is_bare and summary is not null from run where id = 1")
    assert years.ask("select count(*) from invocation where run_id = 1") > 0


def conclude(years: Years, check: int, **told: Any) -> None:
    years.do('update "check" set state = :state where id = :id', id=check, **told)


def test_raw_values_of_a_check_that_is_waited_for_stay(years: Years) -> None:
    check = years.check(results.regressed())
    conclude(years, check, state="running")
    years.go_by(OLD)
    assert "timings" not in years.prune()
    conclude(years, check, state="complete")
    assert years.prune()["timings"] > 0


def test_raw_values_of_a_running_job_stay(years: Years) -> None:
    years.check(results.running())
    years.go_by(OLD)
    assert not years.prune().keys() & {"timings", "logs"}


def test_raw_values_that_an_open_alert_tells_of_stay(years: Years) -> None:
    check = years.check(results.regressed())
    years.do(
        "insert into alert (project_id, branch, previous_commit_id, commit_id, state) values (1, 'main', 1, 2, 'new')"
    )
    years.do("insert into alert_check (check_id, alert_id) values (:id, 1)", id=check)
    years.go_by(OLD)
    assert not years.prune().keys() & {"timings", "logs"}
    years.do("update alert set state = 'fixed'")
    assert {"timings", "logs"} <= years.prune().keys()


def test_raw_values_of_a_device_in_quarantine_stay(years: Years) -> None:
    years.check(results.regressed())
    years.do("alter table job disable trigger job_transition")
    years.do("update job set device_id = 1")
    years.do("alter table job enable trigger job_transition")
    years.do("update device set health = 'quarantined'")
    years.go_by(OLD)
    assert not years.prune().keys() & {"timings", "logs"}
    years.do("update device set health = 'good'")
    assert {"timings", "logs"} <= years.prune().keys()


def test_raw_values_that_are_to_confirm_a_suspicion_stay(years: Years) -> None:
    years.check(results.regressed())
    grow(years, 3)
    years.do(
        "insert into change_point (project_id, series_id, branch, commit_id, previous_commit_id, end_commit_id,"
        " result_id, index, end_index, kind, state, request_id)"
        " select project_id, id, 'main', 1, 1, 1, 1, 1, 1, 'step', 'suspected', 1 from series limit 1"
    )
    years.go_by(OLD)
    assert "timings" not in years.prune()
    years.do("update change_point set state = 'withdrawn'")
    assert "timings" in years.prune()


def logs(years: Years) -> list[Any]:
    queries = (
        "select max(log_tail) from invocation",
        "select max(log_tail) from timing",
        "select max(log_tail) from attempt",
        "select max(log_tail) from job",
        "select max(log_tail) from verdict",
        "select arms #>> '{head,log_tail}' from run where id = 1",
    )
    return [years.ask(query) or "" for query in queries]


def test_logs_are_emptied_and_nothing_else_of_what_is_settled_changes(years: Years) -> None:
    years.check(results.failing())
    years.do("update invocation set log_tail = 'end of a log'")
    years.do("update timing set log_tail = 'end of a log'")
    years.do("update attempt set log_tail = 'end of a log'")
    years.do("update run set arms = jsonb_set(arms, '{head,log_tail}', '\"end of a log\"')")
    for table, trigger in (("job", "job_transition"), ("verdict", "verdict_stays")):
        years.do(f"alter table {table} disable trigger {trigger}")
        years.do(f"update {table} set log_tail = 'end of a log'")
        years.do(f"alter table {table} enable trigger {trigger}")
    years.go_by(89)
    assert "logs" not in years.prune()
    assert logs(years) == ["end of a log"] * 6
    verdicts = years.ask("select json_agg(verdict || coalesce(reason, '') order by id) from verdict")
    years.go_by(2)
    assert years.prune()["logs"] == 1
    assert logs(years) == [""] * 6
    assert years.ask("select json_agg(verdict || coalesce(reason, '') order by id) from verdict") == verdicts
    assert "logs" not in years.prune()


def test_reports_go_are_not_made_again_and_are_still_shown(years: Years) -> None:
    check = years.check(results.regressed())
    with years.service.database.session() as session:
        store_report(session, check)
    years.go_by(31)
    assert years.prune()["reports"] == 1
    with years.service.database.session() as session:
        find_lost_hints(session, years.service.settings)
        assert "Gating results" in report_html(session, check)
    assert years.ask("select count(*) from outbox where topic = 'check.render'") == 0


def test_report_that_was_never_made_is_made_while_it_would_be_kept(years: Years) -> None:
    years.check(results.regressed())
    years.go_by(1)
    with years.service.database.session() as session:
        find_lost_hints(session, years.service.settings)
    assert years.ask("select count(*) from outbox where topic = 'check.render'") == 1


def keep_weekly(years: Years, monday: str) -> None:
    years.do(
        "insert into weekly_report (monday, headline, html_gz) values (:monday, 'all is well', :html)",
        monday=monday,
        html=gzip.compress(b"as it was"),
    )


def test_weekly_reports_go_after_three_years_and_the_week_is_still_shown(years: Years) -> None:
    keep_weekly(years, "2026-10-05")
    years.go_by(1_000)
    assert "weekly" not in years.prune()
    keep_weekly(years, "2026-10-12")
    years.go_by(100)
    assert years.prune()["weekly"] == 1
    page = years.poster.client.get(
        "/weekly/2026-W41", headers={"Authorization": f"Bearer {years.poster.token}"}
    )
    assert "as it was" not in page.text
    assert "Efficiency of the week" in page.text
    assert years.ask("select monday::text from weekly_report") == "2026-10-12"


def test_messages_of_github_go_once_they_were_looked_at(years: Years) -> None:
    add = "insert into delivery (guid, event, payload, outcome) values (:guid, 'push', '{}', :outcome)"
    years.do(add, guid="a", outcome="nothing")
    years.do(add, guid="b", outcome=None)
    years.go_by(15)
    years.do(add, guid="c", outcome="nothing")
    assert years.prune() == {"webhooks": 1}
    assert years.ask("select string_agg(guid, '' order by guid) from delivery") == "bc"


def test_what_started_measurements_goes_once_something_came_of_it(years: Years) -> None:
    grow(years, 1)
    years.do("insert into repository (external_id, slug, branch, project_id) values (1, 'a/b', 'main', 1)")
    years.do("insert into schedule (repository_id, name, cron) values (1, 'nightly', '0 0 * * *')")
    for n, outcome, state in ((1, "checked", "destroyed"), (2, None, "open")):
        told = {"n": n, "key": str(n), "outcome": outcome, "state": state}
        years.do(
            "insert into schedule_tick (schedule_id, planned_at, outcome)"
            " values (1, now() + :n * interval '1 day', :outcome)",
            **told,
        )
        years.do(
            "insert into measure_request (key, repository_id, project_id, pull, suites, devices, asked_by, outcome)"
            " values (:key, 1, 1, :n, '{}', '{}', 'ada', :outcome)",
            **told,
        )
        years.do(
            "insert into merge_group (repository_id, head_sha, head_ref, base_sha, base_ref, state)"
            " values (1, :key, 'q', 'b', 'main', :state)",
            **told,
        )
    years.go_by(91)
    years.do("delete from outbox")
    assert years.prune() == {"ticks": 1, "wishes": 1, "groups": 1}
    assert [years.count(table) for table in ("schedule_tick", "measure_request", "merge_group")] == [1, 1, 1]


def test_messages_that_have_left_go_in_whatever_order_they_did(years: Years) -> None:
    add = "insert into outbox (topic, key, payload, sent_at) values ('x', :key, '{}', now() - :days * interval '1 day')"
    for key, days in (("again", 1), ("long ago", 8), ("waits", None)):
        years.do(add, key=key, days=days)
    assert years.prune() == {"sent": 1}
    assert years.ask("select string_agg(key, ' ' order by id) from outbox") == "again waits"


def test_audit_log_loses_its_oldest_but_what_is_known_of_a_quarantine(years: Years) -> None:
    with years.service.database.session() as session:
        for why in ("first", "last"):
            access.audit(session, "service", "device.quarantined", "device/1", why=why)
        access.audit(session, "ada", "token.issued", "token/1")
    n = years.count("audit_log")
    years.go_by(731)
    assert years.prune()["audit"] == n - 1
    with years.service.database.session() as session:
        entry = machines.quarantine_of(session, 1)
        assert entry is not None
        assert entry.detail["why"] == "last"


def test_audit_log_stays_append_only_for_everybody_else(years: Years) -> None:
    with years.service.database.session() as session:
        access.audit(session, "ada", "token.issued", "token/1")
    years.go_by(731)
    with pytest.raises(Exception, match="append-only"):
        years.do("delete from audit_log")
    with pytest.raises(Exception, match="append-only"):
        years.do("update audit_log set actor = 'eve'")


@pytest.mark.parametrize("table", ["job", "verdict"])
def test_what_is_settled_loses_its_log_alone(years: Years, table: str) -> None:
    years.check(results.failing())
    years.do(f"update {table} set log_tail = null")
    with pytest.raises(Exception, match=r"stays so|cannot go"):
        years.do(f"update {table} set log_tail = null, reason = 'another'")
    with pytest.raises(Exception, match=r"stays so|cannot go"):
        years.do(f"update {table} set log_tail = 'another'")
