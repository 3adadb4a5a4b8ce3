"""Pruning goes in short steps, may be broken off anywhere, and is done by one process at a time."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.cli import FAULT, INTERRUPTED, run
from app.domain.errors import UnavailableError
from app.services.retention import step
from app.services.retention.chore import prune_for_a_while
from app.services.retention.drop_raw import drop_raw
from app.services.retention.policy import POLICIES
from app.services.retention.step import Reach
from app.services.run_summary import summary_of
from app.store.repositories import clock, retention, runs
from app.store.tables import Run
from tests.factories import results
from tests.integration.retention.conftest import Years

pytestmark = pytest.mark.postgres

TABLES = ("sample", "timing", "estimate", "report", "delivery", "audit_log")


def fill(years: Years, n: int = 6) -> None:
    """Have values, timings and messages of long ago."""
    years.poster.tell_all([10.0] * n)
    years.check(results.regressed())
    for guid in range(n):
        years.do(
            "insert into delivery (guid, event, payload, outcome) values (:guid, 'push', '{}', 'nothing')",
            guid=str(guid),
        )
    years.go_by(401)


def small_steps(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(step.Reach.__init__, "__defaults__", (0, most, False))


def test_dry_run_counts_what_would_go_and_changes_nothing(years: Years) -> None:
    fill(years)
    before = [years.count(table) for table in TABLES]
    tallies = {tally.policy.name: tally for tally in years.tallies(is_dry=True)}
    counted = {name: tally.rows for name, tally in tallies.items() if tally.rows}
    assert [years.count(table) for table in TABLES] == before
    assert years.ask("select count(*) from run where is_bare or summary is not null or not has_logs") == 0
    assert tallies["timings"].size_b > 0
    assert years.prune() == counted


def test_broken_off_it_goes_on_the_next_time(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(years)
    small_steps(monkeypatch, 2)
    due = years.prune(is_dry=True)
    begun = iter(years.tallies())
    for _ in range(12):
        next(begun)
    begun.close()  # type: ignore[attr-defined]  # it is a generator
    gone = {"values": 6 - years.count("sample"), "webhooks": 6 - years.count("delivery")}
    assert 0 < gone["values"] < due["values"]
    assert 0 < gone["webhooks"] < due["webhooks"]
    rest = years.prune()
    assert {name: gone[name] + rest[name] for name in gone} == {name: due[name] for name in gone}
    assert (years.count("sample"), years.count("timing"), years.count("delivery")) == (1, 0, 0)
    assert years.prune() == {}


def test_small_steps_delete_what_large_ones_do(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(years)
    small_steps(monkeypatch, 2)
    due = years.prune(is_dry=True)
    assert years.prune() == due
    assert years.rested_s


def test_run_that_has_lost_some_timings_is_never_read_by_the_rest(years: Years) -> None:
    fill(years)
    with years.service.database.session() as session:
        run_row = session.get_one(Run, 1)
        whole = summary_of(session, run_row, runs.arm_values(session, 1))
        found = drop_raw(session, Reach(clock.now(session), most=5))
    assert (found.rows, found.has_more, found.last) == (5, True, 0)
    assert years.count("timing") > 0
    with years.service.database.session() as session:
        assert summary_of(session, session.get_one(Run, 1), runs.arm_values(session, 1)) == whole
        assert runs.arm_values(session, 1) == []
    assert (
        "No longer kept"
        in years.poster.client.get("/runs/1", headers={"Authorization": f"Bearer {years.poster.token}"}).text
    )


def test_class_that_is_kept_for_ever_stays(years: Years) -> None:
    fill(years)
    years.keep(keep_raw_days=0, keep_webhooks_days=0)
    assert not years.prune().keys() & {"values", "timings", "webhooks"}
    assert years.count("sample") == 6


def test_only_one_process_prunes_at_a_time(years: Years) -> None:
    fill(years)
    with years.service.database.session() as other:
        assert retention.may_prune(other)
        with pytest.raises(UnavailableError, match="another process"):
            years.prune()
        assert prune_for_a_while(years.service.database, years.service.settings) == []
        assert years.prune(is_dry=True)["values"] == 5
    assert years.count("sample") == 6


def test_row_that_somebody_holds_is_left_for_the_next_time(years: Years) -> None:
    fill(years)
    with years.service.database.session() as other:
        other.execute(text("select from delivery where guid = '3' for update"))
        assert years.prune()["webhooks"] == 5
    assert years.prune() == {"webhooks": 1}


def test_tick_prunes_for_a_while_and_health_says_when_all_was_done(years: Years) -> None:
    fill(years)
    client, headers = years.poster.client, {"Authorization": f"Bearer {years.poster.token}"}
    assert "nothing was looked at yet" in client.get("/health", headers=headers).text
    assert "ratchet_retention_seconds" not in client.get("/metrics").text
    told = {tally.policy.name for tally in prune_for_a_while(years.service.database, years.service.settings)}
    assert {"values", "timings", "webhooks"} <= told
    assert "all that is older than it is kept was last deleted" in client.get("/health", headers=headers).text
    assert "ratchet_retention_seconds" in client.get("/metrics").text
    years.do("update watermark set at = at - interval '2 days' where name = 'retention'")
    assert "ratchet prune --dry-run" in client.get("/health", headers=headers).text


def test_class_that_fails_keeps_no_other_from_its_turn(
    years: Years, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(years)
    monkeypatch.setattr("app.services.retention.drop_raw.summarise", lambda *_: 1 / 0)
    assert {"values", "webhooks", "logs"} <= years.prune().keys()
    assert "the class timings could not be gone on with" in caplog.text
    assert (years.count("watermark"), years.ask("select count(*) from run where is_bare")) == (0, 0)
    monkeypatch.undo()
    assert years.prune().keys() == {"timings"}
    assert years.count("watermark") == 1


def test_class_whose_statement_takes_too_long_keeps_no_other_from_its_turn(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(years)

    def slow(session: Session, *_: object) -> None:
        session.execute(text("set local statement_timeout = 1"))
        session.execute(text("select pg_sleep(5)"))

    monkeypatch.setattr("app.services.retention.drop_raw.summarise", slow)
    assert {"values", "webhooks", "logs"} <= years.prune().keys()


def test_pruning_that_runs_out_of_time_says_nothing_of_being_done(years: Years) -> None:
    fill(years)
    assert list(years.tallies(time_s=-1)) == []
    assert years.count("watermark") == 0


@pytest.fixture
def command_env(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATCHET_DATABASE_URL", years.service.settings.database_url)
    monkeypatch.delenv("RATCHET_REDIS_URL", raising=False)


@pytest.mark.usefixtures("command_env")
def test_command_says_what_is_due_and_deletes_it(years: Years, capsys: pytest.CaptureFixture[str]) -> None:
    fill(years)
    assert run(["prune", "--dry-run"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert list(rows) == ["CLASS", *(policy.name for policy in POLICIES)]
    assert rows["values"].split()[:4] == ["values", "400", "d", "5"]
    assert years.count("sample") == 6
    assert run(["prune"]) == 0
    assert years.count("sample") == 1


@pytest.mark.usefixtures("command_env")
def test_command_keeps_for_ever_what_a_setting_says(
    years: Years, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(years)
    monkeypatch.setenv("RATCHET_KEEP_RAW_DAYS", "0")
    assert run(["prune"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["values"].split()[:4] == ["values", "for", "ever", "–"]
    assert years.count("sample") == 6


@pytest.mark.usefixtures("command_env")
def test_command_that_is_interrupted_says_how_far_it_came(
    years: Years, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(years)
    steps = iter([True, True])

    def interrupted(_session: Session) -> bool:
        if not next(steps, False):
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(retention, "may_prune", interrupted)
    assert run(["prune"]) == INTERRUPTED
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["values"].split()[:4] == ["values", "400", "d", "5"]
    assert rows["webhooks"].split()[3] == "–"
    assert (years.count("sample"), years.count("delivery")) == (1, 6)


@pytest.mark.usefixtures("command_env")
def test_command_says_which_class_failed(
    years: Years, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(years)
    monkeypatch.setattr("app.services.retention.drop_raw.summarise", lambda *_: 1 / 0)
    assert run(["prune"]) == FAULT
    told = capsys.readouterr()
    assert "what failed is told above: timings" in told.err
    assert "webhooks  14 d" in told.out


@pytest.mark.usefixtures("command_env")
def test_command_gives_way_to_whoever_prunes(years: Years, capsys: pytest.CaptureFixture[str]) -> None:
    with years.service.database.session() as other:
        retention.may_prune(other)
        assert run(["prune"]) == FAULT
    assert "another process" in capsys.readouterr().err
