"""The weekly efficiency report: one module a section, asked of a scope and a week; `read_weekly` puts them together.

A section reads through `store.repositories.weekly`, has the arithmetic done by the pure functions of `analysis`, and
returns values of `domain.weekly`, which `app.reports.weekly` lays out. Nothing here knows of HTML.
"""
