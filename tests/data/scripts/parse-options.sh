#!/usr/bin/env bash
set -o errexit -o nounset
verbose=0 output= files=()

usage() {
  cat <<-USAGE
	usage: ${0##*/} [-v] [-o FILE] [--] FILE...
	  -v       say more
	  -o FILE  write there
	USAGE
}

while (( $# > 0 )); do
  case $1 in
    -v | --verbose) (( verbose += 1 )); shift ;;
    -o | --output) output=${2?"$1 needs a value"}; shift 2 ;;
    --output=*) output=${1#*=}; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; files+=("$@"); break ;;
    -*) printf >&2 'unknown option: %s\n' "$1"; usage >&2; exit 2 ;;
    *) files+=("$1"); shift ;;
  esac
done
[[ $verbose -gt 0 && -n $output ]] && echo "writing ${#files[@]} files to '$output'"
