"""`tongs completion`: scripts that ask `tongs __complete` what can stand at the cursor."""

from __future__ import annotations

from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser

# Bash splits words at `=` and `:`, so it hands over the line and gets answers without the part
# before the last of these. The first line of an answer says whether files fit too.
_BASH = r"""# bash completion for tongs; load it with: source <(tongs completion bash)
_tongs() {
    local IFS=$'\n' answers
    answers=($("${COMP_WORDS[0]/#\~/$HOME}" __complete bash \
        "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null))
    case "${answers[0]}" in
        files) compopt -o filenames -o default 2>/dev/null ;;
        folders) compopt -o filenames -o dirnames 2>/dev/null ;;
    esac
    COMPREPLY=("${answers[@]:1}")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _tongs tongs
"""

_ZSH = r"""#compdef tongs
# zsh completion for tongs; load it with: source <(tongs completion zsh)
_tongs() {
    local -a answers values texts open_values open_texts
    local answer value text
    answers=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete zsh -- \
        "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    case "${answers[1]}" in
        files) _files; return ;;
        folders) _files -/; return ;;
    esac
    for answer in "${(@)answers[2,-1]}"; do
        value="${answer%%$'\t'*}"
        text="$value"
        [[ "$answer" == *$'\t'?* ]] && text="$value  -- ${answer#*$'\t'}"
        if [[ "$value" == *= ]]; then
            open_values+=("$value"); open_texts+=("$text")
        else
            values+=("$value"); texts+=("$text")
        fi
    done
    (( ${#values} )) && compadd -l -d texts -a values
    (( ${#open_values} )) && compadd -l -S '' -d open_texts -a open_values
}
if [[ "${funcstack[1]}" == _tongs ]]; then
    _tongs "$@"
elif (( $+functions[compdef] )); then
    compdef _tongs tongs
fi
"""

_FISH = r"""# fish completion for tongs; load it with: tongs completion fish | source
function __tongs_answers
    set -l words (commandline -opc)
    set -l answers ($words[1] __complete fish -- $words[2..-1] (commandline -ct) 2>/dev/null)
    switch "$answers[1]"
        case files
            __fish_complete_path (commandline -ct)
        case folders
            __fish_complete_directories (commandline -ct)
        case '*'
            test (count $answers) -gt 1; and printf '%s\n' $answers[2..-1]
    end
end
complete -c tongs -f -a '(__tongs_answers)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def options(parser: Parser) -> None:
    parser.add_argument("shell", choices=sorted(SCRIPTS), metavar="bash|zsh|fish")


def run(invocation: Invocation) -> int:
    invocation.console.styled(SCRIPTS[invocation.options.shell])
    return 0
