#!/usr/bin/env bash
# usage: tools/fetch_vllm.sh    Prints the folder that holds vLLM's Python sources, fetched once.
# Only the Python files are kept; vLLM itself is never installed or imported.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.33.0
folder=.deps/vllm-$version

if [[ ! -d $folder ]]; then
  echo "== fetching the sources of vLLM $version (several hundred MB, once)" >&2
  download=$(mktemp -d)
  trap 'rm -rf "$download" "$folder.part"' EXIT
  .venv/bin/python -m pip download --disable-pip-version-check --no-deps --dest "$download" \
    "vllm==$version" >&2
  mkdir -p "$folder.part"
  .venv/bin/python - "$download"/vllm-*.whl "$folder.part" <<'PYTHON'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = [n for n in wheel.namelist() if n.startswith("vllm/") and n.endswith(".py")]
    wheel.extractall(sys.argv[2], names)
PYTHON
  mv "$folder.part" "$folder"
fi
echo "$folder"
