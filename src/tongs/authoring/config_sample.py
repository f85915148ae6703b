"""The config.yml that `tongs config init` writes: every key, explained, none of them in force."""

from __future__ import annotations

# A line that begins with `#` and one blank explains; from the others a test takes the mark away.
SAMPLE = """\
# Settings of Tongs. Take the `#` in front of a line away to make it count.
# All keys: `tongs schema config`. What counts now, and where it comes from: `tongs config list`.

# What may run, and what must be asked.
#security:
  # Calls that run without asking: tool:read, tool:TAG, a tool's name, or "*".
#  auto_approve: ["tool:read"]
  # Calls that never run. Deny wins.
#  auto_deny: ["tool:internal"]
  # strict refuses a tool that cannot be confined, best-effort runs it and says so, off confines
  # none.
#  enforcement: strict
  # Hosts with a private address that a tool may reach if its own list names them, too.
#  allow_private_hosts: [localhost]
  # The most that a tool created by an agent may be given.
#  max_permissions: {network: false, fs: {read: ["."], write: []}, secrets: []}

# Defaults for all tools. A tool may say otherwise.
#limits: {memory: 2GiB, processes: 256, file_size: 1GiB, open_files: 1024, output: 1MiB}

# More, or less, for one tool that you do not want to edit.
#tools:
#  fetch-page:
#    permissions: {network: [example.org]}
#    limits: {memory: 256MiB}
    # null takes the value of your own environment.
#    envs: {HTTPS_PROXY: null}
#    timeout: 2m

# Executables that answer `description` and `run`.
#custom_tools:
#  enabled: true
#  global_dir: ~/.kodelet/tools
#  local_dir: ./kodelet-tools
#  timeout: 30s
#  max_output_size: 1MiB
#  env_whitelist: [PATH, HOME, USER]
#  prefix: custom_tool_

# The web tools that come with Tongs.
#web:
  # Hosts that web_fetch reaches without asking.
#  allow: [docs.python.org, "*.example.org"]
  # Who answers web_search: brave, tavily (both with a key, by the name of its variable), searxng
  # (with a url).
#  search: {provider: brave, key: BRAVE_API_KEY}

# Programs that run scripts.
#interpreters: {default_shell: bash, python: python3}

# Named sets of settings: tongs --profile careful tool run ...
#profiles:
#  careful:
#    security: {auto_deny: ["tool:write"]}
"""
