"""Worlds that Prometheus' rules look at, minute by minute, and which alerts fire in them.

Each is the well one but for some of its series. Values are as promtool writes them: `0+60x100` is a hundred minutes of
60 more each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LASTS = 800
"""Minutes: longer than any world is looked at."""

REQUESTS = 'ratchet_http_requests_total{instance="a", route="/api/v1/results", method="POST", status="%s"}'
OK, FAILED = REQUESTS % 201, REQUESTS % 503


def _delays(name: str, within: str, beyond: str = "", *, share: int = 100) -> dict[str, str]:
    """Return a histogram's buckets of which so many in a hundred are within a bound, the others within the next."""
    buckets = {within: share, beyond or within: 100, "+Inf": 100} if beyond else {within: 100, "+Inf": 100}
    series = 'ratchet_{}_seconds_bucket{{instance="a", le="{}"}}'
    return {series.format(name, le): f"0+{number}x{LASTS}" for le, number in buckets.items()}


WELL = {
    'up{job="ratchet", instance="a"}': "1",
    'ratchet_database_up{job="ratchet", instance="a"}': "1",
    OK: "0+1000",
    'ratchet_http_requests_total{instance="a", route="/readyz", method="GET", status="503"}': "0+60",
    'ratchet_jobs{instance="a", state="succeeded"}': "100+1",
    'ratchet_jobs{instance="b", state="succeeded"}': "100+1",
    'ratchet_checks_overdue{instance="a"}': "0",
    'ratchet_outbox_oldest_seconds{instance="a", topic="forge.tell"}': "2",
    'ratchet_outbox_failures{instance="a", topic="forge.tell"}': "0",
    'ratchet_sweep_age_seconds{instance="a"}': "7",
    'ratchet_backup_age_seconds{instance="a"}': "50000",
    'ratchet_observing{instance="a"}': "0",
    'ratchet_disk_free_bytes{instance="a"}': "20",
    'ratchet_disk_size_bytes{instance="a"}': "100",
    'ratchet_clock_offset_seconds{instance="a"}': "-0.01",
    'ratchet_database_connections{instance="a", state="in_use"}': "3",
    'ratchet_database_connections_limit{instance="a"}': "20",
    'ratchet_delivery_lag_seconds{instance="a"}': "1",
    'ratchet_forge_quota_remaining{instance="a"}': "4000",
    'ratchet_devices{instance="a", health="quarantined"}': "0",
    'ratchet_queue_depth{instance="a", band="push", device_class="a100"}': "4",
    'ratchet_devices_live{instance="a", device_class="a100"}': "2",
    'ratchet_heartbeat_age_seconds{instance="a"}': "9",
    'ratchet_lease_expiries_total{instance="a"}': "5",
    'ratchet_preflight_failures_total{instance="a"}': "5",
} | {
    series: values.removesuffix(f"x{LASTS}")
    for name, bound in (("webhook", "1.0"), ("check_visible", "30.0"), ("verdict_delay", "600.0"))
    for series, values in _delays(name, bound).items()
}


@dataclass(frozen=True)
class World:
    """What is otherwise than well, when no alert fires yet, and which ones do later [minutes]."""

    name: str
    series: dict[str, str] = field(default_factory=dict)
    quiet_at: int | None = None
    fires: tuple[str, ...] = ()
    at: int = 0
    without: tuple[str, ...] = ()
    """Series that there are none of."""

    def tests(self) -> dict[str, Any]:
        """Return it as promtool takes it."""
        own = {name.partition("{")[0] for name in (*self.series, *self.without)}
        well = {
            name: f"{values}x{LASTS}" for name, values in WELL.items() if name.partition("{")[0] not in own
        }
        moments = [(self.quiet_at, ()), (self.at, self.fires)]
        return {
            "name": self.name,
            "interval": "1m",
            "input_series": [{"series": s, "values": v} for s, v in {**well, **self.series}.items()],
            "promql_expr_test": [_fire(at, names) for at, names in moments if at],
        }


def _fire(at: int, names: tuple[str, ...]) -> dict[str, Any]:
    firing = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names]
    expression = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {"expr": expression, "eval_time": f"{at}m", "exp_samples": firing}


def _of(name: str, values: str, *labels: str) -> dict[str, str]:
    its = ", ".join(('instance="a"', *labels))
    return {f"ratchet_{name}{{{its}}}": values}


def _failing(share: int) -> dict[str, str]:
    """Return requests of which so many in a thousand fail."""
    return {OK: f"0+{1000 - share}x{LASTS}", FAILED: f"0+{share}x{LASTS}"}


WORLDS = (
    World("all is well for hours", quiet_at=300),
    World(
        "an api process is away for longer than a restart takes",
        {'up{job="ratchet", instance="a"}': "1x9 0x20"},
        quiet_at=11,
        fires=("RatchetApiDown",),
        at=15,
    ),
    World("nothing is scraped", without=("up",), quiet_at=1, fires=("RatchetApiDown",), at=5),
    World(
        "the database does not answer",
        {'ratchet_database_up{job="ratchet", instance="a"}': "1x9 0x20"},
        quiet_at=10,
        fires=("RatchetDatabaseAway",),
        at=13,
    ),
    World(
        "two in a hundred answers are errors of ours, and have been for ten minutes",
        _failing(20),
        quiet_at=1,
        fires=("RatchetErrorBudgetBurnsFast",),
        at=10,
    ),
    World(
        "one in a hundred for two hours, which is too slow for the first alert",
        _failing(10),
        quiet_at=5,
        fires=("RatchetErrorBudgetBurns", "RatchetErrorBudgetBurnsSlowly"),
        at=100,
    ),
    World("four in a thousand", _failing(4), quiet_at=30, fires=("RatchetErrorBudgetBurnsSlowly",), at=100),
    World("two in a thousand", _failing(2), quiet_at=100, fires=("RatchetErrorBudgetBurnsThrough",), at=300),
    World("a quarter of one in a thousand", {OK: "0+4000x800", FAILED: "0+1x800"}, 400),
    World(
        "nearly all connections are in use",
        _of("database_connections", "19x30", 'state="in_use"'),
        quiet_at=4,
        fires=("RatchetConnectionsUsedUp",),
        at=10,
    ),
    World(
        "some messages of GitHub wait for longer than a second",
        _delays("webhook", "1.0", "2.5", share=90),
        quiet_at=5,
        fires=("RatchetWebhooksSlow",),
        at=20,
    ),
    World(
        "some statuses take longer than half a minute",
        _delays("check_visible", "30.0", "60.0", share=90),
        quiet_at=5,
        fires=("RatchetChecksInvisible",),
        at=20,
    ),
    World(
        "some verdicts take longer than ten minutes",
        _delays("verdict_delay", "600.0", "1200.0", share=90),
        quiet_at=5,
        fires=("RatchetVerdictsLate",),
        at=20,
    ),
    World("a check does not end", _of("checks_overdue", "0x5 1x20"), 6, ("RatchetChecksStuck",), 10),
    World(
        "a restored service observes: what waits for it to go on is not told besides",
        _of("observing", "1x100") | _of("checks_overdue", "3x100") | _of("delivery_lag_seconds", "9000x100"),
        quiet_at=50,
        fires=("RatchetObserves",),
        at=70,
    ),
    World(
        "there are fewer jobs than there were",
        _of("jobs", "100x20 90x40", 'state="succeeded"') | _of("jobs", "3x60", 'state="queued"'),
        quiet_at=20,
        fires=("RatchetJobsLost",),
        at=30,
    ),
    World(
        "jobs end, and others come",
        _of("jobs", "100+2x60", 'state="succeeded"') | _of("jobs", "60-1x60", 'state="queued"'),
        quiet_at=50,
    ),
    World(
        "messages wait",
        _of("outbox_oldest_seconds", "0+30x30", 'topic="forge.tell"'),
        quiet_at=6,
        fires=("RatchetOutboxNotDrained",),
        at=12,
    ),
    World(
        "messages cannot be sent, and are tried again and again",
        _of("outbox_failures", "2x30", 'topic="forge.tell"'),
        quiet_at=4,
        fires=("RatchetOutboxNotDrained",),
        at=8,
    ),
    World(
        "nobody has swept for a while",
        _of("sweep_age_seconds", "0+60x30"),
        quiet_at=3,
        fires=("RatchetSweeperSilent",),
        at=10,
    ),
    World("nobody ever swept", {}, 1, ("RatchetSweeperSilent",), 5, without=("ratchet_sweep_age_seconds",)),
    World(
        "the newest backup is old", _of("backup_age_seconds", "90000+60x200"), 60, ("RatchetBackupOld",), 100
    ),
    World("no backup is known", {}, quiet_at=100, without=("ratchet_backup_age_seconds",)),
    World("the disk fills", _of("disk_free_bytes", "15-1x14"), 8, ("RatchetDiskLow",), 13),
    World("a clock is ten seconds off", _of("clock_offset_seconds", "-10x30"), 4, ("RatchetClockOff",), 8),
    World("GitHub is not told", _of("delivery_lag_seconds", "0+60x30"), 9, ("RatchetForgeNotTold",), 15),
    World("calls are used up", _of("forge_quota_remaining", "100x30"), 4, ("RatchetForgeQuotaLow",), 8),
    World(
        "a device is in quarantine for more than an hour",
        _of("devices", "1x90", 'health="quarantined"'),
        quiet_at=50,
        fires=("RatchetDeviceQuarantined",),
        at=70,
    ),
    World(
        "jobs wait for a class whose devices are away",
        _of("devices_live", "0x30", 'device_class="a100"'),
        quiet_at=8,
        fires=("RatchetClassWithoutDevice",),
        at=12,
    ),
    World(
        "jobs wait for a class that nobody has",
        _of("queue_depth", "1x30", 'band="push"', 'device_class="unknown"'),
        quiet_at=8,
        fires=("RatchetClassWithoutDevice",),
        at=12,
    ),
    World("a worker falls silent", _of("heartbeat_age_seconds", "0+60x10"), 2, ("RatchetWorkerSilent",), 5),
    World("leases run out", _of("lease_expiries_total", "5+1x30"), 2, ("RatchetLeasesExpire",), 20),
    World(
        "machines are found busy", _of("preflight_failures_total", "5+1x30"), 3, ("RatchetMachinesUnfit",), 20
    ),
)
