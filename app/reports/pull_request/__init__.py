"""What a pull request is told, in Markdown and within the forge's limits: check, comment, and an alert once merged."""

from app.reports.pull_request.alert import alert_body, alert_marker
from app.reports.pull_request.annotations import annotations_of
from app.reports.pull_request.approval import approval_summary, approval_title
from app.reports.pull_request.check_text import check_summary, is_worth_a_comment, rests_on_rough_machines
from app.reports.pull_request.comment import comment_body, marker_of

__all__ = [
    "alert_body",
    "alert_marker",
    "annotations_of",
    "approval_summary",
    "approval_title",
    "check_summary",
    "comment_body",
    "is_worth_a_comment",
    "marker_of",
    "rests_on_rough_machines",
]
