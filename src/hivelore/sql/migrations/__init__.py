"""The one linear Alembic history; see `hivelore.sql.schema` for who runs it and when."""
