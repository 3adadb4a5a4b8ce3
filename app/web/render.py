"""Fill a page's template. What a person or a machine named is text: escaped, on one line, of bounded length.

The templates are `dashboards/templates`; what a page shares with the report (verdict, rows, environment,
pictures) comes from the report's own templates, so that both are one piece.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from fastapi import Request
from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from app.domain.results import case_label
from app.domain.units import format_quantity
from app.reports import quantities, text
from app.reports.device_states import TITLES
from app.reports.hardware_words import (
    SOURCES,
    hardware_sentence,
    level_range,
    level_text,
    metric_of,
    price_text,
)
from app.reports.hardware_words import TITLES as QUANTITIES
from app.reports.html import report_environment
from app.reports.words import CONCLUSIONS, count, explain_flag
from app.web import times, words
from app.web.browser_names import browser_name
from app.web.guard import secure, sign_in_path
from app.web.mark_words import failed_words, void_words
from app.web.noise_words import detectable_sentence, noise_sentence
from app.web.reading_picture import reading_picture
from app.web.sample_picture import sample_picture
from app.web.sentences import (
    alert_devices,
    alert_extent,
    alert_sentence,
    check_sentence,
    deed_sentence,
    fact_sentence,
    health_sentence,
    reason_sentence,
)
from app.web.spark_picture import spark_picture
from app.web.static import static_text, static_url
from app.web.timing_picture import timing_picture
from app.web.trend_picture import tone, trend_picture

NAVIGATION = (
    ("/", "Checks"),
    ("/alerts", "Alerts"),
    ("/series", "Series"),
    ("/runs", "Runs"),
    ("/workers", "Workers"),
    ("/weekly", "Weekly"),
    ("/health", "Health"),
)


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return the filled template as a page with its headers.

    Args:
        request: what is answered.
        template: a file of `dashboards/templates`.
        status: the HTTP status.
        values: what the template shows, besides `now`, `viewer`, `restoration`, `path`, `sign_in_path` and the
            navigation.
    """
    html = (
        _environment()
        .get_template(template)
        .render(
            now=datetime.now(UTC),
            path=request.url.path,
            sign_in_path=sign_in_path(request),
            viewer=getattr(request.state, "viewer", None),
            restoration=getattr(request.state, "restoration", None),
            navigation=NAVIGATION,
            **values,
        )
    )
    return secure(HTMLResponse(html, status), request)


def standalone(template: str, **values: Any) -> str:
    """Return the filled template as a document that loads nothing: its style sheets are put into it."""
    style = "\n".join(static_text(name) for name in ("ratchet.css", "report.css", "pages.css"))
    return _environment().get_template(template).render(style=Markup(style), **values)  # noqa: S704  # our own files


@cache
def _environment() -> Environment:
    shared = report_environment()
    environment = shared.overlay(
        loader=ChoiceLoader([PackageLoader("dashboards"), PackageLoader("app.reports")])
    )
    environment.globals = dict(shared.globals)
    environment.filters = dict(shared.filters)
    environment.filters.update(
        ago=times.ago,
        browser_name=browser_name,
        exact=times.exact,
        duration=quantities.duration,
        percent=quantities.percent,
        name=text.name,
        line=text.plain,
        tail=text.tail,
        explain_flag=explain_flag,
        alert_devices=alert_devices,
        alert_extent=alert_extent,
        alert_sentence=alert_sentence,
        check_sentence=check_sentence,
        deed_sentence=deed_sentence,
        detectable_sentence=detectable_sentence,
        fact_sentence=fact_sentence,
        failed_words=failed_words,
        void_words=void_words,
        health_sentence=health_sentence,
        noise_sentence=noise_sentence,
        reason_sentence=reason_sentence,
        reading_picture=reading_picture,
        sample_picture=sample_picture,
        timing_picture=timing_picture,
        trend_picture=trend_picture,
        tone=tone,
        quantity=format_quantity,
        signed=quantities.change,
        factor=quantities.factor,
        hardware_sentence=hardware_sentence,
        level_range=level_range,
        level_text=level_text,
        metric_of=metric_of,
        price_text=price_text,
    )
    environment.globals.update(
        static=static_url,
        count=count,
        seconds_between=times.seconds_between,
        words=words,
        spark_picture=spark_picture,
        interval=quantities.interval,
        between=quantities.between,
        in_columns=quantities.in_columns,
        case_label=case_label,
        reading_titles=TITLES,
        factors=quantities.factors,
        quantity_titles=QUANTITIES,
        source_words=SOURCES,
        CONCLUSIONS=CONCLUSIONS,
    )
    return environment
