"""Alembic migrations; one head, and a landed one is never edited."""
