#!/usr/bin/env bash
# An AI coding CLI without a model: it draws a prompt, accepts pastes, asks before it runs a command, and runs the actions
# between double brackets in a prompt: [[bash:cargo test ; say:done ; die]].
#
# FAKE_AGENT_DIR    its record: prompt-1, prompt-2, …, events
# FAKE_AGENT_LOOK   claude, or plain for an unknown CLI
# FAKE_AGENT_STEPS  steps before the prompt appears: wait (for the file `go`), trust, die

dir=$FAKE_AGENT_DIR look=$FAKE_AGENT_LOOK
transcript=() input='' rest='' pasted=0 prompts=0 footer='? for shortcuts'

exec 3< <(exec cat)
reader=$!
saved=$(stty -g)
finish() {
    printf '\e[?2004l\e[0m\r\n'
    stty "$saved"
    kill "$reader" 2>/dev/null
}
trap finish EXIT
stty raw -echo
printf '\e[?2004h'

event() { printf '%s\n' "$*" >>"$dir/events"; }
key() { IFS= read -rN1 -u3 key || exit 1; }

rule() {
    local size columns
    size=$(stty size)
    columns=${size#* }
    printf -v rule '%*s' "$columns" ''
    rule=${rule// /─}
}

above() {
    rule
    printf '\e[H\e[2J'
    ((${#transcript[@]} == 0)) || printf '%s\r\n' "${transcript[@]}"
}

draw() {
    local lines shown=$input
    lines=${input//[!$'\n']/}
    ((pasted && ${#lines} > 3)) && shown="[Pasted text #1 +${#lines} lines]"
    shown=${shown//$'\n'/$'\r\n  '}
    above
    if [[ $look == plain ]]; then
        printf '> %s' "$shown"
    else
        printf '%s\r\n❯\u00a0%s\r\n%s\r\n  %s\r\n' "$rule" "$shown" "$rule" "$footer"
    fi
}

trust() {
    rule
    printf '\e[H\e[2J%s\r\n Accessing workspace:\r\n /work\r\n\r\n ❯ 1. Yes, I trust this folder\r\n   2. No, exit\r\n\r\n' "$rule"
    printf ' Enter to confirm · Esc to cancel\r\n'
    event dialog
    while key; do
        case $key in
        1 | $'\r' | $'\n') event trusted && return ;;
        2 | $'\e') exit 1 ;;
        *) event "swallowed $key" ;;
        esac
    done
}

approve() {
    above
    printf '● \e[1mBash\e[0m(%s)\r\n  ⎿ \u00a0Waiting…\r\n\r\n\e[38;5;153m%s\r\n' "$1" "$rule"
    printf '\e[39m \e[1m\e[38;5;153mBash command\e[0m\r\n\r\n   %s\r\n   \e[38;5;246mRun it\e[39m\r\n\r\n' "$1"
    printf ' This command requires approval\r\n\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n'
    printf '   2. Yes, and don’t ask again for: %s *\r\n   3. No\r\n\r\n Esc to cancel · Tab to amend\r\n' "${1%% *}"
    event "asked $1"
    while key; do
        case $key in
        1) event "allowed $1" && transcript+=("● Bash($1)") && return 0 ;;
        2) event "allowed for ever $1" && return 0 ;;
        3 | $'\e') event "denied $1" && return 1 ;;
        esac
    done
}

work() {
    local plan=$1 step
    if [[ $plan == *'[['*']]'* ]]; then
        plan=${plan#*'[['}
        plan=${plan%']]'*}
    else
        plan=$rest
    fi
    rest=''
    while [[ -n $plan ]]; do
        step=${plan%% ; *}
        [[ $plan == *' ; '* ]] && plan=${plan#* ; } || plan=''
        case $step in
        say:*) transcript+=("● ${step#say:}") ;;
        bash:*) approve "${step#bash:}" || return ;;
        wait)
            footer='esc to interrupt' && draw
            until [[ -e $dir/go ]]; do sleep 0.02; done
            ;;
        limit:*)
            # The rest runs after the next prompt.
            transcript+=($'  ⎿ \u00a0'"You've hit your session limit · resets ${step#limit:}")
            rest=$plan
            event "limited ${step#limit:}"
            return
            ;;
        die) exit 3 ;;
        esac
    done
}

submit() {
    local text=$input
    ((++prompts))
    printf '%s' "$text" >"$dir/prompt-$prompts.part"
    mv "$dir/prompt-$prompts.part" "$dir/prompt-$prompts"
    event "submitted $prompts"
    transcript+=("> ${text%%$'\n'*}" '')
    input='' pasted=0
    work "$text"
    footer='? for shortcuts'
    draw
}

paste() {
    event paste
    local text=''
    while key; do
        [[ $key == $'\r' ]] && key=$'\n'
        text+=$key
        [[ $key == '~' && $text == *$'\e[201~' ]] && break
    done
    input+=${text%$'\e[201~'} pasted=1
    draw
}

for step in $FAKE_AGENT_STEPS; do
    case $step in
    wait) until [[ -e $dir/go ]]; do sleep 0.02; done ;;
    trust) trust ;;
    die) exit 3 ;;
    esac
done
draw
event ready
while key; do
    case $key in
    $'\r' | $'\n') [[ -n $input ]] && submit ;;
    $'\x03') exit 0 ;;
    $'\e')
        key && [[ $key == '[' ]] || continue
        sequence=''
        while key; do
            sequence+=$key
            [[ $key == [~A-Za-z] ]] && break
        done
        [[ $sequence == '200~' ]] && paste
        ;;
    *) event "key $key" && input+=$key && draw ;;
    esac
done
