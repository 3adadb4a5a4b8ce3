"""PostgreSQL through SQLAlchemy: tables, repositories, sessions, migrations. The only SQL."""
