#!/usr/bin/env bash
# Runs the benchmarks: all of them, or those that are named. docs/performance.md tells what they print.
#   bench/run.sh [parser] [lock-table] [beside-redis] [memtier] [hot-key] [fleet] [memory]
# Every run of the load generator is also kept as a JSON line in bench/results.
set -euo pipefail
cd "$(dirname "$0")/.."

lockkeeper=build/release/lockkeeper
micro=build/release/bench/micro
results=bench/results/$(date +%Y-%m-%d-%H%M%S).jsonl

parser() {
    echo "== parser: one core, bytes in memory =="
    "$micro/parser_bench"
    python3 -B bench/parser_instructions.py "$micro/parser_bench"
}

lock_table() {
    echo "== lock table: instructions to take and give back a lock, by callgrind =="
    python3 -B bench/instructions.py "$micro/lock_table_bench"
}

beside_redis() {
    echo "== server beside redis-server: redis-benchmark, 50 connections, one core each =="
    python3 -B bench/beside_redis.py "$lockkeeper"
}

memtier() {
    echo "== server beside redis-server: memtier_benchmark, 50 connections, one core each =="
    python3 -B bench/memtier.py "$lockkeeper"
}

hot_key() {
    echo "== one hot key: hand-offs a second, beside redis-server, one core each =="
    python3 -B bench/hot_key.py "$lockkeeper" --json "$results"
}

fleet() {
    echo "== locks on masters: beside RedLock of the clients, beside memory, and with masters frozen =="
    python3 -B bench/fleet.py "$lockkeeper"
}

memory() {
    echo "== memory of locks, connections and waiters =="
    python3 -B bench/memory.py "$lockkeeper"
}

[ $# -gt 0 ] || set -- parser lock-table beside-redis memtier hot-key fleet memory
for name in "$@"; do
    case $name in
    parser | lock-table | beside-redis | memtier | hot-key | fleet | memory) ;;
    *)
        echo "bench/run.sh: no benchmark '$name'; there are parser, lock-table, beside-redis, memtier, hot-key, fleet and memory" >&2
        exit 2
        ;;
    esac
done
mkdir -p bench/results
for name in "$@"; do
    "${name//-/_}"
    echo
done
