"""What `ratchet import` posts: documents in batches, oldest commits first, and what the service refused of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.commands.import_spool import Spool
from app.domain.errors import Problem
from app.domain.parts import in_parts
from app.formats.imported.documents import PreparedDocument, Preparing
from app.integrations.service_client import ServiceClient

MOST_DOCUMENTS = 100
MOST_B = 2 * 2**20
"""Documents and bytes of one batch: so many that its statements cost little, so few that it is stored in about a second
and an interruption loses nothing that matters."""

Progress = Callable[[int, int], None]
"""Is told after each batch how many documents are done, of how many."""


@dataclass
class Posted:
    """How many results a service has stored, and how many it had."""

    stored: int = 0
    known: int = 0


def post_all(client: ServiceClient, spool: Spool, preparing: Preparing, progress: Progress) -> Posted:
    """Post the documents; results that a service refuses are noted in `preparing`, and the rest is posted again."""
    posted, done = Posted(), 0
    for batch in in_parts(
        spool.in_order(), most=MOST_DOCUMENTS, size_of=lambda document: len(document.line), largest=MOST_B
    ):
        left = batch
        while left:
            left = _post(client, left, preparing, posted)
        done += len(batch)
        progress(done, len(spool))
    return posted


def _post(
    client: ServiceClient, batch: list[PreparedDocument], preparing: Preparing, posted: Posted
) -> list[PreparedDocument]:
    """Post a batch; return the documents that were refused, without what they were refused for."""
    answer = client.post_batch([document.line for document in batch])
    posted.stored += answer["stored"]
    posted.known += answer["known"]
    refused = []
    for document, told in zip(batch, answer["documents"], strict=True):
        if told["status"] == "refused":
            preparing.drop(document, [_problem(error) for error in told["errors"]])
            refused += [document] if document.places else []
    return refused


def _problem(error: dict[str, Any]) -> Problem:
    return Problem(error["path"], error["code"], error["message"])
