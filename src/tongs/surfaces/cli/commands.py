"""The table of commands, and how the words of a command line find their row."""

from __future__ import annotations

from collections.abc import Sequence

# Words of a command -> its module below `tongs.surfaces.cli`. Only the one needed is imported.
COMMANDS: dict[tuple[str, ...], str] = {
    ("tool", "list"): "tool_list",
    ("tool", "get"): "tool_get",
    ("tool", "add"): "tool_add",
    ("tool", "remove"): "tool_remove",
    ("tool", "run"): "tool_run",
    ("tool", "new"): "tool_new",
    ("tool", "test"): "tool_test",
    ("tool", "validate"): "tool_validate",
    ("tool", "import"): "tool_import",
    ("tool", "create"): "tool_create",
    ("tools", "export"): "tools_export",
    ("mcp", "serve"): "mcp_serve",
    ("mcp", "install"): "mcp_install",
    ("mcp", "import"): "mcp_import",
    ("mcp", "add"): "mcp_add",
    ("mcp", "list"): "mcp_list",
    ("mcp", "remove"): "mcp_remove",
    ("mcp", "inspect"): "mcp_inspect",
    ("mcp", "pin"): "mcp_pin",
    ("run",): "run",
    ("chat",): "chat",
    ("trust",): "trust",
    ("review",): "review",
    ("approvals", "list"): "approvals_list",
    ("approvals", "revoke"): "approvals_revoke",
    ("approvals", "pending"): "approvals_pending",
    ("approvals", "approve"): "approvals_approve",
    ("approvals", "deny"): "approvals_deny",
    ("lint",): "lint",
    ("schema",): "schema",
    ("config", "list"): "config_list",
    ("config", "get"): "config_get",
    ("config", "set"): "config_set",
    ("config", "path"): "config_path",
    ("config", "init"): "config_init",
    ("trash", "list"): "trash_list",
    ("trash", "restore"): "trash_restore",
    ("trash", "empty"): "trash_empty",
    ("models",): "models",
    ("doctor",): "doctor",
    ("sandbox", "run"): "sandbox_run",
    ("sandbox", "explain"): "sandbox_explain",
    ("rules", "list"): "rules_list",
    ("rules", "test"): "rules_test",
    ("rules", "explain"): "rules_explain",
    ("rules", "check"): "rules_check",
    ("audit", "list"): "audit_list",
    ("audit", "show"): "audit_show",
    ("audit", "stats"): "audit_stats",
    ("audit", "export"): "audit_export",
    ("audit", "verify"): "audit_verify",
    ("audit", "head"): "audit_head",
    ("completion",): "completion",
    ("help",): "help",
    ("__complete",): "complete",
}

SUMMARIES = {
    ("tool",): "list, show, write, test and run tools",
    ("tool", "list"): "list all available tools",
    ("tool", "get"): "show the details of one tool",
    ("tool", "add"): "create a tool",
    ("tool", "remove"): "delete a tool",
    ("tool", "run"): "run a tool with parameters",
    ("tool", "new"): "write an example tool to start from",
    ("tool", "test"): "run the examples of tools",
    ("tool", "validate"): "check one tool step by step",
    ("tool", "import"): "make a tool from an OpenAPI document",
    ("tool", "create"): "write a tool for an agent, to be reviewed by a person",
    ("review",): "read and approve the tools that agents have created",
    ("tools",): "hand tools to the API of a model",
    ("tools", "export"): "print the tools as the API of a model takes them",
    ("mcp",): "hand tools to agents, and use the tools of MCP servers",
    ("mcp", "serve"): "offer the tools to an agent as an MCP server",
    ("mcp", "install"): "let another program start Tongs as its MCP server",
    ("mcp", "import"): "take over MCP servers from the settings of other programs",
    ("mcp", "add"): "start an MCP server once behind walls, and write it down",
    ("mcp", "list"): "list the MCP servers, and what is pinned of each",
    ("mcp", "remove"): "take an MCP server out of the config",
    ("mcp", "inspect"): "ask an MCP server what it has, and what has changed",
    ("mcp", "pin"): "accept what an MCP server tells by now",
    ("run",): "let a model answer a prompt with your tools",
    ("chat",): "talk to a model that uses your tools, and use them yourself",
    ("trust",): "accept the tools and the config that came with a project",
    ("approvals",): "answer what waits, and see what you decided once",
    ("approvals", "list"): "list the decisions that you wanted to be remembered",
    ("approvals", "revoke"): "take a remembered decision back",
    ("approvals", "pending"): "list the calls that wait for an approval",
    ("approvals", "approve"): "allow a call that waits",
    ("approvals", "deny"): "deny a call that waits",
    ("lint",): "check tool definitions for mistakes",
    ("schema",): "print the JSON Schema of a kind of file",
    ("config",): "show and change settings",
    ("config", "list"): "list every setting that counts, with the line it comes from",
    ("config", "get"): "print one setting",
    ("config", "set"): "change one setting in a file",
    ("config", "path"): "list the files that settings come from",
    ("config", "init"): "write a config file in which every key is explained",
    ("trash",): "get back what tools have deleted",
    ("trash", "list"): "list what tools have deleted",
    ("trash", "restore"): "put something back where it was",
    ("trash", "empty"): "delete what is in the trash for good",
    ("models",): "list the models that are configured, and test them",
    ("doctor",): "tell what this machine can enforce, and how to get more",
    ("sandbox",): "try permissions, and see those of a tool",
    ("sandbox", "run"): "run a program under permissions given by hand",
    ("sandbox", "explain"): "show what a tool may touch, and why",
    ("rules",): "see and try the rules that decide about calls",
    ("rules", "list"): "list every rule, and where it stands",
    ("rules", "test"): "tell the verdict on a call or a command",
    ("rules", "explain"): "tell which rules match a call, and why",
    ("rules", "check"): "try the examples of the rules",
    ("audit",): "see what was called and decided, and check that nobody changed it",
    ("audit", "list"): "list what was recorded",
    ("audit", "show"): "show everything about one call",
    ("audit", "stats"): "count calls by tool",
    ("audit", "export"): "print the records for another program",
    ("audit", "verify"): "find records that were changed, removed or moved",
    ("audit", "head"): "print the anchor: the last record's number and hash",
    ("completion",): "print a completion script for your shell",
    ("help",): "read about a command or a topic",
}

# What only a person may do: refused in a process that a tool has started, whatever its options.
AUTHORITY = frozenset(
    {
        ("tool", "add"),
        ("tool", "remove"),
        ("tool", "new"),
        ("tool", "import"),
        ("tool", "create"),
        # Whoever it serves answers its questions.
        ("mcp", "serve"),
        ("mcp", "install"),
        ("mcp", "import"),
        ("mcp", "add"),
        ("mcp", "remove"),
        # The first connection of a server is what pins it.
        ("mcp", "inspect"),
        ("mcp", "pin"),
        ("trust",),
        ("review",),
        ("chat",),
        ("approvals", "list"),
        ("approvals", "revoke"),
        ("approvals", "pending"),
        ("approvals", "approve"),
        ("approvals", "deny"),
        ("config", "set"),
        ("config", "init"),
        ("audit", "head"),
    }
)

# Words that another one has to follow.
_GROUPS = frozenset(words[0] for words in COMMANDS if len(words) == 2)

# Options before the command that take a value, so that the value is not mistaken for the command.
VALUE_OPTIONS = frozenset(
    (
        "--auto-approve",
        "--auto-deny",
        "--profile",
        "--log-level",
        "--load-tool",
        "--load-tools",
        "--color",
        "--scope",
        "--model",
        "--base-url",
    )
)


def split(arguments: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The words that name the command, and everything else in its order.

    Options may stand before, between and after the words. Words that name no command come back as
    they are: `("tool", "lst")`.
    """
    words: list[str] = []
    rest: list[str] = []
    position = 0
    while position < len(arguments) and not _complete(words):
        word = arguments[position]
        position += 1
        if word == "--":
            position -= 1
            break
        if not word.startswith("-"):
            words.append(word)
            continue
        rest.append(word)
        if word in VALUE_OPTIONS and position < len(arguments):
            rest.append(arguments[position])
            position += 1
    return tuple(words), rest + list(arguments[position:])


def _complete(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] not in _GROUPS or len(words) == 2)


def choices(prefix: Sequence[str]) -> list[str]:
    """The words that can follow `prefix`, hidden commands left out."""
    size = len(prefix)
    following = {
        words[size]: None
        for words in COMMANDS
        if len(words) > size and words[:size] == tuple(prefix) and not words[size].startswith("_")
    }
    return list(following)
