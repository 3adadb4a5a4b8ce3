"""What a pull request is told, in Markdown and within the forge's limits: check, comment, and a notice once merged."""

from app.reports.pull_request.annotations import annotations_of
from app.reports.pull_request.check_run import (
    NAME,
    accepted_run,
    ended_run,
    run_of_check,
    unapproved_run,
    untaken_run,
)
from app.reports.pull_request.check_text import check_summary, is_worth_a_comment, rests_on_rough_machines
from app.reports.pull_request.comment import comment_body, marker_of
from app.reports.pull_request.notice import notice_body, notice_marker

__all__ = [
    "NAME",
    "accepted_run",
    "annotations_of",
    "check_summary",
    "comment_body",
    "ended_run",
    "is_worth_a_comment",
    "marker_of",
    "notice_body",
    "notice_marker",
    "rests_on_rough_machines",
    "run_of_check",
    "unapproved_run",
    "untaken_run",
]
