"""Alembic's entry point: always runs on the connection that `hivelore.sql.schema.migrate` hands over."""

from __future__ import annotations

from alembic import context

from hivelore.sql.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=True,
)
context.run_migrations()
