# Completes git-paw, and git paw where git's own completion is loaded.

# Offers what fits after these words, the last of which is being typed.
__git_paw_reply() {
    local found code word cur=${!#} kept=
    COMPREPLY=()
    found=$(command git-paw __complete bash -- "$@" 2>/dev/null)
    code=$?
    if [ "$code" -eq 3 ]; then
        compopt +o nospace -o default 2>/dev/null
        return
    fi
    compopt -o nospace +o default +o bashdefault 2>/dev/null
    # bash replaces only what follows the last of its word breaks.
    if [[ $COMP_WORDBREAKS == *=* && $cur == *=* ]]; then
        kept=${cur%"${cur##*=}"}
    fi
    while IFS= read -r word; do
        [ -z "$word" ] || COMPREPLY+=("${word#"$kept"} ")
    done <<<"$found"
}

# git-paw <Tab>: the words with the parts that bash splits off at = and : put back.
__git_paw_direct() {
    local -a words=()
    local word glue=no i
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ${#words[@]} -gt 0 && ( $glue == yes || $word =~ ^[=:]+$ ) ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        if [[ $word =~ ^[=:]+$ ]]; then glue=yes; else glue=no; fi
    done
    __git_paw_reply "${words[@]}"
}

# git paw <Tab>: git's completion calls this, with the words in its variables.
_git_paw() {
    local first=${__git_cmd_idx:-1}
    __git_paw_reply "${words[@]:first+1:cword-first}"
}

complete -F __git_paw_direct git-paw
