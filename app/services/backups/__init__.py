"""Backups: one file that holds the database and what belongs to it, and a service that goes on from one."""
