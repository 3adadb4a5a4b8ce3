from datetime import UTC, datetime

import pytest

from workers.arms.checkout import bundle_digest, last_line, without_credentials
from workers.errors import JobError
from workers.programs.runner import Ended, Output
from workers.protocol import Source


def ended(text, *, timed_out=False):
    output = Output()
    output.add(text.encode())
    return Ended(1, timed_out, False, output, datetime(2026, 1, 31, tzinfo=UTC), 0, 1, 600.0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "warning: x\nfatal: no such repository\n\nand the repository exists.\n",
            "fatal: no such repository",
        ),
        ("first\nlast\n", "last"),
        ("", "exit_code: it ended with exit status 1"),
    ],
)
def test_what_a_program_gave_up_with_is_what_is_shown(text, line):
    assert last_line(ended(text)) == line


def test_a_program_that_ran_out_of_time_says_so():
    assert last_line(ended("cloning", timed_out=True)).startswith("timeout")


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://user:secret@example.org/a.git", "https://example.org/a.git"),
        ("http://token@example.org:81/a.git", "http://example.org:81/a.git"),
        ("https://example.org/a@b.git", "https://example.org/a@b.git"),
        ("git@example.org:a.git", "git@example.org:a.git"),
        ("/srv/a repository", "/srv/a repository"),
    ],
)
def test_credentials_are_not_shown(location, shown):
    assert without_credentials(location) == shown


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "abc", "ZZ" * 32])
def test_a_bundle_is_named_by_a_digest_alone(digest):
    with pytest.raises(JobError, match="no bundle"):
        bundle_digest(Source(kind="bundle", location=digest))
