"""What dashboards are made of: panels with everything that each must have, variables, links, rows.

A panel is not to be had without a title, a text that says what it shows and when to worry, a unit, and what is shown
in its place while there is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from grafana_foundation_sdk.builders import common, stat, table, timeseries, trend
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog import variants
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as models
from grafana_foundation_sdk.models import dashboard as model

from dashboards.grafana import look
from dashboards.grafana.queries import POSTGRES, POSTGRES_KIND, PROMETHEUS, Sql

TAG = "ratchet"
ADDRESS = "http://localhost:8440"
"""Where Ratchet's own pages are unless the command is told another address."""

NOTHING = "nothing in this time range"

P = TypeVar("P", timeseries.Panel, stat.Panel, table.Panel, trend.Panel)

Target = Builder[variants.Dataquery]
"""A query of a panel."""

Columns = Mapping[str, list[model.DynamicConfigValue]]


def prop(name: str, value: object) -> model.DynamicConfigValue:
    """Return a property that an override sets."""
    return model.DynamicConfigValue(id_val=name, value=value)


def unit(name: str, *more: model.DynamicConfigValue) -> list[model.DynamicConfigValue]:
    """Return a column's unit, and other properties of it."""
    return [prop("unit", name), *more]


def decimals(count: int) -> model.DynamicConfigValue:
    """Return how many digits are shown behind the point."""
    return prop("decimals", count)


def link(title: str, path: str) -> model.DynamicConfigValue:
    """Return a link from each cell to a page of Ratchet."""
    return prop("links", [{"title": title, "url": f"${{ratchet}}{path}", "targetBlank": True}])


SERIES_LINK = link("The series in Ratchet", "/series/${__value.raw}")
ALERT_LINK = link("The alert in Ratchet", "/alerts/${__value.raw}")
COMMIT_LINK = link(
    "The commit in Ratchet", "/commits/${__value.raw}?project=${__data.fields.Project:percentencode}"
)
HIDDEN = prop("custom.hidden", True)


def wide(width: int) -> model.DynamicConfigValue:
    """Return the width of a column in pixels."""
    return prop("custom.width", width)


def gauge(highest: float) -> list[model.DynamicConfigValue]:
    """Return the properties that draw a column's numbers as bars from 0 to `highest`."""
    bar = {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}
    return [prop("custom.cellOptions", bar), prop("min", 0), prop("max", highest)]


def steps(*given: tuple[float, str], below: str = look.GOOD) -> model.DynamicConfigValue:
    """Return the thresholds of one column."""
    return prop("thresholds", look.thresholds(*given, below=below).build())


COLOURED_TEXT = prop("custom.cellOptions", {"type": "color-text"})


def words(**colours: str) -> list[model.DynamicConfigValue]:
    """Return the properties that colour these words of a column."""
    options = {word: {"color": colour, "index": nth} for nth, (word, colour) in enumerate(colours.items())}
    return [prop("mappings", [{"type": "value", "options": options}]), COLOURED_TEXT]


def lines(
    title: str,
    text: str,
    unit: str,
    *targets: Target,
    colours: look.Colours | None = None,
    limit: tuple[tuple[float, str], ...] = (),
    bars: bool = False,
    stacked: bool = False,
    lowest: float | None = 0,
    highest: float | None = None,
    empty: str = NOTHING,
    below: str = "transparent",
) -> timeseries.Panel:
    """Return lines over time, or bars; `limit` are values from which on a line and the area above are coloured."""
    legend = common.VizLegendOptions().display_mode(models.LegendDisplayMode.TABLE).show_legend(True)
    panel = timeseries.Panel().title(title).description(text).unit(unit).no_value(empty)
    panel.datasource(_source(targets)).span(8).height(8)
    panel.legend(legend.placement(models.LegendPlacement.BOTTOM).calcs(["lastNotNull", "max"]))
    tooltip = common.VizTooltipOptions().mode(models.TooltipDisplayMode.MULTI)
    panel.tooltip(tooltip.sort(models.SortOrder.DESCENDING))
    panel.draw_style(models.GraphDrawStyle.BARS if bars else models.GraphDrawStyle.LINE)
    panel.line_width(1 if bars else 2).fill_opacity(70 if bars else 0)
    panel.show_points(models.VisibilityMode.AUTO).color_scheme(look.by_value())
    if stacked:
        panel.stacking(common.StackingConfig().mode(models.StackingMode.NORMAL).group("A"))
    if limit:
        panel.thresholds(look.thresholds(*limit, below=below))
        style = models.GraphThresholdsStyleMode.DASHED
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(style))
    if lowest is not None:
        panel.min(lowest)
    if highest is not None:
        panel.max(highest)
    _colour(panel, colours or {})
    return _asking(panel, targets)


def number(
    title: str,
    text: str,
    unit: str,
    target: Target,
    *more: Target,
    steps: tuple[tuple[float, str], ...] = (),
    below: str = look.GOOD,
    empty: str = NOTHING,
    digits: int | None = None,
) -> stat.Panel:
    """Return the newest value as a number, coloured from each of `steps` on."""
    panel = stat.Panel().title(title).description(text).unit(unit).no_value(empty)
    panel.datasource(_source([target])).span(4).height(4).thresholds(look.thresholds(*steps, below=below))
    panel.color_scheme(build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS))
    panel.color_mode(models.BigValueColorMode.VALUE).graph_mode(models.BigValueGraphMode.NONE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields(""))
    if digits is not None:
        panel.decimals(digits)
    return _asking(panel, [target, *more])


def cells(
    title: str,
    text: str,
    unit: str,
    *targets: Target,
    columns: Columns,
    by: str = "",
    descending: bool = True,
    empty: str = NOTHING,
) -> table.Panel:
    """Return a table; `columns` are the properties of those that are not plain, `by` is what it is sorted by."""
    panel = table.Panel().title(title).description(text).unit(unit).no_value(empty)
    panel.datasource(_source(targets)).span(24).height(9).filterable(True)
    panel.thresholds(look.thresholds()).color_scheme(
        build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS)
    )
    panel.footer(common.TableFooterOptions().show(False).enable_pagination(True))
    if by:
        panel.sort_by([common.TableSortByFieldState().display_name(by).desc(descending)])
    for name, properties in columns.items():
        panel.override_by_name(name, properties)
    return _asking(panel, targets)


def numbered(title: str, text: str, unit: str, x: str, *targets: Target) -> trend.Panel:
    """Return lines over a column of numbers that rise."""
    legend = common.VizLegendOptions().display_mode(models.LegendDisplayMode.TABLE).show_legend(True)
    panel = trend.Panel().title(title).description(text).unit(unit).no_value(NOTHING)
    panel.datasource(_source(targets)).span(12).height(9).x_field(x)
    panel.legend(legend.placement(models.LegendPlacement.BOTTOM).calcs(["lastNotNull", "min", "max"]))
    tooltip = common.VizTooltipOptions().mode(models.TooltipDisplayMode.MULTI)
    panel.tooltip(tooltip.sort(models.SortOrder.NONE)).color_scheme(look.by_value()).line_width(2)
    return _asking(panel, targets)


def as_band(panel: Any, low: str, middle: str, high: str) -> Any:
    """Draw three lines of a panel as a line in a band."""
    pale = [look.fixed(look.SKY), prop("custom.lineWidth", 0), prop("custom.showPoints", "never")]
    panel.override_by_name(low, pale)
    filled = [*pale, prop("custom.fillBelowTo", low), prop("custom.fillOpacity", 25)]
    panel.override_by_name(high, filled)
    panel.override_by_name(middle, [look.fixed(look.BLUE), prop("custom.lineWidth", 2)])
    return panel


def in_unit_of(panel: Any, names: str) -> Any:
    """Have what the query `unit` tells be the unit of the columns with these names, a regular expression."""
    options = {
        "configRefId": "unit",
        "mappings": [{"fieldName": "unit", "handlerKey": "unit"}],
        "applyTo": {"id": "byRegexp", "options": f"/^({names})$/"},
    }
    return panel.with_transformation(model.DataTransformerConfig(id_val="configFromData", options=options))


def renamed(panel: Any, names: Mapping[str, str], *without: str, merged: bool = False) -> Any:
    """Name the columns of what Prometheus tells as people do, in this order, and leave others out."""
    if merged:
        panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    options = {
        "renameByName": dict(names),
        "indexByName": {name: nth for nth, name in enumerate(names)},
        "excludeByName": dict.fromkeys(("Time", *without), True),
    }
    return panel.with_transformation(model.DataTransformerConfig(id_val="organize", options=options))


def _source(targets: Sequence[Target]) -> model.DataSourceRef:
    return POSTGRES if isinstance(targets[0], Sql) else PROMETHEUS


def _colour(panel: timeseries.Panel, colours: look.Colours) -> None:
    for name, colour in colours.items():
        override = panel.override_by_regexp if name[0] == "/" else panel.override_by_name
        override(name, [look.fixed(colour)])


def _asking(panel: P, targets: Iterable[Target]) -> P:
    for target in targets:
        panel.with_target(target)
    return panel


def sized(panel: Any, width: int, height: int | None = None) -> Any:
    """Give a panel another width, of 24, and another height."""
    panel.span(width)
    return panel if height is None else panel.height(height)


def source(kind: str) -> build.DatasourceVariable:
    """Return the variable that says which of Grafana's data sources is asked; ours is preset."""
    name, title = ("postgres", "PostgreSQL") if kind == POSTGRES_KIND else ("prometheus", "Prometheus")
    ours = model.VariableOption(text=f"Ratchet {title}", value=f"ratchet-{name}", selected=True)
    about = (
        "Ratchet's database, as a user who reads its views" if name == "postgres" else "What scrapes Ratchet"
    )
    return build.DatasourceVariable(name).label(title).description(about).type(kind).current(ours)


def of_rows(name: str, label: str, text: str, sql: str, *, several: bool = True) -> build.QueryVariable:
    """Return a variable whose values are rows of a query."""
    variable = build.QueryVariable(name).label(label).description(text).datasource(POSTGRES)
    variable.query(Sql(sql).text).refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED).allow_custom_value(
        False
    )
    if several:
        variable.multi(True).include_all(True).current(EVERY)
    return variable.sort(model.VariableSort.DISABLED)


def of_label(name: str, label: str, text: str, metric: str, *, key: str | None = None) -> build.QueryVariable:
    """Return a variable whose values are those of a label; all of them, and none, are chosen at first."""
    variable = build.QueryVariable(name).label(label).description(text).datasource(PROMETHEUS)
    asked = f"label_values({metric},{key or name})"
    variable.query({"query": asked, "refId": "values", "qryType": 1})
    variable.refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(model.VariableSort.NATURAL_ASC)
    return variable.multi(True).include_all(True).all_value(".*").current(EVERY)


EVERY = model.VariableOption(text=["All"], value=["$__all"], selected=True)


def marks(name: str, colour: str, sql: str) -> Annotation:
    """Return rows of a query as marks over time."""
    return Annotation(name, colour, Sql(sql, ref_id="marks"))


class Annotation(build.AnnotationQuery):
    """An annotation that asks PostgreSQL; the package only knows those of Grafana itself."""

    def __init__(self, name: str, colour: str, asked: Sql) -> None:
        super().__init__()
        self.name(name).datasource(POSTGRES).enable(True).icon_color(colour)
        self._internal.target = asked  # type: ignore[assignment]


class Address(build.ConstantVariable):
    """Where Ratchet is: no link may say something else, so that a link to a dashboard leads to no stranger's pages."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._internal.skip_url_sync = True


def board(uid: str, title: str, text: str, *, since: str, refresh: str, address: str) -> build.Dashboard:
    """Return a dashboard without panels, with the links that each has."""
    made = build.Dashboard(f"Ratchet · {title}").uid(uid).description(text).tags([TAG, title.lower()])
    made.time(since, "now").refresh(refresh).timezone("browser").editable()
    made.tooltip(model.DashboardCursorSync.CROSSHAIR)
    others = build.DashboardLink("Ratchet's dashboards").type(model.DashboardLinkType.DASHBOARDS).tags([TAG])
    made.link(others.keep_time(True).include_vars(True).icon("dashboard").tooltip("the other dashboards"))
    made.with_variable(Address("ratchet").label("Ratchet").value(address))
    return made


def page_link(made: build.Dashboard, title: str, path: str) -> None:
    """Link a dashboard to a page of Ratchet itself."""
    its = build.DashboardLink(title).type(model.DashboardLinkType.LINK).url(f"${{ratchet}}{path}")
    made.link(its.icon("external link").target_blank(True).tooltip(f"{title} in Ratchet"))


def row(made: build.Dashboard, title: str, *panels: Any) -> None:
    """Add a row; its panels follow each other from left to right, and on to the next line."""
    made.with_row(build.Row(title))
    for panel in panels:
        made.with_panel(panel)
