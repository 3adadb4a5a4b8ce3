"""The migrations, oldest first by file name."""
