"""What a command line really starts, for rules to judge.

    tree        the parts of a script, as read
    characters  what means something to the shell, and what no script may hold
    words       reads one word: quotes, expansions, substitutions
    reader      reads commands, lists, compound commands, redirections
    grammar     the second reader: what the bash grammar takes for a command
    state       what the script has set so far: variables, folder, functions
    values      what a word will be when the shell has expanded it
    walking     follows the script and tells every program it starts
    programs    sees through programs that start others: env, sudo, xargs, bash -c, find -exec …
    languages   programs with a language of their own: awk, sed, python -c …
    started     what a program starts, before anybody has followed it
    dividing    options, their values and operands
    printing    what programs print, where their own words say it
    reading     the whole of it: `read_script`, `read_words`

Whatever is not understood is said (`Reading.doubts`), never guessed.
"""
