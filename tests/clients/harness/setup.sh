# Shared by the setup scripts of the suites. Source it in the suite's folder. Each step is silent and needs no network
# when what it would do is done.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
SUITE_HOME=${SUITE_HOME:-${CLIENTS_HOME:-${LOCKKEEPER_CACHE:-${XDG_CACHE_HOME:-~/.cache}/lockkeeper}/clients}/$(basename "$PWD")}
mkdir -p "$SUITE_HOME"

say() { printf '%s\n' "$*" >&2; }

# need_command NAME GROUP: the command, from wherever the machine has it; otherwise from the Debian packages of a group.
need_command() {
    command -v "$1" >/dev/null || "$top/scripts/setup" "$2"
    hash -r
    command -v "$1" >/dev/null || { say "there is no $1, and the packages of group $2 do not bring it"; exit 1; }
}

# once STAMP FILE... -- COMMAND...: runs the command unless it has succeeded with these files before.
once() {
    local stamp=$1 sum inputs=()
    shift
    while [ "$1" != -- ]; do inputs+=("$1"); shift; done
    shift
    sum=$(cat "${inputs[@]}" | sha256sum)
    [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return 0
    rm -f "$stamp"
    "$@"
    printf '%s' "$sum" >"$stamp"
}

# python_environment FOLDER REQUIREMENTS
python_environment() {
    once "$1.stamp" "$2" -- install_python "$1" "$2"
}

install_python() {
    say "Python packages of $2 into $1"
    python3 -c 'import ensurepip' 2>/dev/null || "$top/scripts/setup" clients
    rm -rf "$1"
    python3 -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$2"
}

# java_libraries POM FOLDER: the jars that the file names, and those that they need. Maven from wherever the machine has it.
java_libraries() {
    need_command javac clients-java
    need_command mvn clients-java
    once "$2.stamp" "$1" -- fetch_jars "$1" "$2"
}

fetch_jars() {
    say "Java libraries of $1 into $2"
    rm -rf "$2"
    mvn --batch-mode --quiet -f "$1" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
        -DoutputDirectory="$2" -DincludeScope=runtime
}

# java_classes LIBRARIES FOLDER SOURCE...
java_classes() {
    local libraries=$1 folder=$2
    shift 2
    once "$folder.stamp" "$libraries.stamp" "$@" -- compile_java "$libraries" "$folder" "$@"
}

compile_java() {
    local libraries=$1 folder=$2
    shift 2
    rm -rf "$folder"
    javac -nowarn -d "$folder" -cp "$libraries/*" "$@"
}

# node_modules: what package-lock.json of the current folder names, into $SUITE_HOME/node_modules.
node_modules() {
    need_command node clients-node
    need_command npm clients-node
    once "$SUITE_HOME/node_modules.stamp" package.json package-lock.json -- install_node
}

install_node() {
    say "Node packages into $SUITE_HOME"
    cp package.json package-lock.json "$SUITE_HOME/"
    npm ci --prefix "$SUITE_HOME" --no-audit --no-fund --no-update-notifier --loglevel error
}

# go_toolchain GO.MOD: a Go as new as the file wants. An older one brings the newer one as a module, checked as such.
go_toolchain() {
    need_command go clients-go
    local wanted found folder
    wanted=$(awk '$1 == "go" { print $2 }' "$1")
    found=$(GOTOOLCHAIN=local go env GOVERSION)
    [ "$(printf '%s\n' "$wanted" "${found#go}" | sort -V | head -n 1)" = "$wanted" ] && return 0
    say "Go $wanted in place of ${found#go}"
    folder=$(cd "$SUITE_HOME" && GOTOOLCHAIN=local GOFLAGS= \
        go mod download -json "golang.org/toolchain@v0.0.1-go$wanted.$(go env GOOS)-$(go env GOARCH)" |
        sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    find "$folder/bin" "$folder/pkg/tool" -type f -exec chmod +x {} +
    PATH=$folder/bin:$PATH
    hash -r
}
