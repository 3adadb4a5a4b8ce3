"""Use cases of a code forge: what follows from its messages, what is measured for it, and what it is told."""
