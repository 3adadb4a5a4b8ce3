"""`ratchet mcp`: the questions of the pages as read-only tools for assistants, over the Model Context Protocol.

The protocol is the official package's, `mcp`; here is which service is asked. Standard output is the protocol's alone.
"""

from __future__ import annotations

import click

from app.commands.asking import service_to_ask


@click.command()
def mcp() -> int:
    """Answer an assistant's questions about stored numbers.

    It speaks the Model Context Protocol on standard input and output, until the input ends; an assistant's settings
    name this command. The service is that of RATCHET_URL (and RATCHET_TOKEN), else the one that runs on the
    default data folder. No tool changes anything.
    """
    from app.commands.mcp_tools import tool_server

    tool_server(service_to_ask()).run("stdio")
    return 0
