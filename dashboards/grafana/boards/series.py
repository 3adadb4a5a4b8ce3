"""How numbers moved: one series over time and over commits, what changed, what checks said, which alerts wait."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, QueryVariable

from dashboards.grafana import look, parts
from dashboards.grafana.boards import choices
from dashboards.grafana.parts import cells, decimals, lines, number, numbered, prop, row, sized, unit, wide
from dashboards.grafana.queries import POSTGRES_KIND, Sql, chosen, over_time, rows

ITS_SERIES = "nullif(${series:sqlstring}, '')::bigint"
ITS_POINTS = f"series_id = {ITS_SERIES} and branch = ${{branch:sqlstring}} and place is not null"
FOUR = choices.of_chosen("project", "benchmark", "metric", "device_class")

QUARTER, MIDDLE, REST = (f"percentile_cont({at}) within group (order by value)" for at in (0.25, 0.5, 0.75))
SPREAD = f"({REST} - {QUARTER}) / 2 / nullif({MIDDLE}, 0)"
"""Half the width of the middle half over the median, as docs/sql.md says it."""

DAYS = "generate_series(date_trunc('day', $__timeFrom()::timestamptz), $__timeTo()::timestamptz, '1 day') as days(day)"

CONCLUSIONS = {
    "passed": look.BLUE,
    "regressed": look.VERMILION,
    "inconclusive": look.ORANGE,
    "not_measured": look.GREY,
    "open": look.SKY,
}
ALERT_STATES = {"new": look.WORRY, "acknowledged": look.WATCH, "investigating": look.GOOD}

NO_SERIES = "no point of this series on this branch"


def series(address: str) -> Dashboard:
    """Return the dashboard of series, changes, checks and alerts."""
    made = parts.board(
        "ratchet-series",
        "Series",
        "How benchmarks moved over commits, what changed for good, what checks concluded, and which alerts "
        "wait.",
        since="now-90d",
        refresh="5m",
        address=address,
    )
    for page in (("Series", "/series"), ("Checks", "/"), ("Alerts", "/alerts")):
        parts.page_link(made, *page)
    made.with_variable(parts.source(POSTGRES_KIND))
    for variable in (
        choices.project(),
        choices.benchmark(),
        choices.metric(),
        choices.device_class("metric"),
    ):
        made.with_variable(variable)
    made.with_variable(_its_series()).with_variable(_its_branch())
    made.annotation(_marks("Confirmed change", look.WORRY, "confirmed"))
    made.annotation(_marks("Suspected change", look.WATCH, "suspected"))
    row(made, "One series", _band(), _by_commit(), *_about(), _points())
    row(made, "Changes and noise", _changes(), _changes_a_day(), _noise())
    row(made, "Checks", _checks_a_day(), _check_times(), *_check_numbers())
    row(made, "Alerts", _alert_states(), _alerts())
    return made


def _its_series() -> QueryVariable:
    sql = f"""
        select id as __value,
          benchmark || case params when '{{}}' then '' else ' ' || params::text end
            || ' · ' || metric || ' · ' || device_class
            || case version when '' then '' else ' · ' || left(version, 8) end as __text
        from ratchet_views.series
        where {FOUR}
        order by __text, id desc"""
    return parts.of_rows("series", "Series", "The series of the first row", sql, several=False)


def _its_branch() -> QueryVariable:
    sql = f"""
        select branch
        from (
          select distinct results.branch, results.branch = projects.branch as is_first
          from ratchet_views.results
            join ratchet_views.series on series.id = results.series_id
            join ratchet_views.projects on projects.id = series.project_id
          where results.series_id = {ITS_SERIES} and results.branch is not null) as its
        order by is_first desc, branch"""
    return parts.of_rows("branch", "Branch", "Whose history it is", sql, several=False)


def _unit() -> Sql:
    """Return the query that tells Grafana's name of the series' unit."""
    sql = f"""
        select case unit when 's' then 's' when 'B' then 'bytes' when 'B/s' then 'Bps' when 'J' then 'joule'
          when 'FLOP/s' then 'flops' when '1' then 'short' else 'si: ' || unit end as unit
        from ratchet_views.series
        where id = {ITS_SERIES}"""
    return rows(sql, "unit")


def _marks(name: str, colour: str, state: str) -> parts.Annotation:
    sql = f"""
        select time, text, tags
        from (
          select coalesce(first_point.committed_at, first_point.measured_at) as time,
            case when changes.change > 0 then '+' else '' end || round((changes.change * 100)::numeric, 1)
              || ' % at ' || left(changes.commit, 10) || coalesce(' · accepted by ' || changes.accepted_by, '') as text,
            changes.state || case when changes.is_machine then ',machine' else '' end
              || case when changes.is_worse then ',worse' else '' end as tags
          from ratchet_views.changes
            cross join lateral (
              select committed_at, measured_at
              from ratchet_views.results
              where results.series_id = changes.series_id and results.branch = changes.branch
                and results.commit = changes.commit
              order by results.id
              limit 1) as first_point
          where changes.series_id = {ITS_SERIES} and changes.branch = ${{branch:sqlstring}}
            and changes.state = '{state}') as its
        where $__timeFilter(time)
        order by time"""
    return parts.marks(name, colour, sql)


def _band() -> object:
    sql = f"""
        select time, low, median, high
        from (
          select coalesce(committed_at, measured_at) as time, low, value as median, high
          from ratchet_views.results
          where {ITS_POINTS}) as points
        where $__timeFilter(time)
        order by time"""
    panel = lines(
        "Over time",
        "The median of each point and the range of its values, at the time of its commit, or of its "
        "measurement where nobody said that. Marks are change points. Worry where the line leaves the "
        "earlier band and stays there.",
        "short",
        over_time(sql),
        _unit(),
        lowest=None,
        empty=NO_SERIES,
    )
    return sized(parts.in_unit_of(parts.as_band(panel, "low", "median", "high"), "low|median|high"), 12, 9)


def _by_commit() -> object:
    sql = f"""
        select 1 - back as place, low, median, high
        from (
          select row_number() over (order by place desc, id desc) as back, low, value as median, high
          from ratchet_views.results
          where {ITS_POINTS}
          order by place desc, id desc
          limit 500) as points
        order by place"""
    panel = numbered(
        "Over commits",
        "The newest 500 points in the order of their history, whatever the time range; 0 is the newest. "
        "Points of commits that came in one day lie apart here. Worry about a step that stays.",
        "short",
        "place",
        rows(sql),
        _unit(),
    )
    panel.override_by_name("place", unit("none", prop("custom.axisLabel", "points before the newest")))
    return parts.in_unit_of(parts.as_band(panel, "low", "median", "high"), "low|median|high")


def _about() -> tuple[object, ...]:
    newest = number(
        "Newest value",
        "The median of the newest point in the order of commits. Judge it by the change beside it.",
        "short",
        rows(
            f"select value from ratchet_views.results where {ITS_POINTS} order by place desc, id desc limit 1"
        ),
        _unit(),
        empty=NO_SERIES,
    )
    moved = f"""
        select newest.value / nullif(oldest.value, 0) - 1 as moved
        from (select value, time from (
            select value, place, id, coalesce(committed_at, measured_at) as time
            from ratchet_views.results
            where {ITS_POINTS}) as points
          where $__timeFilter(time) order by place desc, id desc limit 1) as newest
        cross join (select value, time from (
            select value, place, id, coalesce(committed_at, measured_at) as time
            from ratchet_views.results
            where {ITS_POINTS}) as points
          where $__timeFilter(time) order by place, id limit 1) as oldest"""
    noise = f"""
        select {SPREAD} as noise
        from (
          select value from ratchet_views.results where {ITS_POINTS} order by place desc, id desc limit 50) as points"""
    changes = f"""
        select count(*) filter (where is_worse) as worse
        from ratchet_views.changes
        where series_id = {ITS_SERIES} and branch = ${{branch:sqlstring}} and state = 'confirmed'
          and accepted_by is null and not is_machine"""
    age = f"""
        select extract(epoch from now() - max(measured_at))::float as age
        from ratchet_views.results
        where {ITS_POINTS}"""
    return (
        sized(parts.in_unit_of(newest, "value"), 5),
        sized(
            number(
                "Moved in this time range",
                "The newest point of the time range over its oldest, less one: single points, so noise is "
                "in it. Whether it is a change is told by the marks. Which way is worse depends on the "
                "metric.",
                "percentunit",
                rows(moved),
                empty=NO_SERIES,
                digits=1,
            ),
            5,
        ),
        sized(
            number(
                "Noise",
                "Half the width of the middle half of the newest 50 points, over their median; a step among "
                "them counts, too. Above 5 % small changes cannot be seen.",
                "percentunit",
                rows(noise),
                steps=((0.02, look.WATCH), (0.05, look.WORRY)),
                empty=NO_SERIES,
                digits=2,
            ),
            5,
        ),
        sized(
            number(
                "Worse, and not accepted",
                "Confirmed changes of this series for the worse that are the code's and that nobody "
                "accepted, of any time. Worry about each.",
                "none",
                rows(changes),
                steps=((1, look.WORRY),),
            ),
            5,
        ),
        number(
            "Since the last point",
            "Time since the newest measurement came. Worry when it is longer than the project's commits lie "
            "apart: nothing measures it any more.",
            "s",
            rows(age),
            steps=((7 * 86400, look.WATCH), (30 * 86400, look.WORRY)),
            empty=NO_SERIES,
        ),
    )


def _points() -> object:
    sql = f"""
        select coalesce(results.committed_at, results.measured_at) as "Time", projects.name as "Project",
          results.commit as "Commit", results.subject as "Subject", results.value as "Median", results.low as "Low",
          results.high as "High", results.n as "Values", array_to_string(results.flags, ', ') as "Doubts",
          results.run_id as "Run"
        from ratchet_views.results
          join ratchet_views.series on series.id = results.series_id
          join ratchet_views.projects on projects.id = series.project_id
        where results.series_id = {ITS_SERIES} and results.branch = ${{branch:sqlstring}} and results.place is not null
        order by results.place desc, results.id desc
        limit 100"""
    panel = cells(
        "Newest points",
        "The newest 100 points of the series, the newest first, with links to commit and run. Worry about "
        "doubts: they say what was wrong with the machine or the measurement.",
        "none",
        rows(sql),
        _unit(),
        columns={
            "Time": unit("dateTimeAsIso", wide(170)),
            "Project": [parts.HIDDEN],
            "Commit": [parts.COMMIT_LINK, wide(120)],
            "Run": [parts.link("The run in Ratchet", "/runs/${__value.raw}"), wide(80)],
            "Values": [wide(80)],
        },
        empty=NO_SERIES,
    )
    return parts.in_unit_of(panel, "Median|Low|High")


def _changes() -> object:
    sql = f"""
        select changes.confirmed_at as "Confirmed", series.project as "Project", series.benchmark as "Benchmark",
          series.params::text as "Parameters", series.metric as "Metric", series.device_class as "Device class",
          changes.change as "Change", changes.ci_low as "From", changes.ci_high as "To",
          case when changes.is_worse then 'worse' else 'better' end as "Way",
          case when changes.is_machine then 'machine' else 'code' end as "Cause", changes.commit as "Commit",
          changes.accepted_by as "Accepted by", changes.alert_id as "Alert", changes.alert_state as "Alert's state",
          changes.series_id as "Series"
        from ratchet_views.changes
          join ratchet_views.series on series.id = changes.series_id
        where changes.state = 'confirmed' and $__timeFilter(changes.confirmed_at)
          and {FOUR}
        order by abs(changes.change) desc
        limit 500"""
    return cells(
        "Confirmed changes",
        "What changed for good in this time range, the largest first, with the first commit of the new "
        "level and the 95 % interval of the change. Worry about what is worse, the code's, and accepted by "
        "nobody.",
        "none",
        rows(sql),
        columns={
            "Confirmed": unit("dateTimeAsIso", wide(170)),
            "Change": unit("percentunit", decimals(1)),
            "From": unit("percentunit", decimals(1)),
            "To": unit("percentunit", decimals(1)),
            "Way": parts.words(worse=look.WORRY, better=look.GOOD),
            "Commit": [parts.COMMIT_LINK, wide(120)],
            "Alert": [parts.ALERT_LINK, wide(80)],
            "Series": [parts.SERIES_LINK, wide(80)],
        },
        empty="no change was confirmed in this time range",
    )


def _changes_a_day() -> object:
    sql = f"""
        select days.day as time, count(its.id) filter (where its.is_worse) as worse,
          count(its.id) filter (where not its.is_worse) as better
        from {DAYS}
          left join (
            select changes.id, changes.is_worse, changes.confirmed_at
            from ratchet_views.changes
              join ratchet_views.series on series.id = changes.series_id
            where changes.state = 'confirmed' and not changes.is_machine
              and {FOUR}) as its
            on its.confirmed_at >= days.day and its.confirmed_at < days.day + interval '1 day'
        group by days.day
        order by days.day"""
    panel = lines(
        "Confirmed changes a day",
        "How many series changed for good, by the day of the confirmation, without what the machine did. "
        "Many on one day are most often one commit. Worry when worse outweighs better for weeks.",
        "none",
        over_time(sql),
        colours={"worse": look.WORRY, "better": look.GOOD},
        bars=True,
        stacked=True,
        empty="no change was confirmed in this time range",
    )
    return sized(panel, 10, 10)


def _noise() -> object:
    sql = f"""
        select series.project as "Project", series.benchmark as "Benchmark", series.params::text as "Parameters",
          series.metric as "Metric", series.device_class as "Device class", spread.points as "Points",
          spread.noise as "Noise", series.id as "Series"
        from ratchet_views.series
          join ratchet_views.projects on projects.id = series.project_id
          cross join lateral (
            select count(*) as points,
              {SPREAD} as noise
            from (
              select value from ratchet_views.results
              where results.series_id = series.id and results.branch = projects.branch and results.place is not null
              order by results.place desc, results.id desc
              limit 50) as points) as spread
        where spread.points >= 4
          and {FOUR}
        order by spread.noise desc nulls last
        limit 200"""
    panel = cells(
        "Noise by benchmark",
        "Half the width of the middle half of each series' newest 50 points, over their median, whatever "
        "the time range; the noisiest first. Above 5 % (vermilion) only large changes are found: look at "
        "the machine, or at what the benchmark does.",
        "none",
        rows(sql),
        columns={
            "Noise": unit(
                "percentunit",
                decimals(2),
                *parts.gauge(0.1),
                parts.steps((0.02, look.WATCH), (0.05, look.WORRY)),
            ),
            "Points": [wide(80)],
            "Series": [parts.SERIES_LINK, wide(80)],
        },
        empty="no series with four points",
    )
    return sized(panel, 14, 10)


def _checks_a_day() -> object:
    counts = ",\n          ".join(
        f"count(its.day) filter (where its.conclusion = '{name}') as {name}" for name in CONCLUSIONS
    )
    sql = f"""
        select days.day as time,
          {counts}
        from {DAYS}
          left join (
            select date_trunc('day', checks.created_at) as day, coalesce(checks.conclusion, 'open') as conclusion
            from ratchet_views.checks
              join ratchet_views.projects on projects.id = checks.project_id
            where $__timeFilter(checks.created_at) and projects.name = any({chosen("project")})) as its
            on its.day = days.day
        group by days.day
        order by days.day"""
    panel = lines(
        "Checks a day, by conclusion",
        "Checks by the day on which they were asked for. Worry when inconclusive or not_measured grow: then "
        "checks cost time and say nothing. Open ones of earlier days are stuck.",
        "none",
        over_time(sql),
        colours=CONCLUSIONS,
        bars=True,
        stacked=True,
    )
    return sized(panel, 10)


def _check_times() -> object:
    sql = f"""
        select date_trunc('day', its.created_at) as time,
          percentile_cont(0.5) within group (order by its.took_s) as median,
          percentile_cont(0.95) within group (order by its.took_s) as p95
        from (
          select checks.created_at, extract(epoch from checks.concluded_at - checks.created_at)::float as took_s
          from ratchet_views.checks
            join ratchet_views.projects on projects.id = checks.project_id
          where $__timeFilter(checks.created_at) and checks.concluded_at is not null
            and projects.name = any({chosen("project")})) as its
        group by 1
        order by 1"""
    panel = lines(
        "From the question to the conclusion",
        "How long checks took from being asked for to their conclusion, by day: the median, and what 95 of "
        "100 stayed below. Waiting for devices is in it. Worry when it grows while devices stand idle.",
        "s",
        over_time(sql),
        colours={"median": look.BLUE, "p95": look.ORANGE},
    )
    return sized(panel, 8)


def _check_numbers() -> tuple[object, ...]:
    of_checks = f"""
        from ratchet_views.checks
          join ratchet_views.projects on projects.id = checks.project_id
        where $__timeFilter(checks.created_at) and projects.name = any({chosen("project")})"""
    return (
        sized(
            number(
                "Without an answer",
                "The share of concluded checks that were inconclusive or not measured. Above a fifth people "
                "stop to read checks: look at noise and capacity.",
                "percentunit",
                rows(
                    "select avg((checks.conclusion in ('inconclusive', 'not_measured'))::int)::float as share"
                    f"{of_checks} and checks.conclusion is not null"
                ),
                steps=((0.1, look.WATCH), (0.2, look.WORRY)),
                digits=0,
            ),
            3,
            8,
        ),
        sized(
            number(
                "Open for the longest",
                "How long ago the oldest check that is still open was asked for, of this time range. Worry "
                "above an hour.",
                "s",
                rows(
                    "select extract(epoch from now() - min(checks.created_at))::float as age"
                    f"{of_checks} and checks.concluded_at is null"
                ),
                steps=((3600, look.WATCH), (6 * 3600, look.WORRY)),
                empty="none is open",
            ),
            3,
            8,
        ),
    )


def _alert_states() -> object:
    sql = f"""
        select alerts.state as "State", count(*) as "Alerts",
          extract(epoch from now() - min(alerts.opened_at))::float as "Oldest",
          extract(epoch from now() - min(alerts.moved_at))::float as "Longest in its state"
        from ratchet_views.alerts
          join ratchet_views.projects on projects.id = alerts.project_id
        where alerts.is_open and projects.name = any({chosen("project")})
        group by alerts.state
        order by array_position(array['new', 'acknowledged', 'investigating'], alerts.state)"""
    days = parts.steps((86400, look.WATCH), (7 * 86400, look.WORRY))
    panel = cells(
        "Open alerts by state",
        "How many alerts wait for somebody, by what was said of them, whatever the time range, and for how "
        "long the oldest has been open. Worry about new ones older than a day: nobody has looked.",
        "none",
        rows(sql),
        columns={
            "State": parts.words(**ALERT_STATES),
            "Oldest": unit("s", days, parts.COLOURED_TEXT),
            "Longest in its state": unit("s", days, parts.COLOURED_TEXT),
        },
        empty="no alert is open",
    )
    return sized(panel, 9)


def _alerts() -> object:
    sql = f"""
        select alerts.id as "Alert", projects.name as "Project", alerts.state as "State", alerts.owner as "Owner",
          extract(epoch from now() - alerts.opened_at)::float as "Open for",
          extract(epoch from now() - alerts.moved_at)::float as "In its state for", alerts.commit as "Commit",
          alerts.pull_request as "Pull request",
          (select count(*) from ratchet_views.changes where changes.alert_id = alerts.id) as "Changes"
        from ratchet_views.alerts
          join ratchet_views.projects on projects.id = alerts.project_id
        where alerts.is_open and projects.name = any({chosen("project")})
        order by alerts.opened_at
        limit 200"""
    panel = cells(
        "Open alerts",
        "Each alert that waits, the oldest first: who has it, since when, and how many changes it tells of. "
        "Worry about those without an owner.",
        "none",
        rows(sql),
        columns={
            "Alert": [parts.ALERT_LINK, wide(80)],
            "State": parts.words(**ALERT_STATES),
            "Open for": unit(
                "s", parts.steps((86400, look.WATCH), (7 * 86400, look.WORRY)), parts.COLOURED_TEXT
            ),
            "In its state for": unit("s"),
            "Commit": [parts.COMMIT_LINK, wide(120)],
        },
        empty="no alert is open",
    )
    return sized(panel, 15)
