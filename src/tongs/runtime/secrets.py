"""The values of secrets, looked up for the one call that declared them and kept nowhere.

Config files hold references only: `env:NAME`, `file:PATH`, `keyring:SERVICE/NAME`. Without one, a
secret is the environment variable of the same name (seed 004).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping

from tongs.config.settings import Reference
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Waiter
from tongs.core.permissions import Permissions
from tongs.store.files import read_whole

# A key is shorter; who means a larger file means another file.
_LARGEST = 64 * 1024
_ENV = "env:"


class Unusable(Exception):
    """Why a reference gives no value, and what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class Secrets:
    """`given` is asked first, and instead of the environment: a program may have secrets itself."""

    def __init__(
        self,
        references: Mapping[str, Reference],
        host: Mapping[str, str],
        home: str,
        given: Callable[[str], str | None] | None = None,
    ) -> None:
        self._references = references
        self._host = host
        self._home = home
        self._given = given

    async def reveal(self, permissions: Permissions, tool: str, waiter: Waiter) -> dict[str, str]:
        """The values of these secrets; ToolError SECRET_MISSING tells of all that are not there."""
        names = {secret.name for secret in permissions.secrets}
        slow = any(
            not reference.text.startswith(_ENV)
            for name, reference in self._references.items()
            if name in names
        )
        if slow:
            # A disk, or somebody who is asked to unlock the keyring.
            return await waiter.blocking(lambda: self._values(permissions, tool))
        return self._values(permissions, tool)

    def _values(self, permissions: Permissions, tool: str) -> dict[str, str]:
        found: dict[str, str] = {}
        missing: dict[str, Unusable | None] = {}
        for secret in permissions.secrets:
            try:
                value = self._value(secret.name)
            except Unusable as unusable:
                missing[secret.name] = unusable
                continue
            if secret.required and not value:
                missing[secret.name] = None
            elif value is not None:
                found[secret.name] = value
        if missing:
            raise self._missing(tool, missing)
        return found

    def _value(self, name: str) -> str | None:
        given = None if self._given is None else self._given(name)
        if given is not None:
            return given
        if (reference := self._references.get(name)) is not None:
            return self.look_up(reference)
        return self._host.get(name) if self._given is None else None

    def look_up(self, reference: Reference) -> str | None:
        """The value; None where there is none. Raises Unusable where it must not be used."""
        kind, _, rest = reference.text.partition(":")
        if kind == "env":
            return self._host.get(rest)
        if kind == "file":
            return _from_file(self._home + rest[1:] if rest.startswith("~/") else rest)
        service, _, name = rest.partition("/")
        return _from_keyring(service, name)

    def _missing(self, tool: str, missing: Mapping[str, Unusable | None]) -> ToolError:
        plain = [name for name in missing if name not in self._references]
        told = [f"it needs {', '.join(plain)} in the environment"] if plain else []
        hint = f"export {plain[0]}=… and run it again" if plain else ""
        details: dict[str, Any] = {"missing": list(missing)}
        for name, unusable in missing.items():
            if (reference := self._references.get(name)) is None:
                continue
            reason = "is not there" if unusable is None else unusable.reason
            told.append(
                f"its secret {name} is {reference.text} ({reference.source}), which {reason}"
            )
            hint = hint or (unusable.hint if unusable is not None else "")
            details.setdefault("references", {})[name] = reference.text
        return ToolError(
            ErrorCode.SECRET_MISSING,
            f"{tool} was not run: {'; '.join(told)}",
            details=details,
            hint=hint or "put a value there, or change the reference",
        )


def _from_file(path: str) -> str | None:
    """Only what nobody else can read is a secret."""
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            raise Unusable("is no file")
        if facts.st_uid != os.geteuid():
            raise Unusable(f"belongs to another user (uid {facts.st_uid})", f"chown it: {path}")
        if facts.st_mode & 0o077:
            raise Unusable("others may read", f"chmod 600 {path}")
        data = read_whole(path, _LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"cannot be read: {error.strerror}") from None
    if data is None:
        return None
    if len(data) > _LARGEST:
        raise Unusable(f"is larger than {_LARGEST >> 10} KiB")
    if b"\0" in data:
        raise Unusable("holds a NUL, which no environment can carry")
    return data.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _from_keyring(service: str, name: str) -> str | None:
    try:
        import keyring  # noqa: PLC0415 - an extra, and slow to load
        from keyring.errors import KeyringError  # noqa: PLC0415 - as above
    except ImportError:
        raise Unusable(
            "needs a package that is not installed", "pip install 'tongs[keyring]'"
        ) from None
    try:
        value: str | None = keyring.get_password(service, name)
    except KeyringError as error:
        # Its text may hold anything; its kind is enough to act on.
        raise Unusable(
            f"the keyring refused ({type(error).__name__})",
            "unlock it, or see which one is used: python -m keyring diagnose",
        ) from None
    return value
