#!/bin/bash
# Text in several languages, with marks that are not ours: “”‘’ „“ «».
case ${LANG%%.*} in
  de_*) greeting=$"Grüß Gott" ;;
  fr_*) greeting="Ça va, l’ami ?" ;;
  ja_*) greeting='こんにちは' ;;
  *) greeting=Hello ;;
esac
echo "$greeting, ${USER:-you}!" # “a comment with 'one quote
