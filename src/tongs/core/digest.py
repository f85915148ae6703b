"""SHA-256 of small things: definitions and their names.

From the interpreter's own module where there is one, since `hashlib` loads OpenSSL, which costs
a fifth of a bare Python start.
"""

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # before Python 3.12
        except ImportError:
            from hashlib import sha256


def digest_of(data: bytes) -> str:
    """In hexadecimal, as it stands in records."""
    return sha256(data).hexdigest()
