"""How Prometheus and PostgreSQL are asked: targets of panels and queries of variables.

A dashboard names its data sources by a variable, so that an existing Grafana's own are chosen at its top; what is
provisioned here is preset. A choice of several values in SQL is an array, which may be empty where `in ()` may not.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog import variants
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat, QueryEditorMode

from app.integrations.dcgm.fields import FIELDS

POSTGRES_KIND, PROMETHEUS_KIND = "grafana-postgresql-datasource", "prometheus"
POSTGRES = model.DataSourceRef(type_val=POSTGRES_KIND, uid="${postgres}")
PROMETHEUS = model.DataSourceRef(type_val=PROMETHEUS_KIND, uid="${prometheus}")


class Sql(variants.Dataquery, Builder["Sql"]):
    """A query of PostgreSQL, which is no builder's business: the package knows no such data source.

    `kind` is `table`, or `time_series` for rows that begin with a time and are in its order: a column `metric` then
    names the line that a row belongs to, or every numeric column is a line.
    """

    def __init__(self, text: str, *, kind: str = "table", ref_id: str = "A") -> None:
        self.text = dedent(text).strip()
        self.kind = kind
        self.ref_id = ref_id
        self.hide = False

    def build(self) -> Sql:
        """Return itself, as builders do with what they have built."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the query as Grafana keeps it."""
        return {
            "datasource": POSTGRES,
            "editorMode": "code",
            "format": self.kind,
            "rawQuery": True,
            "rawSql": self.text,
            "refId": self.ref_id,
        }


def rows(text: str, ref_id: str = "A") -> Sql:
    """Return a query of rows for a table or a single number."""
    return Sql(text, ref_id=ref_id)


def over_time(text: str, ref_id: str = "A") -> Sql:
    """Return a query of lines over time."""
    return Sql(text, kind="time_series", ref_id=ref_id)


def chosen(variable: str) -> str:
    """Return what is chosen of a variable of several values, as an array in SQL."""
    return f"array[${{{variable}:sqlstring}}]::text[]"


def prom(expr: str, legend: str = "", ref_id: str = "A") -> prometheus.Dataquery:
    """Return a query of lines over time."""
    query = prometheus.Dataquery().expr(expr).range().editor_mode(QueryEditorMode.CODE)
    return query.legend_format(legend or "__auto").ref_id(ref_id).datasource(PROMETHEUS)


def prom_now(expr: str, legend: str = "", ref_id: str = "A") -> prometheus.Dataquery:
    """Return a query of what holds at the end of the time range."""
    return prom(expr, legend, ref_id).instant()


def prom_rows(expr: str, ref_id: str = "A") -> prometheus.Dataquery:
    """Return a query of what holds at the end of the time range, one row a series with its labels as columns."""
    return prom(expr, "", ref_id).instant().format(PromQueryFormat.TABLE)


GPUS = 'Hostname=~"$host",gpu=~"$gpu"'
OF_GPU = "Hostname, gpu"
OF_PART = "Hostname, gpu, GPU_I_ID"
"""What tells a GPU, or an instance of a divided one, from others. Pods that share a GPU repeat its numbers."""


def field(*names: str, selector: str = GPUS) -> str:
    """Return an expression for what an exporter tells under any of these names."""
    told = [f"{name}{{{selector}}}" for name in names]
    return told[0] if len(told) == 1 else f"({' or '.join(told)})"


def dcgm(metric: str, by: str = OF_GPU) -> str:
    """Return an expression for a number of docs/dcgm.md, of each GPU, in the exporter's unit, without blanks."""
    known = FIELDS[metric]
    values = f"{field(*known.names)} <= {known.highest:g}"
    return f"max by ({by}) ({values}{' > 0' if known.zero_is_blank else ''})"
