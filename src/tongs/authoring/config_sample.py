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
  # Rules: the strictest that matches a call wins. `tongs rules explain CALL` tells what they see.
#  rules:
#    - name: no-force-push
#      when: {command: git push --force}
#      decision: deny
#      reason: the history is shared
#      match: [git push -f]
#      not_match: [git push --force-with-lease]
  # strict refuses a tool that cannot be confined, best-effort runs it and says so, off confines
  # none.
#  enforcement: strict
  # Hosts with a private address that a tool may reach if its own list names them, too.
#  allow_private_hosts: [localhost]
  # The most that a tool created by an agent may be given.
#  max_permissions: {network: false, fs: {read: ["."], write: []}, secrets: []}

# Who is asked besides the person at the terminal, and for how long.
#approvals:
  # How long a call waits for an answer: tongs approvals pending, approve, deny.
#  wait: 10m
  # A program of your own that gets the request as JSON and answers {"approved": true}.
#  command: [/usr/local/bin/decide]
  # A server that does the same. env:NAME and file:PATH stand for values kept elsewhere.
#  webhook:
#    url: https://approvals.example.org/ask
#    headers: {Authorization: env:APPROVALS_TOKEN}
  # How long the program or the server has.
#  timeout: 60s

# Where the values of secrets are; without an entry, in the environment variable of that name.
#secrets:
#  API_TOKEN: file:~/.secrets/service
#  GITHUB_TOKEN: env:GH_TOKEN
#  DEPLOY_KEY: keyring:deploy/production

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

# The record of all calls. The anchor (number and hash of the last record) is sent to a place
# where nobody who can write here can write: a command gets it as JSON, or an address by POST.
#audit:
#  anchor: {command: [logger, --tag, tongs, --file, /dev/stdin]}
  # A number of records, or a duration.
#  every: 100
  # The record goes on in a new file from this size on; no file is removed.
#  rotate: 64MiB

# Each step of a call as a span of OpenTelemetry (needs the package opentelemetry-api).
#telemetry: true

# The web tools that come with Tongs.
#web:
  # Hosts that web_fetch reaches without asking.
#  allow: [docs.python.org, "*.example.org"]
  # Who answers web_search: brave, tavily (both with a key, by the name of its variable), searxng
  # (with a url).
#  search: {provider: brave, key: BRAVE_API_KEY}

# Models for tongs run and tongs chat. Without an entry: tongs run --model openai:NAME, with the key
# of OPENAI_API_KEY. tongs models --test tells whether they answer.
#models:
#  default: local
#  local: {provider: ollama, model: "qwen3:8b"}
#  claude:
#    provider: anthropic
#    model: claude-sonnet-5
    # Where the key is, never the key: env:NAME, file:PATH, keyring:SERVICE/NAME.
#    key: keyring:anthropic/key
#    settings: {max_tokens: 8192}
#  work:
#    provider: openai-compatible
#    model: gpt-oss-120b
#    base_url: https://models.example.org/v1
#    key: file:~/.secrets/models
    # HTTPS_PROXY is used only where it is named.
#    proxy: env:HTTPS_PROXY
#    instructions: Answer in one sentence.

# Programs that run scripts.
#interpreters: {default_shell: bash, python: python3}

# Named sets of settings: tongs --profile careful tool run ...
#profiles:
#  careful:
#    security: {auto_deny: ["tool:write"]}
"""
