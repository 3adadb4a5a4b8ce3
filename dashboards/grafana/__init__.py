"""Dashboards for an operator's own Grafana, built from code: `python -m dashboards.grafana` writes `built/*.json`.

`boards/` has one module a dashboard, `parts.py` what they are made of, `queries.py` how Prometheus and PostgreSQL are
asked, `look.py` colours. Nothing of the service imports this; the builder needs an extra package, the JSON does not.
SQL here reads the views that docs/sql.md promises, and no table. Every query is run by tests against real servers.
"""
