"""How the service itself does, against its objectives: its API, checks, queue, GitHub, messages, database and disk."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from dashboards.grafana import look, parts
from dashboards.grafana.boards.own import (
    BANDS,
    MOMENT,
    RANGE,
    counted,
    own,
    quantile,
    rate,
    told,
    told_counted,
    told_rate,
)
from dashboards.grafana.parts import cells, decimals, lines, number, row, sized, unit
from dashboards.grafana.queries import PROMETHEUS_KIND, prom, prom_now, prom_rows

AVAILABILITY, FAILING = 0.999, 0.001
WEBHOOK_S, VISIBLE_S, VERDICT_S = 1, 30, 600
"""The objectives: API answers without 5xx, webhooks p99, checks visible p95, verdicts after the last sample p95."""

API = 'route=~"/api/.*"'
FAILED = 'status=~"5.*"'
QUANTILES = {"p50": look.BLUE, "p95": look.ORANGE, "p99": look.VERMILION}

OUTCOMES = {
    "ok": look.BLUE,
    "bench_failed": look.ORANGE,
    "infra_failed": look.VERMILION,
    "contaminated": look.PINK,
    "timed_out": look.YELLOW,
    "lost": look.GREY,
    "cancelled": look.SKY,
    "open": look.GREEN,
}
NO_TRAFFIC = "no traffic in this time range"
NOT_TOLD = "this metric is not told"


def service(address: str) -> Dashboard:
    """Return the dashboard of the service."""
    made = parts.board(
        "ratchet-service",
        "Service",
        "Whether Ratchet itself does what it promises: its objectives first, then every part that they rest "
        "on.",
        since="now-6h",
        refresh="30s",
        address=address,
    )
    parts.page_link(made, "Health", "/health")
    made.with_variable(parts.source(PROMETHEUS_KIND))
    made.with_variable(
        parts.of_label("job", "Job", "Prometheus' scrape job of Ratchet", "ratchet_workers_live")
    )
    row(made, "Objectives", *_objectives())
    row(made, "API", *_api())
    row(made, "Checks", *_checks())
    row(made, "Queue and leases", *_queue())
    row(made, "GitHub", *_forge())
    row(made, "Messages", *_messages())
    row(made, "Database, disk and clock", *_below())
    return made


def _failing(window: str, part: str = API) -> str:
    """Return the share of requests that failed; those without a failure have 0, and without traffic there is none."""
    counted = own("ratchet_http_requests_total", part)
    failed = own("ratchet_http_requests_total", part, FAILED)
    every = f"sum(rate({counted}[{window}]))"
    return f"(sum(rate({failed}[{window}])) or 0 * {every}) / {every}"


def _objectives() -> tuple[object, ...]:
    def late(share: float, name: str, title: str, text: str, limit: float) -> object:
        return number(
            title,
            text,
            "s",
            prom_now(quantile(share, name, RANGE)),
            steps=((limit / 2, look.WATCH), (limit, look.WORRY)),
            empty=NO_TRAFFIC,
        )

    numbers = (
        number(
            "API available",
            "Share of requests to the API in this time range that were not answered with 5xx. The objective "
            "is 99.9 %: below it the number is vermilion.",
            "percentunit",
            prom_now(f"1 - {_failing(RANGE)}"),
            steps=((AVAILABILITY, look.WATCH), (0.9995, look.GOOD)),
            below=look.WORRY,
            empty=NO_TRAFFIC,
            digits=3,
        ),
        late(
            0.99,
            "ratchet_webhook_seconds",
            "Webhooks answered, p99",
            "What 99 of 100 deliveries of GitHub were answered within. The objective is below 1 s; GitHub "
            "gives up after 10.",
            WEBHOOK_S,
        ),
        late(
            0.95,
            "ratchet_check_visible_seconds",
            "Check visible, p95",
            "From a request to its status being said at the forge, for 95 of 100. The objective is below 30 "
            "s.",
            VISIBLE_S,
        ),
        late(
            0.95,
            "ratchet_verdict_delay_seconds",
            "Verdict after the last sample, p95",
            "From the last sample of a check to its verdict, for 95 of 100. The objective is within 10 "
            "minutes.",
            VERDICT_S,
        ),
        number(
            "Checks overdue",
            "Checks that are open for more than 5 minutes after their deadline. The objective is none: "
            "worry about each. A job that was lost would show here.",
            "none",
            prom_now(told("ratchet_checks_overdue")),
            steps=((1, look.WORRY),),
            empty=NOT_TOLD,
        ),
        number(
            "Age of the last sweep",
            "Since leases and deadlines were last looked at, which is every 10 s. While it stands still, "
            "nothing that is lost is found: worry above a minute.",
            "s",
            prom_now(told("ratchet_sweep_age_seconds")),
            steps=((30, look.WATCH), (60, look.WORRY)),
            empty=NOT_TOLD,
        ),
    )
    total = f"sum({told('ratchet_jobs', 'state')})"
    kept = (
        number(
            "Jobs lost",
            "By how much there are fewer jobs than there have been in this time range. No job is ever "
            "deleted, so the objective is none: worry about each. One that only lost its agent is queued "
            "again, and is no loss.",
            "none",
            prom_now(f"clamp_min(max_over_time({total}[$__range:1m]) - {total}, 0)"),
            steps=((1, look.WORRY),),
            empty=NOT_TOLD,
            digits=0,
        ),
        number(
            "Double effects: late posts refused",
            "Posts of an agent whose lease had ended, in this time range. The objective is no double "
            "effect: each of these would have been one, and was refused. Worry when there are many: agents "
            "hang for longer than their lease.",
            "none",
            prom_now(counted("ratchet_stale_posts_total")),
            steps=((0.5, look.WATCH), (10, look.WORRY)),
            empty=NOT_TOLD,
            digits=0,
        ),
        number(
            "Double effects: webhooks repeated",
            "Deliveries that came again and were recognised, in this time range. GitHub repeats what was "
            "not answered in time: worry when it grows with the answer's time.",
            "none",
            prom_now(counted("ratchet_webhooks_total", labels=('result="duplicate"',))),
            empty=NO_TRAFFIC,
            digits=0,
        ),
    )
    return *numbers, *(sized(one, 8) for one in kept)


def _api() -> tuple[object, ...]:
    slow = f"sort_desc({quantile(0.95, 'ratchet_http_request_seconds', RANGE, 'route')})"
    counts = counted("ratchet_http_requests_total", "route")
    failures = counted("ratchet_http_requests_total", "route", labels=(FAILED,))
    table = cells(
        "Routes",
        "Each route's requests in this time range, what 95 of 100 were answered within, and how many failed "
        "with 5xx; the slowest first. Worry about failures, and about routes of agents above a second.",
        "none",
        prom_rows(slow, "A"),
        prom_rows(counts, "B"),
        prom_rows(failures, "C"),
        columns={
            "p95": unit("s", parts.steps((1, look.WATCH), (5, look.WORRY)), parts.COLOURED_TEXT),
            "Requests": unit("none", decimals(0)),
            "Failed": unit("none", decimals(0), parts.steps((0.5, look.WORRY)), parts.COLOURED_TEXT),
        },
        by="p95",
        empty=NO_TRAFFIC,
    )
    names = {"route": "Route", "Value #B": "Requests", "Value #A": "p95", "Value #C": "Failed"}
    return (
        lines(
            "Requests a second, by answer",
            "Requests to everything that the service serves, by status. Worry about 5xx; 429 and 503 are "
            "how it protects itself.",
            "reqps",
            prom(rate("ratchet_http_requests_total", "status"), "{{status}}"),
            colours={
                "/^2/": look.BLUE,
                "/^3/": look.SKY,
                "/^4/": look.ORANGE,
                "/^5/": look.VERMILION,
            },
            stacked=True,
            empty=NO_TRAFFIC,
        ),
        lines(
            "Share of API requests that fail",
            "5xx over all, of the API. The dashed line is the objective's 0.1 %: what lies above it uses up "
            "what may fail.",
            "percentunit",
            prom(_failing(MOMENT), "failing"),
            colours={"failing": look.VERMILION},
            limit=((FAILING, look.WORRY),),
            empty=NO_TRAFFIC,
        ),
        lines(
            "Time to answer",
            "What 50, 95 and 99 of 100 requests to any route were answered within. Worry when p95 leaves "
            "its usual height.",
            "s",
            *_quantiles("ratchet_http_request_seconds", 0.5, 0.95, 0.99),
            colours=QUANTILES,
            empty=NO_TRAFFIC,
        ),
        sized(parts.renamed(table, names, merged=True), 24),
    )


def _quantiles(name: str, *shares: float) -> list[parts.Target]:
    return [
        prom(quantile(share, name, MOMENT), f"p{share * 100:.0f}", chr(ord("A") + nth))
        for nth, share in enumerate(shares)
    ]


def _checks() -> tuple[object, ...]:
    return (
        lines(
            "Until a check is visible",
            "From the request to its status being said at the forge. The objective, dashed, is 30 s for 95 "
            "of 100.",
            "s",
            *_quantiles("ratchet_check_visible_seconds", 0.5, 0.95),
            colours=QUANTILES,
            limit=((VISIBLE_S, look.WORRY),),
            empty=NO_TRAFFIC,
        ),
        lines(
            "From the last sample to the verdict",
            "The objective, dashed, is 10 minutes for 95 of 100. Worry when it grows: tasks are behind.",
            "s",
            *_quantiles("ratchet_verdict_delay_seconds", 0.5, 0.95),
            colours=QUANTILES,
            limit=((VERDICT_S, look.WORRY),),
            empty=NO_TRAFFIC,
        ),
        lines(
            "Overdue checks and open alerts",
            "Checks open for more than 5 minutes after their deadline, of which there should be none, and "
            "alerts that wait for somebody, by state.",
            "none",
            prom(told("ratchet_checks_overdue"), "checks overdue"),
            prom(
                told("ratchet_alerts_open", "state", labels=('state=~"new|acknowledged|investigating"',)),
                "alerts {{state}}",
                "B",
            ),
            colours={
                "checks overdue": look.VERMILION,
                "alerts new": look.ORANGE,
                "alerts acknowledged": look.SKY,
                "alerts investigating": look.BLUE,
            },
            empty=NOT_TOLD,
        ),
    )


def _queue() -> tuple[object, ...]:
    ended = own("ratchet_attempts", 'outcome!="open"')
    return (
        lines(
            "Until a job is taken",
            "How long jobs waited from being queued to an agent's claim. Worry when p95 grows while devices "
            "are idle.",
            "s",
            *_quantiles("ratchet_claim_latency_seconds", 0.5, 0.95),
            colours=QUANTILES,
            empty=NO_TRAFFIC,
        ),
        lines(
            "Age of the oldest queued job, by band",
            "Worry when that of pull requests crosses the dashed hour.",
            "s",
            prom(told("ratchet_queue_oldest_seconds", "band"), "{{band}}"),
            colours=BANDS,
            limit=((3600, look.WORRY),),
            empty="nothing waits",
        ),
        lines(
            "Jobs by state",
            "Jobs that are queued, leased or running. Running ones are at most as many as devices; worry "
            "when leased ones stay.",
            "none",
            prom(told("ratchet_jobs", "state", labels=('state=~"queued|leased|running"',)), "{{state}}"),
            colours={"queued": look.ORANGE, "leased": look.SKY, "running": look.BLUE},
            stacked=True,
            empty="no job is open",
        ),
        lines(
            "Attempts that ended, by outcome",
            "How many attempts ended in the hour before, by how. Worry when infra_failed and contaminated "
            "outweigh ok: it is the machines.",
            "none",
            prom(
                f"clamp_min(max by (outcome) (delta({ended}[1h])), 0)",
                "{{outcome}}",
            ),
            colours=OUTCOMES,
            stacked=True,
            empty="no attempt is known",
        ),
        lines(
            "What goes wrong with leases",
            "Of the last hour: leases that ran out, late posts that were refused, machines that were not "
            "fit to measure. Worry about anything that stays above 0.",
            "none",
            prom(told_counted("ratchet_lease_expiries_total", over="1h"), "ran out"),
            prom(counted("ratchet_stale_posts_total", over="1h"), "late posts", "B"),
            prom(told_counted("ratchet_preflight_failures_total", over="1h"), "not fit", "C"),
            colours={"ran out": look.VERMILION, "late posts": look.ORANGE, "not fit": look.PINK},
            empty=NOT_TOLD,
        ),
        lines(
            "Signs of life",
            "Since the sweep last ran, and since the worker was heard of that is silent for longest. A "
            "lease ends after 60 s (dashed): worry above.",
            "s",
            prom(told("ratchet_sweep_age_seconds"), "sweep"),
            prom(told("ratchet_heartbeat_age_seconds"), "worker", "B"),
            colours={"sweep": look.BLUE, "worker": look.ORANGE},
            limit=((60, look.WORRY),),
            empty=NOT_TOLD,
        ),
    )


def _forge() -> tuple[object, ...]:
    return (
        sized(
            lines(
                "Webhooks a second, by result",
                "Deliveries of GitHub: received, duplicate (recognised and let go), refused (a wrong "
                "signature, or too large). Worry about refused ones: the secret is wrong, or a stranger "
                "knocks.",
                "reqps",
                prom(rate("ratchet_webhooks_total", "result"), "{{result}}"),
                colours={"received": look.BLUE, "duplicate": look.ORANGE, "refused": look.VERMILION},
                empty="no webhook came",
            ),
            6,
        ),
        sized(
            lines(
                "Time to answer webhooks",
                "The objective, dashed, is 1 s for 99 of 100.",
                "s",
                *_quantiles("ratchet_webhook_seconds", 0.5, 0.99),
                colours=QUANTILES,
                limit=((WEBHOOK_S, look.WORRY),),
                empty="no webhook came",
            ),
            6,
        ),
        sized(
            lines(
                "Calls of GitHub a second, by answer",
                "Worry about 401 (credentials), 403 and 429 (it limits us), 5xx (it is ill: what should be "
                "said waits).",
                "reqps",
                prom(told_rate("ratchet_forge_calls_total", "code"), "{{code}}"),
                colours={
                    "/^2/": look.BLUE,
                    "/^3/": look.SKY,
                    "/^4/": look.ORANGE,
                    "/^5/": look.VERMILION,
                    "none": look.GREY,
                },
                stacked=True,
                empty="GitHub was not called",
            ),
            6,
        ),
        sized(
            number(
                "Quota left",
                "Calls that GitHub still allows before the hour ends, of the installation that has fewest. "
                "Worry below 500: what is to be said is put off.",
                "none",
                prom_now(f"min({own('ratchet_forge_quota_remaining')})"),
                steps=((500, look.WATCH), (1000, look.GOOD)),
                below=look.WORRY,
                empty="GitHub was not called",
            ),
            6,
            8,
        ),
    )


def _messages() -> tuple[object, ...]:
    return (
        lines(
            "Messages that wait, by topic",
            "The outbox: what was decided and not yet sent on. It should be near 0. Worry when it grows: "
            "the relay or Redis is away.",
            "none",
            prom(told("ratchet_outbox_depth", "topic"), "{{topic}}"),
            empty="nothing waits",
        ),
        lines(
            "Age of the oldest, by topic",
            "Worry above a minute (dashed): the clock looks every ten seconds.",
            "s",
            prom(told("ratchet_outbox_oldest_seconds", "topic"), "{{topic}}"),
            limit=((60, look.WORRY),),
            empty="nothing waits",
        ),
        lines(
            "Messages that were refused, by topic",
            "Messages of the outbox whose sending has failed and that are tried again. Worry about any that "
            "stay.",
            "none",
            prom(told("ratchet_outbox_failures", "topic"), "{{topic}}"),
            empty="none was refused",
        ),
        sized(
            lines(
                "Notifications",
                "What people are told outside, by kind and state. Worry when failed ones grow, or waiting "
                "ones stay.",
                "none",
                prom(told("ratchet_notifications", "kind", "state"), "{{kind}} {{state}}"),
                empty="nobody was to be told",
            ),
            12,
        ),
        sized(
            lines(
                "Behind GitHub",
                "How long what GitHub should be told has waited, at most. Worry above 30 s (dashed): checks "
                "are seen late.",
                "s",
                prom(told("ratchet_delivery_lag_seconds"), "lag"),
                colours={"lag": look.BLUE},
                limit=((VISIBLE_S, look.WORRY),),
                empty="nothing is to be told",
            ),
            12,
        ),
    )


def _below() -> tuple[object, ...]:
    held = own("ratchet_database_connections", 'state="in_use"')
    versions = prom_rows(f"count by (version, revision, instance) ({own('ratchet_build_info')})")
    table = cells(
        "Releases",
        "Which release each process runs. Worry when two stay side by side for longer than a deployment "
        "takes.",
        "none",
        versions,
        columns={},
        empty=NOT_TOLD,
    )
    names = {"instance": "Process", "version": "Version", "revision": "Revision"}
    numbers = (
        number(
            "Disk free",
            "Free share of the disk with the data, of the process that has least. Worry at 10 %: when it is "
            "full, uploads are refused.",
            "percentunit",
            prom_now(f"min({own('ratchet_disk_free_bytes')} / {own('ratchet_disk_size_bytes')})"),
            steps=((0.1, look.WATCH), (0.2, look.GOOD)),
            below=look.WORRY,
            empty=NOT_TOLD,
            digits=0,
        ),
        number(
            "Free",
            "Free bytes on the same disk. Worry when it falls faster than retention gives back.",
            "bytes",
            prom_now(f"min({own('ratchet_disk_free_bytes')})"),
            empty=NOT_TOLD,
        ),
        number(
            "Age of the backup",
            "Since the last backup was made; there is one a day. Worry above 26 hours, and when there is "
            "none.",
            "s",
            prom_now(f"min({own('ratchet_backup_age_seconds')})"),
            steps=((26 * 3600, look.WORRY),),
            empty="there is no backup",
        ),
        number(
            "Restored, and observes",
            "1 from a restore until somebody has the service go on: nothing is measured, and nobody is told. "
            "Worry when nobody is at it.",
            "none",
            prom_now(f"max({own('ratchet_observing')})"),
            steps=((1, look.WATCH),),
            empty=NOT_TOLD,
            digits=0,
        ),
        number(
            "Clock's offset",
            "How far a process's clock is from the database's, either way, at most. Worry above 5 s: ages "
            "and time limits are wrong by it.",
            "s",
            prom_now(f"max(abs({own('ratchet_clock_offset_seconds')}))"),
            steps=((1, look.WATCH), (5, look.WORRY)),
            empty=NOT_TOLD,
        ),
        number(
            "Since retention ran",
            "Since everything older than it is kept was last deleted, which is daily. Worry above two days: "
            "the disk fills.",
            "s",
            prom_now(told("ratchet_retention_seconds")),
            steps=((26 * 3600, look.WATCH), (2 * 86400, look.WORRY)),
            empty="it has not run yet",
        ),
        number(
            "Connections in use",
            "Connections to the database in use, over those that may be, of the process that has most. "
            "Worry above 80 %: requests wait for one.",
            "percentunit",
            prom_now(f"max({held} / on (job, instance) {own('ratchet_database_connections_limit')})"),
            steps=((0.6, look.WATCH), (0.8, look.WORRY)),
            empty=NOT_TOLD,
            digits=0,
        ),
    )
    spans = (3, 3, 4, 3, 4, 4, 3)
    return (
        *(sized(one, span) for one, span in zip(numbers, spans, strict=True)),
        sized(
            lines(
                "Connections to the database",
                "Over all processes that are scraped: in use, idle, and how many there may be at most "
                "(dashed would be full).",
                "none",
                prom(f"sum by (state) ({own('ratchet_database_connections')})", "{{state}}"),
                prom(f"sum({own('ratchet_database_connections_limit')})", "limit", "B"),
                colours={"in_use": look.BLUE, "idle": look.SKY, "limit": look.VERMILION},
                empty=NOT_TOLD,
            ),
            8,
        ),
        sized(
            lines(
                "Free space",
                "Free share of the disk with the data. Worry at 10 % (dashed), and when it falls steadily: "
                "when it is full, uploads are refused.",
                "percentunit",
                prom(f"min({own('ratchet_disk_free_bytes')} / {own('ratchet_disk_size_bytes')})", "free"),
                colours={"free": look.BLUE},
                highest=1,
                limit=((0.1, "transparent"),),
                below=look.WORRY,
                empty=NOT_TOLD,
            ),
            8,
        ),
        sized(parts.renamed(table, names, "Value"), 8, 8),
    )
