"""What roles and scopes allow, and how a principal answers for one project, for any, and for all."""

from __future__ import annotations

import pytest

from app.domain.errors import AccessError
from app.services.access import SCOPES_OF, Principal, Role, Scope, includes
from app.services.own_tokens import GIVEN
from app.services.visibility import may_see, visible_projects

ADA = Principal(
    "ada",
    projects={1: SCOPES_OF[Role.VIEWER], 2: SCOPES_OF[Role.MAINTAINER], 3: SCOPES_OF[Role.ADMIN]},
    user_id=7,
)


def scopes_of(role: Role) -> set[Scope]:
    return {scope for scope in Scope if includes(SCOPES_OF[role], scope)}


def test_each_role_may_what_the_lesser_may_and_more() -> None:
    assert scopes_of(Role.VIEWER) < scopes_of(Role.MAINTAINER) < scopes_of(Role.ADMIN)


def test_no_role_works() -> None:
    assert not {Scope.WORKER, Scope.WORKER_UNTRUSTED} & scopes_of(Role.ADMIN)


@pytest.mark.parametrize(
    ("project_id", "may"),
    [
        (1, {Scope.RESULTS_READ}),
        (2, set(GIVEN)),
        (3, set(Scope) - {Scope.WORKER, Scope.WORKER_UNTRUSTED}),
        (4, set()),
    ],
)
def test_person_may_in_each_project_what_the_role_there_allows(project_id: int, may: set[Scope]) -> None:
    assert {scope for scope in Scope if ADA.may(scope, project_id)} == may


def test_without_a_project_it_is_asked_whether_in_any() -> None:
    assert ADA.may(Scope.ADMIN)
    assert not ADA.may(Scope.WORKER)


def test_person_sees_their_projects_and_no_other() -> None:
    assert visible_projects(ADA) == {1, 2, 3}
    assert ADA.where(Scope.JOBS_CREATE) == {2, 3}
    assert ADA.where(Scope.ADMIN) == {3}
    assert [may_see(ADA, project_id) for project_id in (1, 4)] == [True, False]


def test_who_may_everywhere_sees_all_and_who_may_nowhere_sees_none() -> None:
    assert visible_projects(Principal("admin", frozenset({Scope.ADMIN}))) is None
    assert visible_projects(None) is None
    assert visible_projects(Principal("worker", frozenset({Scope.WORKER}))) == frozenset()


def test_token_that_may_only_post_sees_nothing() -> None:
    assert not may_see(Principal("ci", frozenset({Scope.RESULTS_WRITE}), token_id=1), 1)


def test_person_is_told_the_role_that_is_missing_and_a_program_the_scope() -> None:
    with pytest.raises(AccessError, match="takes the role maintainer, which 'ada' does not have here"):
        ADA.require(Scope.JOBS_CREATE, 1)
    program = Principal("ci", projects={1: frozenset({Scope.RESULTS_READ})}, token_id=3)
    with pytest.raises(
        AccessError, match="the token 'ci' lacks the scope 'jobs:create'; it has results:read"
    ):
        program.require(Scope.JOBS_CREATE, 1)
