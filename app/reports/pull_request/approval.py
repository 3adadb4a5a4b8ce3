"""What a fork's pull request is told before anything of it runs."""

from __future__ import annotations

from app.domain.commands import APPROVE, APPROVE_BUTTON, APPROVING_LABEL, SETTLED_MIN
from app.reports.pull_request.markdown import code


def approval_title(sha: str) -> str:
    """Return the title: what is waited for, and how it is given."""
    return f"from a fork, not measured yet: {APPROVE} {sha}"


def approval_summary(sha: str, base_ref: str) -> str:
    """Return the summary as Markdown: what an approval does, what to look at before, and how it is given."""
    return f"""This pull request comes from a fork. Nothing of it runs before somebody with write access to this \
repository approves this very commit. Any of these does:

- the button **{APPROVE_BUTTON.label}** of this check
- the comment {code(f"{APPROVE} {sha}")}
- the label {code(APPROVING_LABEL)}, or {code(APPROVE)} alone, once this commit has waited for {SETTLED_MIN} minutes

Look at the change first, above all at what runs while it is installed. It is then measured in a sandbox on workers \
that are set aside for it: without network, without secrets, by the settings and the benchmark files of \
{code(base_ref)}. The next push needs an approval of its own.
"""
