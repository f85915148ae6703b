"""Author's text with placeholders, and the safe ways to put values into it.

One module per language of the surrounding text: `shell` (bash, sh), `python`, `pwsh`, `cmd`,
`words` (argv without a shell) and `text` (plain fields). Each offers `compile(text, slots)`, which
raises `TemplateError` at load time, and an object whose `render(values)` never fails on a value
except by `ValueRefused`.
"""
