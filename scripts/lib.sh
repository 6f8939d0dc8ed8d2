# Shared by the scripts in this folder: words to the user, paths, progress. Source it, do not run it.
# shellcheck shell=bash
# shellcheck disable=SC2034 # whoever sources this uses the variables

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CC=${CC:-clang-19}
CXX=${CXX:-clang++-19}
export CC CXX
# Where Seastar is kept. An absolute path: the scripts change folders.
cache=${LOCKKEEPER_CACHE:-${XDG_CACHE_HOME:-~/.cache}/lockkeeper}
[[ $cache == /* ]] || cache=$PWD/$cache
# Where ccache is installed, what it keeps stays beside Seastar.
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}

say() { printf '%s\n' "$*" >&2; }
step() { printf '==> %s\n' "$*" >&2; }

# One line that says what to do, and the end of the script.
die() {
    printf 'lockkeeper: %s\n' "$*" >&2
    exit 1
}

# Waits until no other process has this file locked, and keeps it locked until this script ends.
#   lock_or_wait FILE what-the-other-does
lock_or_wait() {
    (: >>"$1") 2>/dev/null || die "cannot write $1: is it another user's? Remove it, or choose another folder"
    exec 9>>"$1"
    flock -n 9 || {
        say "    another process is $2; waiting for it"
        flock 9
    }
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

# Runs apt-get and shows how far its downloads and installations are. Its words go to the log.
#   apt_with_progress LOG apt-get-arguments...
apt_with_progress() {
    local log=$1 tty=0
    shift
    [ -t 2 ] && tty=1
    apt-get -o APT::Status-Fd=3 -o Acquire::Retries=3 "$@" 3>&1 >>"$log" 2>&1 | show_apt_progress "$tty" >&2
}

# Reads apt's status lines, "dlstatus:item:percent:text" and "pmstatus:package:percent:text".
show_apt_progress() {
    local tty=$1 kind percent what='' quarter last='' started=$SECONDS
    while IFS=: read -r kind _ percent _; do
        case $kind in
        dlstatus) what=downloading ;;
        pmstatus) what=installing ;;
        *) continue ;;
        esac
        percent=${percent%%.*}
        quarter=$what$((percent / 25))
        if [ "$tty" = 1 ]; then
            printf '\r    %s: %d %%, %d s ' "$what" "$percent" $((SECONDS - started))
        elif [ "$quarter" != "$last" ]; then
            printf '    %s: %d %%, %d s\n' "$what" "$percent" $((SECONDS - started))
        fi
        last=$quarter
    done
    if [ "$tty" = 1 ] && [ -n "$what" ]; then printf '\n'; fi
}
