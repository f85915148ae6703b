"""A place and a command as the acceptance tests have them."""

from tests.acceptance.conftest import place, screen, tongs

__all__ = ["place", "screen", "tongs"]
