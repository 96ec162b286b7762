#!/usr/bin/env bash
# usage: tools/fetch_vllm.sh    Prints the folder that holds the Python sources of vLLM and of
# Transformers, fetched once, as site-packages would hold them. Neither is installed or imported.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.deps/vllm-0.33.0

# fetch <package> <version>
fetch() {
  [[ ! -d $folder/$1 ]] || return 0
  echo "== fetching the sources of $1 $2 (once)" >&2
  local download
  download=$(mktemp -d)
  trap 'rm -rf "$download" "$folder/$1.part"' RETURN
  .venv/bin/python -m pip download --disable-pip-version-check --no-deps --dest "$download" \
    "$1==$2" >&2
  mkdir -p "$folder/$1.part"
  .venv/bin/python - "$download"/*.whl "$folder/$1.part" "$1" <<'PYTHON'
import sys, zipfile

wheel, folder, package = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    names = [n for n in archive.namelist() if n.startswith(package + "/") and n.endswith(".py")]
    archive.extractall(folder, names)
PYTHON
  mv "$folder/$1.part/$1" "$folder/$1"
}

fetch vllm 0.33.0  # several hundred MB
fetch transformers 5.24.0
echo "$folder"
