# Shared by the scripts in this folder: words to the user, paths, progress. Source it, do not run it.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${LOCKKEEPER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lockkeeper}
CC=${CC:-clang-19}
CXX=${CXX:-clang++-19}
export CC CXX

say() { printf '%s\n' "$*" >&2; }
step() { printf '==> %s\n' "$*" >&2; }

# One line that says what to do, and the end of the script.
die() {
    printf 'lockkeeper: %s\n' "$*" >&2
    exit 1
}

# Runs a command whose output is long (ninja, apt) and shows how far it is: in place on a terminal, about
# every tenth of the way elsewhere. The whole output stays in a log, shown in part when the command fails.
run_with_progress() {
    local log=$1 what=$2
    shift 2
    mkdir -p "$(dirname "$log")" || die "cannot write $(dirname "$log"): choose another folder with LOCKKEEPER_CACHE=..."
    local tty=0
    [ -t 2 ] && tty=1
    if ! NINJA_STATUS='[%f/%t] ' "$@" 2>&1 | tee "$log" | show_progress "$tty" "$what" >&2; then
        say "--- the end of $log ---"
        tail -n 30 "$log" >&2
        die "$what failed; the whole output is in $log"
    fi
}

show_progress() {
    local tty=$1 what=$2 line finished total tenth last=-1 started=$SECONDS
    while IFS= read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
        tenth=$((finished * 10 / total))
        if [ "$tty" = 1 ]; then
            printf '\r    %s: %d of %d steps, %d s ' "$what" "$finished" "$total" $((SECONDS - started))
        elif [ "$tenth" != "$last" ]; then
            printf '    %s: %d of %d steps, %d s\n' "$what" "$finished" "$total" $((SECONDS - started))
        fi
        last=$tenth
    done
    if [ "$tty" = 1 ] && [ "$last" -ge 0 ]; then printf '\n'; fi
}
