"""The HTML report of a check: one file that needs nothing else, on a phone, on a desk, on paper.

Style sheet, icon and script are put into the file; it loads nothing from anywhere. What it says is decided in
`view`; this module only fills the templates.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from app.domain.results import CheckResult
from app.reports.case_names import case_markup
from app.reports.troubles import NAMES_AT_ONCE
from app.reports.view import report_view


def render_report(result: CheckResult) -> str:
    """Return the report of a check, complete or not, as one HTML document."""
    return report_environment().get_template("report.html").render(view=report_view(result))


def unbroken(text: str) -> str:
    """Keep numbers and the percent sign behind them on one line."""
    return text.replace(" %", "\u00a0%")


@cache
def report_environment() -> Environment:
    """Return the templates of the report, with the filters that the pages use too."""
    environment = Environment(
        loader=PackageLoader("app.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    static = files("dashboards").joinpath("static")
    templates = files("app.reports").joinpath("templates")
    environment.filters["unbroken"] = unbroken
    environment.filters["case_parts"] = case_markup
    environment.globals.update(
        at_once=NAMES_AT_ONCE,
        style=_own(static.joinpath("ratchet.css").read_text("utf-8"))
        + _own(templates.joinpath("report.css").read_text("utf-8"))
        + _own(templates.joinpath("roofline.css").read_text("utf-8"))
        + _own(templates.joinpath("efficiency.css").read_text("utf-8")),
        script=_own(templates.joinpath("filter.js").read_text("utf-8")),
        icon_data=b64encode(static.joinpath("favicon.svg").read_bytes()).decode("ascii"),
    )
    return environment


def _own(text: str) -> Markup:
    """Return a file of ours, which is written to be put into a page as it is."""
    return Markup(text)  # noqa: S704
