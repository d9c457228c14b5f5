#compdef git-paw
# Completes git-paw; zsh's own completion of git calls _git-paw for git paw.

zstyle ':completion:*:*:git:*' user-commands paw:'run several AI coding CLIs on one repository'

_git-paw() {
    local found code line
    local -a names shown
    found=$(command git-paw __complete zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    code=$?
    if (( code == 3 )); then
        _files
        return
    fi
    for line in "${(@f)found}"; do
        [[ -n $line ]] || continue
        names+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( $#names )) && compadd -l -d shown -a names
}

if [[ $funcstack[1] == _git-paw ]]; then
    _git-paw "$@"
else
    compdef _git-paw git-paw
fi
