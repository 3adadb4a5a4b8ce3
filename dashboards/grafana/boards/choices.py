"""What is chosen at the top of dashboards over PostgreSQL: project, benchmark, metric, device class, suite."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import QueryVariable

from dashboards.grafana.parts import of_rows
from dashboards.grafana.queries import chosen


def project() -> QueryVariable:
    """Return the choice of projects."""
    return of_rows(
        "project",
        "Project",
        "Repositories under watch",
        "select name from ratchet_views.projects order by name",
    )


def _of_series(column: str, label: str, text: str, *after: str) -> QueryVariable:
    where = " and ".join(f"{name} = any({chosen(name)})" for name in ("project", *after))
    sql = f"select distinct {column} from ratchet_views.series where {where} order by {column}"
    return of_rows(column, label, text, sql)


def benchmark() -> QueryVariable:
    """Return the choice of the projects' benchmarks."""
    return _of_series("benchmark", "Benchmark", "Benchmarks of these projects")


def metric() -> QueryVariable:
    """Return the choice of what these benchmarks measure."""
    return _of_series("metric", "Metric", "What these benchmarks measure", "benchmark")


def device_class(*after: str) -> QueryVariable:
    """Return the choice of what is measured on."""
    return _of_series("device_class", "Device class", "What is measured on", "benchmark", *after)


def suite() -> QueryVariable:
    """Return the choice of suites."""
    sql = f"""
        select distinct runs.suite
        from ratchet_views.runs join ratchet_views.projects on projects.id = runs.project_id
        where projects.name = any({chosen("project")})
        order by runs.suite"""
    return of_rows("suite", "Suite", "Suites that workers have run", sql)


def of_chosen(*names: str) -> str:
    """Return the condition that a series is one of those chosen by these variables."""
    return "\n          and ".join(f"series.{name} = any({chosen(name)})" for name in names)
