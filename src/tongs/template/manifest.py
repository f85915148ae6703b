"""What a manifest tool does, with every `${x}` compiled: between its format and its executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.record import dataclass, field
from tongs.template.dollar import DollarText
from tongs.template.values import ABSENT, Values

if TYPE_CHECKING:
    from tongs.template.url import Address
    from tongs.template.words import WordsTemplate

# The name under which a manifest may ask for its own directory.
TOOL_DIR = "tool_dir"


@dataclass(frozen=True, slots=True)
class Names:
    """What `${x}` may stand for, and where the values come from."""

    inputs: tuple[str, ...]
    secrets: tuple[str, ...]
    tool_dir: str

    @property
    def all(self) -> frozenset[str]:
        return frozenset((*self.inputs, *self.secrets, TOOL_DIR))

    def values(self, arguments: Values, environment: Mapping[str, str]) -> dict[str, Any]:
        """Every name with its value; what was not given is absent, not empty."""
        return {
            **{name: environment.get(name, ABSENT) for name in self.secrets},
            **{name: arguments.get(name, ABSENT) for name in self.inputs},
            TOOL_DIR: self.tool_dir,
        }

    def shown(self, arguments: Values) -> dict[str, Any]:
        """The same for a person to read: a secret is its name."""
        return {**self.values(arguments, {}), **{name: f"<{name}>" for name in self.secrets}}


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """`exec.command`: a program, started without a shell."""

    names: Names
    # Where the entrypoint lies; a name without a slash is looked up on the PATH.
    entrypoint: str
    args: Sequence[Any] = ()
    env: Mapping[str, DollarText] = field(default_factory=dict)
    # A text, or data that becomes JSON.
    stdin: Any = None
    cwd: DollarText | None = None
    json: bool = False
    exit_codes_ok: tuple[int, ...] = (0,)
    # The words for those who look for code in them; None for a program of the author's own.
    line: WordsTemplate | None = None


@dataclass(frozen=True, slots=True)
class PythonPlan:
    """`exec.python`: a function, called in an interpreter of its own."""

    names: Names
    module: str
    function: str
    # The folder in which the module is found, first on the path of the interpreter.
    root: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    # A virtual environment; None: the interpreter of the config, or the one Tongs runs on.
    venv: str | None = None
    cwd: DollarText | None = None
    json: bool = True


@dataclass(frozen=True, slots=True)
class Projected:
    """One of `response.fields`: a key of the result, and the keys that lead to its value."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpPlan:
    """`exec.http`: a request to an address that no caller chooses.

    `url` is cut into its parts at load: scheme, host and port are the author's own.
    """

    names: Names
    method: str
    address: Address
    # The path, cut at its slashes.
    segments: tuple[DollarText, ...]
    # The query that stands in the URL itself, cut at its ampersands.
    url_query: tuple[DollarText, ...] = ()
    # Keys with a text, with data, or with a list of them.
    query: tuple[tuple[str, Any], ...] = ()
    headers: Mapping[str, DollarText] = field(default_factory=dict)
    # A text, data that becomes JSON or a form, or ABSENT.
    body: Any = ABSENT
    # The keys that lead to the part of the answer to go on with.
    json_path: tuple[str, ...] = ()
    fields: tuple[Projected, ...] = ()
    retries: int = 0
    redirects: int = 5
    max_bytes: int = 5 * 1024 * 1024
    # "json" and "text" are promises of the manifest; without one, the answer says what it is.
    format: str = ""


ManifestPlan: TypeAlias = CommandPlan | PythonPlan | HttpPlan
