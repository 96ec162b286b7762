#!/usr/bin/env bash
# usage: tools/build.sh <preset>    Installs what is missing, configures and builds build/<preset>.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1

tools/setup.sh
export PATH="$PWD/.venv/bin:$PATH"
if [[ ! -f build/$preset/build.ninja ]]; then
  echo "== configuring build/$preset"
  cmake --preset "$preset" -Wno-dev
fi
echo "== building build/$preset"
cmake --build "build/$preset"
