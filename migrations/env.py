"""Alembic's entry: runs the migrations on the connection that `app.store.migrate` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import text

from app.store.tables import Table

connection = context.config.attributes["connection"]
connection.execute(text("set lock_timeout = '2s'"))
connection.commit()
# Each in a transaction of its own: what one locks must not be held while the next waits for something else.
context.configure(
    connection=connection,
    target_metadata=Table.metadata,
    compare_type=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
connection.commit()
