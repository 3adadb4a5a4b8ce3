"""What the form of a comparison says when half of it is filled."""

import pytest

from app.web.compare_form import missing_side


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("acme", "main", ""), "Choose a head, too."),
        (("", "main", ""), "Choose a project and a head, too."),
        (("acme", "", "main"), "Choose a base, too."),
        (("acme", "", ""), ""),
        (("", "", ""), ""),
        (("acme", "main", "main"), ""),
        (("acme", "", "", "cpu-xeon", ""), "Choose a base and a head, too."),
        (("acme", "main", "", "", "cpu-xeon"), "Choose a head, too."),
        (("acme", "main", "main", "cpu-xeon", ""), ""),
    ],
)
def test_what_is_missing_is_asked_for(given, told):
    assert missing_side(*given) == told
