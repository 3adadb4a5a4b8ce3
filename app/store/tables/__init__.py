"""The tables, one module per group of nouns; importing this package maps them all."""

from app.store.tables.alerts import Alert, AlertChange, AlertCheck, AlertLog, MissedChange
from app.store.tables.base import Table
from app.store.tables.changes import ChangePoint, History
from app.store.tables.fleet import Control, Device, Environment, Epoch, Incident, SelfCheck, Worker
from app.store.tables.forge import Delivery, PullRequest, Repository, Target
from app.store.tables.judged import Check, Report, Verdict, WeeklyReport
from app.store.tables.measured import (
    Estimate,
    Invocation,
    Result,
    Run,
    Sample,
    Series,
    Telemetry,
    Timing,
    Upload,
)
from app.store.tables.messages import Redelivery, Watermark
from app.store.tables.notifications import (
    IncidentNews,
    Notification,
    Notifier,
    NotifierNews,
    ToldAlert,
    ToldIncident,
)
from app.store.tables.origins import Acceptance, Origin
from app.store.tables.projects import BenchmarkCase, Commit, Project
from app.store.tables.restorations import Restoration
from app.store.tables.service import AuditLog, BrowserSession, Key, Outbox, Tally, Token
from app.store.tables.triggers import MeasureRequest, MergeGroup, Schedule, ScheduleTick
from app.store.tables.users import (
    GitHubAccount,
    GitHubVisit,
    Membership,
    SavedSearch,
    SignInAttempts,
    User,
)
from app.store.tables.work import Attempt, Job, LeaseDevice, Request, RequestJob

__all__ = [
    "Acceptance",
    "Alert",
    "AlertChange",
    "AlertCheck",
    "AlertLog",
    "Attempt",
    "AuditLog",
    "BenchmarkCase",
    "BrowserSession",
    "ChangePoint",
    "Check",
    "Commit",
    "Control",
    "Delivery",
    "Device",
    "Environment",
    "Epoch",
    "Estimate",
    "GitHubAccount",
    "GitHubVisit",
    "History",
    "Incident",
    "IncidentNews",
    "Invocation",
    "Job",
    "Key",
    "LeaseDevice",
    "MeasureRequest",
    "Membership",
    "MergeGroup",
    "MissedChange",
    "Notification",
    "Notifier",
    "NotifierNews",
    "Origin",
    "Outbox",
    "Project",
    "PullRequest",
    "Redelivery",
    "Report",
    "Repository",
    "Request",
    "RequestJob",
    "Restoration",
    "Result",
    "Run",
    "Sample",
    "SavedSearch",
    "Schedule",
    "ScheduleTick",
    "SelfCheck",
    "Series",
    "SignInAttempts",
    "Table",
    "Tally",
    "Target",
    "Telemetry",
    "Timing",
    "Token",
    "ToldAlert",
    "ToldIncident",
    "Upload",
    "User",
    "Verdict",
    "Watermark",
    "WeeklyReport",
    "Worker",
]
