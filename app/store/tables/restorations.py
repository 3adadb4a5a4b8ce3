"""That the database was restored from a backup, and whether it goes on since."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped

from app.store.tables.base import Id, Now, Table


class Restoration(Table):
    """One restoring of this database. While `resumed_at` is null the service observes."""

    __tablename__ = "restoration"

    id: Mapped[Id]
    backup: Mapped[str]
    """What the backup's file was called."""
    backup_at: Mapped[datetime]
    """What the database holds is as it was then."""
    version: Mapped[str]
    revision: Mapped[str]
    """Release and schema that the backup was made by."""
    restored_at: Mapped[Now]
    resumed_at: Mapped[datetime | None]
