"""Messages that the forge could not deliver, and were asked for once more."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Now, Table


class Redelivery(Table):
    """A message that was asked for again; `failed_id` is the forge's id of its try that failed last."""

    __tablename__ = "redelivery"

    guid: Mapped[str] = mapped_column(primary_key=True)
    failed_id: Mapped[int]
    attempts: Mapped[int]
    asked_at: Mapped[Now]


class Watermark(Table):
    """Until when something outside was looked at that grows at its end."""

    __tablename__ = "watermark"

    name: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime]
