"""The same as pytest fixtures: `pytest_plugins = ["tongs.testing.fixtures"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tongs.runtime import Runtime
from tongs.testing.person import Person
from tongs.testing.project import Project, project


@pytest.fixture
def tongs_person() -> Person:
    """Approves everything; a test that wants another answer overrides this fixture."""
    return Person.approves()


@pytest.fixture
def tongs_secrets() -> dict[str, str]:
    """The secrets that tools can be given, to be filled by a test before it calls one."""
    return {}


@pytest.fixture
def tongs_project(tongs_person: Person, tongs_secrets: dict[str, str]) -> Iterator[Project]:
    """A project of its own, in which `tongs_person` is asked."""
    with project(person=tongs_person, secrets=tongs_secrets) as made:
        yield made


@pytest.fixture
def tongs_runtime(tongs_project: Project) -> Runtime:
    """The runtime of that project: register tools, and call them."""
    return tongs_project.runtime
