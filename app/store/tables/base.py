"""The declarative base: named constraints, and the column types that the tables share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    DateTime,
    Dialect,
    Identity,
    Integer,
    MetaData,
    Text,
    TypeDecorator,
    func,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Table(DeclarativeBase):
    """Base of every table. Relationships are not mapped: queries say what they join."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012  # SQLAlchemy reads it from the class
        str: Text,
        int: BigInteger,
        float: DOUBLE_PRECISION,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
        list[str]: ARRAY(Text),
        list[int]: ARRAY(BigInteger),
        list[float]: ARRAY(DOUBLE_PRECISION),
    }


class SparseList(TypeDecorator[list[Any]]):
    """A list that is nearly always empty: null then, which takes no space. Statements as text see the null."""

    impl = ARRAY
    cache_ok = True

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> list[Any] | None:
        """Return what is stored."""
        return value or None

    def process_result_value(self, value: list[Any] | None, dialect: Dialect) -> list[Any]:
        """Return the list."""
        return value or []


class Narrow(TypeDecorator[int]):
    """A number of four bytes, compared with any of eight: what is too large for it is equal to none, and no error."""

    impl = Integer
    cache_ok = True

    def bind_expression(self, bindvalue: BindParameter[int]) -> ColumnElement[int]:
        """Return how a value is sent."""
        return type_coerce(bindvalue, BigInteger)


Id = Annotated[int, mapped_column(BigInteger, Identity(), primary_key=True)]
"""A surrogate key, assigned by the database."""

Now = Annotated[datetime, mapped_column(server_default=func.clock_timestamp())]
"""The database's time at insertion."""
