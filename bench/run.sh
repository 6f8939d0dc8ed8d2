#!/usr/bin/env bash
# Runs the benchmarks that exist: the parser alone, then the server beside redis-server in one run.
#   bench/run.sh [seconds per measurement]
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== parser: one core, bytes in memory =="
build/release/bench/micro/parser_bench

echo
echo "== server beside redis-server: redis-benchmark, 50 connections, one core each =="
exec python3 -B bench/beside_redis.py build/release/lockkeeper "$@"
