"""What a back end has to know of the person's machine, beyond the policy of one call."""

from __future__ import annotations

import os

from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """The home directory, the folders that no permission opens, and where programs lie.

    `state` can be granted by nothing; the folders of `authority` are never writable. `programs`
    are absolute paths of configured interpreters. `scratch_view` is whether the kernel can show a
    call a private copy of a folder.
    """

    home: str = "/"
    state: str = ""
    authority: tuple[str, ...] = ()
    search_path: str = os.defpath
    programs: tuple[str, ...] = ()
    scratch_view: bool = True
    # Whether the compiled fork server may be used, where there is one.
    native: bool = True
    # Where tools may have been writing.
    project: str = ""
