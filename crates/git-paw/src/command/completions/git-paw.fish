# Completes git-paw; fish's own completion of git uses it for git paw.

function __git_paw_words
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command git-paw __complete fish -- $words[2..-1] 2>/dev/null)
    if test $status -eq 3
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $found
    end
end

complete -c git-paw -f -a '(__git_paw_words)'
