"""Settings of the service's processes, from the environment (`RATCHET_…`). Time constants are settings too."""

from __future__ import annotations

import re
from datetime import time, timedelta
from email.utils import parseaddr
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.defaults import DEFAULT_HOST, DEFAULT_PORT, default_data_dir

ORGANIZATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
BROKERS = ("redis://", "rediss://", "redis+socket://")
"""How the address of a Redis begins."""

SHORTEST_D = {"keep_raw_days": 30, "keep_weekly_days": 30, "keep_webhooks_days": 7, "keep_audit_days": 30}
"""What may not be forgotten sooner [d]: suspicions stand for weeks, the last week's report would be made and announced
again, messages of GitHub may come again after three days, and the audit log is nothing that a setting empties."""


class ServiceSettings(BaseSettings):
    """What api, tasks and beat need to know. Every field is the environment variable `RATCHET_<NAME>`."""

    model_config = SettingsConfigDict(env_prefix="RATCHET_", extra="ignore")

    database_url: str = Field(description="PostgreSQL, as postgresql://user:password@host/database")
    redis_url: str = Field(description="Celery's broker, as redis://host:6379/0 or redis+socket:///path")
    data_dir: Path = Field(default_factory=default_data_dir, description="uploaded bundles and logs")
    host: str = Field(DEFAULT_HOST, description="address that the api listens on")
    port: int = Field(DEFAULT_PORT, ge=0, le=65535, description="port that the api listens on")
    public_url: str = Field(
        "", description="address under which people reach the pages; default http://host:port"
    )
    anonymous_read: bool = Field(
        False, description="pages and read routes open to everyone who can reach them"
    )

    metrics_secret_file: str = Field(
        "",
        description="file with the token that /metrics asks for; empty: it is open to everyone who can reach it",
    )
    log_format: Literal["", "json", "text"] = Field(
        "", description="how lines are logged, json or text; empty: text on a terminal, else json"
    )

    session_ttl_s: float = Field(
        14 * 86400, gt=0, description="how long a browser stays signed in at the most [s]"
    )
    session_idle_s: float = Field(
        3 * 86400, gt=0, description="how long a browser stays signed in that is not used [s]"
    )

    report_link_days: int = Field(
        30,
        ge=0,
        le=36_500,
        description="how long the link to a check's report that pull requests are told opens it without an account; "
        "0: it asks for one [d]",
    )

    heartbeat_s: float = Field(10, gt=0, description="how often an agent says that it is alive [s]")
    lease_ttl_s: float = Field(60, gt=0, description="how long a lease stands without a heartbeat [s]")
    self_fence_s: float = Field(45, gt=0, description="when an agent without contact kills its job [s]")
    reassign_grace_s: float = Field(15, ge=0, description="rest of a device after a lost lease [s]")
    attempt_limit_s: float = Field(
        4 * 3600, gt=0, description="how long one attempt may take at the most [s]"
    )
    queue_deadline_s: float = Field(6 * 3600, gt=0, description="how long a job may wait for a device [s]")
    unserved_after_s: float = Field(
        900,
        gt=0,
        description="how long jobs wait for a class that no live device serves before that is told [s]",
    )
    sweep_interval_s: float = Field(10, gt=0, description="how often leases and deadlines are swept [s]")
    relay_interval_s: float = Field(
        10, gt=0, description="how often the outbox is read again, whoever wrote to it [s]"
    )
    hint_age_s: float = Field(
        10, gt=0, description="age at which a hint is taken for lost and sent again [s]"
    )

    confirmations_most: int = Field(
        4, ge=0, description="measurements that confirm suspected changes, unfinished at a time in a project"
    )
    suspicion_keep_s: float = Field(
        30 * 86400, gt=0, description="how long a suspected change may stay unsettled [s]"
    )

    self_check_from: int = Field(
        1, ge=0, le=23, description="hour of the day, UTC, from which devices measure a commit against itself"
    )
    self_check_until: int = Field(5, ge=0, le=24, description="hour of the day, UTC, by which they stop")

    bundles_keep_s: float = Field(
        14 * 86400, gt=0, description="how long a bundle is kept that no unfinished job needs [s]"
    )
    prune_interval_s: float = Field(
        600, gt=0, description="how often is removed what nobody needs, or what is older than it is kept [s]"
    )

    keep_raw_days: int = Field(
        400,
        ge=0,
        le=36_500,
        description="how long every single value is kept that was measured or posted, and the readings beside it; "
        "0: for ever [d]",
    )
    keep_logs_days: int = Field(
        90, ge=0, le=36_500, description="how long the ends of logs of runs are kept; 0: for ever [d]"
    )
    keep_reports_days: int = Field(
        30,
        ge=0,
        le=36_500,
        description="how long a check's report is kept as it was rendered when that was concluded; 0: for ever [d]",
    )
    keep_weekly_days: int = Field(
        1_095,
        ge=0,
        le=36_500,
        description="how long weekly reports are kept as they were made; 0: for ever [d]",
    )
    keep_webhooks_days: int = Field(
        14,
        ge=0,
        le=36_500,
        description="how long GitHub's messages are kept that were looked at; 0: for ever [d]",
    )
    keep_requests_days: int = Field(
        90,
        ge=0,
        le=36_500,
        description="how long is kept when a schedule was due, what somebody wanted measured, and what merge groups "
        "there were; 0: for ever [d]",
    )
    keep_sent_days: int = Field(
        7,
        ge=0,
        le=36_500,
        description="how long messages of the outbox are kept that have left; 0: for ever [d]",
    )
    keep_audit_days: int = Field(
        730, ge=0, le=36_500, description="how long entries of the audit log are kept; 0: for ever [d]"
    )

    weekly_report_after_h: float = Field(
        6, ge=0, lt=168, description="how long after a week has ended its reports are made, UTC [h]"
    )
    costs_file: str = Field(
        "",
        description="file with `[prices]`, `[[traffic]]` and `[power]` for projects whose settings do not say",
    )

    alive_file: str = Field(
        "",
        description="file that `tasks` and `beat` touch while they do their work, for whoever watches them",
    )

    backup_dir: str = Field(
        "", description="folder that `tasks` writes a backup into once a day; without it none is made"
    )
    backup_at: str = Field("01:30", description="when the day's backup is due, UTC, as HH:MM")
    backup_keep: int = Field(7, ge=1, description="how many backups stay in the folder")

    prometheus_url: str = Field(
        "", description="Prometheus that scrapes dcgm-exporter, as http://host:9090; without it none is asked"
    )
    prometheus_secret_file: str = Field(
        "", description="file with a token for Prometheus, or with the password of `RATCHET_PROMETHEUS_USER`"
    )
    prometheus_user: str = Field("", description="user of Prometheus, where it asks for name and password")
    prometheus_ca_file: str = Field(
        "", description="certificates that Prometheus' may be signed by, in place of the system's"
    )
    prometheus_timeout_s: float = Field(
        10, gt=0, description="how long Prometheus may take to tell of one run [s]"
    )

    github_url: str = Field("https://github.com", description="GitHub, or the address of one's own")
    github_api_url: str = Field(
        "", description="its API; default api.github.com, or RATCHET_GITHUB_URL with /api/v3"
    )
    github_app_id: str = Field("", description="id of the GitHub App that Ratchet is")
    github_key_file: str = Field("", description="file with the app's private key, PEM")
    github_token_file: str = Field(
        "", description="file with a fine-grained token, where Ratchet is no app: statuses in place of checks"
    )
    github_webhook_secret_file: str = Field(
        "", description="file with the webhook's secret; while it is changed, both, each on its own line"
    )
    github_login_client_id: str = Field(
        "",
        description="client id of an OAuth app or a GitHub App that people sign in with; without it none do",
    )
    github_login_secret_file: str = Field(
        "", validate_default=True, description="file with its client secret"
    )
    github_login_orgs: str = Field(
        "", description="organizations whose members sign in unasked, with spaces between them"
    )
    github_login_role: Literal["", "viewer", "maintainer"] = Field(
        "",
        description="what such a member becomes, the first time, in every project that there is then: `viewer` or "
        "`maintainer`",
    )
    github_reconcile_s: float = Field(
        600, gt=0, description="how often open pull requests are compared with what GitHub told of [s]"
    )
    notify_private: bool = Field(
        False, description="notifications may go to http:// and to addresses of private networks"
    )
    notify_key_file: str = Field(
        "",
        description="file with what the addresses of notifiers are encrypted with; else a key in the database",
    )
    smtp_url: str = Field(
        "",
        description="server that mail leaves by: smtp://user@host:587 (STARTTLS), smtps://host (TLS), or smtp+plain://",
    )
    smtp_password_file: str = Field("", description="file with the password of the user in RATCHET_SMTP_URL")
    mail_from: str = Field("", description="whom mail is from, as `Ratchet <ratchet@example.org>`")
    keep_notifications_days: int = Field(
        90, ge=0, le=36_500, description="how long is kept what notifiers were told; 0: for ever [d]"
    )

    max_webhook_b: int = Field(25 * 2**20, gt=0, description="largest message of GitHub [B]")

    max_body_b: int = Field(8 * 2**20, gt=0, description="largest JSON body after decompression [B]")
    max_bundle_b: int = Field(2**31, gt=0, description="largest git bundle [B]")

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: str) -> str:
        if not url.startswith(BROKERS):
            raise ValueError("right is redis://host:6379/0 or redis+socket:///path")  # it may hold a password
        return url

    @field_validator(*SHORTEST_D)
    @classmethod
    def _is_long_enough(cls, days: int, info: ValidationInfo) -> int:
        shortest = SHORTEST_D[info.field_name or ""]
        if 0 < days < shortest:
            raise ValueError(f"right is 0, which is for ever, or at least {shortest} days")
        return days

    @field_validator("backup_at")
    @classmethod
    def _is_of_a_day(cls, text: str) -> str:
        try:
            time.fromisoformat(text)
        except ValueError:
            raise ValueError("right is a time of the day, as 01:30") from None
        return text

    @field_validator("prometheus_url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        place = urlsplit(url)
        if url and (place.scheme not in ("http", "https") or not place.hostname or "@" in place.netloc):
            raise ValueError("right is http://host:9090, with a password in RATCHET_PROMETHEUS_SECRET_FILE")
        return url

    @field_validator("smtp_url")
    @classmethod
    def _is_smtp(cls, url: str) -> str:
        place = urlsplit(url)
        if url and (place.scheme not in ("smtp", "smtps", "smtp+plain") or not place.hostname):
            raise ValueError("right is smtp://user@host:587")  # it may hold a password
        return url

    @field_validator("mail_from")
    @classmethod
    def _is_sender(cls, sender: str) -> str:
        if sender and (not sender.isprintable() or "@" not in parseaddr(sender)[1]):
            raise ValueError("right is ratchet@example.org or Ratchet <ratchet@example.org>")
        return sender

    @field_validator("github_login_orgs")
    @classmethod
    def _are_organizations(cls, text: str) -> str:
        for name in text.split():
            if not ORGANIZATION.fullmatch(name):
                raise ValueError(f"{name!r} is no organization of GitHub: right is acme, or acme acme-labs")
        return text

    @field_validator("github_login_secret_file")
    @classmethod
    def _has_its_client_id(cls, file: str, info: ValidationInfo) -> str:
        if bool(file) != bool(info.data.get("github_login_client_id")):
            missing = "its RATCHET_GITHUB_LOGIN_CLIENT_ID is" if file else "it is"
            raise ValueError(f"{missing} not set: to sign in with GitHub takes the client id and its secret")
        return file

    @property
    def has_github_login(self) -> bool:
        """Whether people may sign in with GitHub."""
        return bool(self.github_login_client_id)

    @property
    def github_login_organizations(self) -> tuple[str, ...]:
        """The organizations of GitHub whose members may come in."""
        return tuple(self.github_login_orgs.split())

    @property
    def github_api(self) -> str:
        """GitHub's API."""
        if self.github_api_url:
            return self.github_api_url.rstrip("/")
        web = self.github_url.rstrip("/")
        return "https://api.github.com" if web == "https://github.com" else f"{web}/api/v3"

    def pull_address(self, slug: str, number: int) -> str:
        """Where people see a pull request."""
        return f"{self.github_url.rstrip('/')}/{slug}/pull/{number}"

    @property
    def has_github(self) -> bool:
        """Whether Ratchet is known to a GitHub."""
        return bool(self.github_app_id or self.github_token_file)

    @property
    def lease_ttl(self) -> timedelta:
        """How long a lease stands without a heartbeat."""
        return timedelta(seconds=self.lease_ttl_s)

    @property
    def session_ttl(self) -> timedelta:
        """How long a browser stays signed in at the most."""
        return timedelta(seconds=self.session_ttl_s)

    @property
    def session_idle(self) -> timedelta:
        """How long a browser stays signed in that is not used."""
        return timedelta(seconds=self.session_idle_s)

    @property
    def worker_live_for(self) -> timedelta:
        """How long after its last contact a worker counts as live: three leases."""
        return 3 * self.lease_ttl

    @property
    def address(self) -> str:
        """Where people reach the pages."""
        return self.public_url.rstrip("/") or f"http://{self.host}:{self.port}"
