#!/usr/bin/env bash
# usage: tools/test.sh <preset> [ctest options]    Builds the preset and runs its tests.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

tools/build.sh "$preset"
export PATH="$PWD/.venv/bin:$PATH"
TENON_VLLM_PATH="$PWD/$(tools/fetch_vllm.sh)"  # the analyser is tested on real models
export TENON_VLLM_PATH
echo "== testing build/$preset"
ctest --test-dir "build/$preset" --output-on-failure --parallel "$(nproc)" --progress "$@"
