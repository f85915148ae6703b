"""For the tests of tool authors: a runtime in a project of its own, a person, secrets.

    from tongs.testing import Person, project

    def test_the_tool_asks_before_it_deletes():
        person = Person.denies()
        with project(tools=[delete_all], person=person) as it:
            result = it.call("delete_all")
        assert result.error.code == "APPROVAL_DENIED"
        assert person.asked[0].tool == "delete_all"

As pytest fixtures: `pytest_plugins = ["tongs.testing.fixtures"]`.
"""

from __future__ import annotations

from tongs.testing.person import Person
from tongs.testing.project import Project, project

__all__ = ["Person", "Project", "project"]
