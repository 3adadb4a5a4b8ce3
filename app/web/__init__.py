"""The pages for people: rendered by the server, one module per noun, one service call per route.

No build step, no network, and nothing that needs a script to be read. `router` has the pages, `mount_static` serves
what they are made of, and `add_error_pages` shows browsers every error as a page.
"""

from __future__ import annotations

from app.api.routing import Router
from app.web import (
    account,
    alerts,
    badges,
    benchmarks,
    checks,
    commits,
    compare,
    fleet,
    github_sign_in,
    health,
    measure,
    notifiers,
    project_access,
    runs,
    series,
    shared,
    sign_in,
    weekly,
)
from app.web.errors import add_error_pages
from app.web.static import mount_static

__all__ = ["add_error_pages", "mount_static", "router"]

router = Router(include_in_schema=False)
for _pages in (
    checks,
    alerts,
    measure,
    shared,
    series,
    badges,
    benchmarks,
    compare,
    commits,
    runs,
    fleet,
    weekly,
    health,
    sign_in,
    github_sign_in,
    account,
    project_access,
    notifiers,
):
    router.include_router(_pages.router)
