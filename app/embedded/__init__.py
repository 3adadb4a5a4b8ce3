"""A real PostgreSQL and a real Redis of our own, for one machine.

`EmbeddedPostgres` and `EmbeddedRedis` start the server programs that two wheels bring (or PATH has) on a data
folder, each under a keeper, so that they end with their owner. They answer on Unix sockets only, and nothing
here knows what is stored. Not for a deployment: there RATCHET_DATABASE_URL and RATCHET_REDIS_URL name servers
that someone runs.
"""

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.redis import EmbeddedRedis

__all__ = ["EmbeddedPostgres", "EmbeddedRedis"]
