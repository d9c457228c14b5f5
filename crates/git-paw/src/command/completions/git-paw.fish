# Completes git-paw and git paw. fish's own completion of git loads nothing for commands like this one, so this script
# belongs into a file that fish reads when it starts.

# Offers what fits after the words of git-paw before the cursor.
function __git_paw_offer
    set -l typed (commandline -ct)
    set -l found (command git-paw __complete fish -- $argv "$typed" 2>/dev/null)
    if test $status -eq 3
        __fish_complete_path "$typed"
    else
        printf '%s\n' $found
    end
end

# Prints the words after `git paw`; fails if git runs another command.
function __git_paw_words_of_git
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case -C -c --git-dir --work-tree --namespace --config-env
                set -e words[1]
                set -q words[1]; and set -e words[1]
            case '-*'
                set -e words[1]
            case paw
                set -e words[1]
                set -q words[1]; and printf '%s\n' $words
                return 0
            case '*'
                return 1
        end
    end
    return 1
end

function __git_paw_words
    set -l words (commandline -opc)
    set -e words[1]
    set -q words[1]; and printf '%s\n' $words
    return 0
end

complete -c git-paw -f -a '(__git_paw_offer (__git_paw_words))'
complete -c git -f -n '__git_paw_words_of_git >/dev/null' -a '(__git_paw_offer (__git_paw_words_of_git))'
complete -c git -n __fish_git_needs_command -a paw -d 'run several AI coding CLIs on one repository'
