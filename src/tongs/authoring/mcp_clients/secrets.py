"""What looks like a secret, so that it is not copied into another file."""

from __future__ import annotations

import re

# Words in the name of a variable, a header or an option.
_NAMED = re.compile(
    r"(?:^|[_-])(?:token|secret|password|passwd|pwd|pass|credentials?|authorization|auth|bearer|"
    r"pat|cookie|(?:api|access|private|secret|auth|account|license)?[_-]?key|dsn)(?:$|[_-])",
    re.IGNORECASE,
)
# How well-known issuers begin their tokens.
_SHAPED = re.compile(
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|"
    r"glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|"
    r"AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|lin_api_\w{20,}|ntn_\w{20,}|"
    r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_IN_QUERY = re.compile(r"[?&]([\w.-]+)=([^&#]+)")
# Long, of one piece, with letters and digits: nobody types that.
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])[A-Za-z0-9+/_=-]{32,}")


def named_secret(name: str) -> bool:
    """Whether a thing of this name is usually a secret."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return _NAMED.search(split) is not None


def looks_secret(name: str, value: str) -> bool:
    """Whether a value under a name is likely to be one."""
    if not value or value.lower() in ("true", "false", "none", "null", "yes", "no", "0", "1"):
        return False
    return named_secret(name) or shaped_secret(value)


def shaped_secret(value: str) -> bool:
    """Whether a text alone gives itself away."""
    if _SHAPED.search(value) or _IN_ADDRESS.search(value):
        return True
    if any(named_secret(name) for name, _ in _IN_QUERY.findall(value)):
        return True
    return _RANDOM.fullmatch(value) is not None
