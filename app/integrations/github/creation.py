"""GitHub's manifest flow: it makes an app from a manifest, and gives out what the app needs, once, for a code.

Described in GitHub's "Registering a GitHub App from a manifest".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.integrations.github.connection import Connection, Credentials, told


@dataclass(frozen=True)
class CreatedApp:
    """An app that GitHub has just made: id, name, page there, its private key (PEM), the secret of its webhook.

    People sign in by its client id and client secret.
    """

    id: int
    name: str
    page: str
    client_id: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    client_secret: str = field(repr=False)


def take_created_app(api: str, code: str) -> CreatedApp:
    """Return the app of a code; GitHub answers once, within an hour. Raises what a call to GitHub raises."""
    connection = Connection(api, Credentials())
    with told():
        made = connection.kit(None).rest.apps.create_from_manifest(code).json()
    return CreatedApp(
        int(made["id"]),
        str(made["name"]),
        str(made["html_url"]),
        str(made["client_id"]),
        str(made["pem"]),
        str(made["webhook_secret"]),
        str(made["client_secret"]),
    )
