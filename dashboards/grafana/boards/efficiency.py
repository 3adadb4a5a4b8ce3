"""How well devices are used: utilisation, energy and work per joule, best against now, and where device time went."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from dashboards.grafana import look, parts
from dashboards.grafana.boards import choices
from dashboards.grafana.parts import cells, decimals, lines, number, row, sized, unit, wide
from dashboards.grafana.queries import POSTGRES_KIND, chosen, over_time, rows

METRICS = (
    *("mfu", "hfu", "bandwidth_util", "flops_per_s", "bytes_per_s", "scaling_efficiency"),
    *(
        "energy_per_iter",
        "energy_net_per_iter",
        "perf_per_watt",
        "cost_per_million_tokens",
        "cost_per_sample",
    ),
)
"""Those of docs/efficiency.md that have a better and a worse."""

THREE = choices.of_chosen("project", "benchmark", "device_class")
RUNS = f"projects.name = any({chosen('project')}) and runs.suite = any({chosen('suite')})"
NOT_MEASURED = "no benchmark here measures it; docs/efficiency.md says what it takes"


def efficiency(address: str) -> Dashboard:
    """Return the dashboard of efficiency and device time."""
    made = parts.board(
        "ratchet-efficiency",
        "Efficiency",
        "How much of what devices can do the benchmarks get, what a unit of work costs in energy, and where "
        "device time went.",
        since="now-90d",
        refresh="15m",
        address=address,
    )
    for page in (("Compare", "/compare"), ("Runs", "/runs")):
        parts.page_link(made, *page)
    made.with_variable(parts.source(POSTGRES_KIND))
    for variable in (choices.project(), choices.benchmark(), choices.device_class(), choices.suite()):
        made.with_variable(variable)
    row(made, "Now", _now())
    row(made, "Over time", *_over_time())
    row(made, "Best against now", _best())
    row(made, "Device time", *_device_numbers(), _hours_a_day(), _hours())
    return made


def _now() -> object:
    def newest(metric: str) -> str:
        return f"max(newest.value) filter (where series.metric = '{metric}')"

    sql = f"""
        select series.project as "Project", series.benchmark as "Benchmark", series.params::text as "Parameters",
          series.device_class as "Device class", {newest("mfu")} as "MFU", {newest("hfu")} as "HFU",
          {newest("bandwidth_util")} as "Bandwidth", {newest("energy_per_iter")} as "Energy per iteration",
          {newest("perf_per_watt")} as "Work per joule",
          max(series.unit) filter (where series.metric = 'perf_per_watt') as "Unit of work",
          max(newest.measured_at) as "Measured"
        from ratchet_views.series
          join ratchet_views.projects on projects.id = series.project_id
          cross join lateral (
            select value, measured_at from ratchet_views.results
            where results.series_id = series.id and results.branch = projects.branch and results.place is not null
            order by results.place desc, results.id desc
            limit 1) as newest
        where series.metric in ('mfu', 'hfu', 'bandwidth_util', 'energy_per_iter', 'perf_per_watt')
          and {THREE}
        group by 1, 2, 3, 4
        order by 1, 2, 3, 4"""
    share = parts.steps((1.02, look.WORRY))
    return cells(
        "Now, by benchmark and device class",
        "The newest point of each on its project's branch, whatever the time range: shares of the device's "
        "peak in arithmetic (MFU, HFU) and memory bandwidth, energy of an iteration, work per joule (that "
        "is performance per watt). Worry about a share above 102 %: then the declared work or the peak is "
        "wrong.",
        "none",
        rows(sql),
        columns={
            "MFU": unit("percentunit", decimals(1), *parts.gauge(1), share),
            "HFU": unit("percentunit", decimals(1), *parts.gauge(1), share),
            "Bandwidth": unit("percentunit", decimals(1), *parts.gauge(1), share),
            "Energy per iteration": unit("joule", decimals(2)),
            "Work per joule": unit("short", decimals(2)),
            "Measured": unit("dateTimeFromNow"),
        },
        empty=NOT_MEASURED,
    )


def _line(metric: str, title: str, text: str, its_unit: str, named: str = "", **more: object) -> object:
    """Return lines of a metric, a point a day: all points of hundreds of series are more than a panel can show."""
    sql = f"""
        select date_trunc('day', time) as time, metric,
          percentile_cont(0.5) within group (order by value) as value
        from (
          select coalesce(results.committed_at, results.measured_at) as time,
            series.benchmark || case series.params when '{{}}' then '' else ' ' || series.params::text end
              || ' · ' || series.device_class{named} as metric,
            results.value
          from ratchet_views.series
            join ratchet_views.projects on projects.id = series.project_id
            join ratchet_views.results on results.series_id = series.id and results.branch = projects.branch
          where series.metric = '{metric}' and results.place is not null
            and {THREE}) as points
        where $__timeFilter(time)
        group by 1, 2
        order by 1, 2"""
    text += " Points are the medians of a day."
    return sized(lines(title, text, its_unit, over_time(sql), empty=NOT_MEASURED, **more), 12)  # type: ignore[arg-type]


def _over_time() -> tuple[object, ...]:
    beyond = ((1.02, look.WORRY),)
    return (
        _line(
            "mfu",
            "Model FLOP utilisation",
            "Declared operations per second over the device's peak of the dtype, one line a benchmark and "
            "device class. Lines take their colour from their last value. Worry when a line falls, or lies "
            "above the dashed 102 %.",
            "percentunit",
            limit=beyond,
        ),
        _line(
            "bandwidth_util",
            "Share of memory bandwidth",
            "Declared bytes per second over the memory's peak. A benchmark that is high here and low in MFU "
            "is held back by memory. Worry when a line falls, or lies above the dashed 102 %.",
            "percentunit",
            limit=beyond,
        ),
        _line(
            "energy_per_iter",
            "Energy per iteration",
            "What the device's energy counter rose by, over the iterations, in windows of at least 5 s. "
            "Worry when it grows while latency does not: power rose.",
            "joule",
        ),
        _line(
            "perf_per_watt",
            "Work per joule",
            "Units of work per joule, which is throughput per watt; the legend says units of what. Higher "
            "is better. Worry when a line falls.",
            "si: /J",
            named=" || ' · ' || series.unit",
        ),
    )


def _best() -> object:
    names = ", ".join(f"'{name}'" for name in METRICS)
    sql = f"""
        select series.project as "Project", series.benchmark as "Benchmark", series.params::text as "Parameters",
          series.metric as "Metric", series.device_class as "Device class", series.unit as "Unit",
          best.value as "Best", newest.value as "Now",
          case series.better when 'higher' then newest.value / nullif(best.value, 0)
            else best.value / nullif(newest.value, 0) end as "Of the best",
          best.commit as "Best at", newest.commit as "Commit", series.id as "Series"
        from ratchet_views.series
          join ratchet_views.projects on projects.id = series.project_id
          cross join lateral (
            select value, commit from ratchet_views.results
            where results.series_id = series.id and results.branch = projects.branch and results.place is not null
            order by case series.better when 'higher' then -results.value else results.value end, results.place
            limit 1) as best
          cross join lateral (
            select value, commit from ratchet_views.results
            where results.series_id = series.id and results.branch = projects.branch and results.place is not null
            order by results.place desc, results.id desc
            limit 1) as newest
        where series.metric in ({names})
          and {THREE}
        order by "Of the best" nulls last
        limit 500"""
    return cells(
        "Best ever against now",
        "The newest point of each series of efficiency, energy and cost beside the best that it ever had, "
        "whatever the time range, the furthest from it first. The best of many points is a lucky one, so a "
        "few per cent are noise. Worry below 90 % (vermilion).",
        "short",
        rows(sql),
        columns={
            "Of the best": unit(
                "percentunit",
                decimals(1),
                *parts.gauge(1),
                parts.steps((0.9, look.WATCH), (0.97, look.GOOD), below=look.WORRY),
            ),
            "Best at": [parts.COMMIT_LINK, wide(120)],
            "Commit": [parts.COMMIT_LINK, wide(120)],
            "Series": unit("none", parts.SERIES_LINK, wide(80)),
        },
        by="Of the best",
        descending=False,
        empty=NOT_MEASURED,
    )


def _device_numbers() -> tuple[object, ...]:
    of_runs = f"""
        from ratchet_views.runs
          join ratchet_views.projects on projects.id = runs.project_id
        where $__timeFilter(runs.started_at) and {RUNS}"""
    return (
        sized(
            number(
                "Device time of all runs",
                "Device time of the runs that began in this time range. Compare it with what your devices "
                "could have given.",
                "h",
                rows(f"select sum(runs.device_s) / 3600 as hours{of_runs}"),
                digits=1,
            ),
            12,
        ),
        sized(
            number(
                "Device time that gave nothing",
                "The share of device time that went into attempts which did not end well: failed, lost, "
                "contaminated, out of time or cancelled. Worry above 10 %: the table below says whose.",
                "percentunit",
                rows(
                    "select coalesce(sum(runs.device_s) filter (where runs.outcome <> 'ok'), 0) / "
                    "nullif(sum(runs.device_s), 0)"
                    f" as share{of_runs}"
                ),
                steps=((0.05, look.WATCH), (0.1, look.WORRY)),
                digits=1,
            ),
            12,
        ),
    )


def _hours_a_day() -> object:
    sql = f"""
        select date_trunc('day', runs.started_at) as time, projects.name as metric, sum(runs.device_s) / 3600 as hours
        from ratchet_views.runs
          join ratchet_views.projects on projects.id = runs.project_id
        where $__timeFilter(runs.started_at) and {RUNS}
        group by 1, 2
        order by 1, 2"""
    panel = lines(
        "Device hours a day by project",
        "Device time of runs by the day on which they began. Worry when one project takes what the others "
        "wait for: the queue is on the fleet's dashboard.",
        "h",
        over_time(sql),
        bars=True,
        stacked=True,
    )
    return sized(panel, 10, 9)


def _hours() -> object:
    sql = f"""
        select projects.name as "Project", runs.suite as "Suite", runs.device_class as "Device class",
          count(*) as "Runs", sum(runs.device_s) / 3600 as "Hours",
          coalesce(sum(runs.device_s) filter (where runs.outcome <> 'ok'), 0) / 3600 as "Hours for nothing",
          avg(runs.device_s) as "Mean run"
        from ratchet_views.runs
          join ratchet_views.projects on projects.id = runs.project_id
        where $__timeFilter(runs.started_at) and {RUNS}
        group by 1, 2, 3
        order by "Hours" desc
        limit 200"""
    panel = cells(
        "Device hours by project and suite",
        "Where device time went in this time range, the most first, and how much of it ended in attempts "
        "that gave no result. Worry where hours for nothing are more than a tenth.",
        "none",
        rows(sql),
        columns={
            "Hours": unit("h", decimals(2)),
            "Hours for nothing": unit("h", decimals(2)),
            "Mean run": unit("s", decimals(1)),
        },
        by="Hours",
    )
    return sized(panel, 14, 9)
