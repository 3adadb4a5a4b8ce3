"""Alembic's entry: runs the migrations on the connection that `app.store.migrate` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import text

from app.store.tables import Table

connection = context.config.attributes["connection"]
connection.execute(text("set lock_timeout = '2s'"))
connection.commit()
context.configure(connection=connection, target_metadata=Table.metadata, compare_type=True)
with context.begin_transaction():
    context.run_migrations()
connection.commit()
