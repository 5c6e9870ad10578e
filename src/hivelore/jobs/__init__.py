"""Background work as rows of the same database: enqueued in the caller's transaction, done at least once."""
