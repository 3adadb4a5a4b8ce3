"""Use cases, one verb per module; no framework. Sessions come in as arguments; services flush, doors commit."""
