"""The worker agent: it measures and reports; it never sees the database."""
