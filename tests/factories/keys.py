"""Keys for apps that exist in tests alone."""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


@cache
def private_key_pem() -> str:
    """Return a private key as GitHub makes one; the same for a whole test process."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(*form, serialization.NoEncryption()).decode()
