"""The outside: the queue, later forges and notifiers."""
