#!/usr/bin/env bash
# From a real model to a checked and timed fused operator: analyses Qwen3 in vLLM's sources, then
# generates its best opportunity for the CPU.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.33.0
vllm=.deps/vllm-$version
tools/build.sh release
export PATH="$PWD/build/release/bin:$PWD/.venv/bin:$PATH"

# Only the Python files are kept; vLLM itself is never installed or imported.
if [[ ! -d $vllm ]]; then
  echo "== fetching the sources of vLLM $version (several hundred MB, once)"
  download=$(mktemp -d)
  trap 'rm -rf "$download" "$vllm.part"' EXIT
  python -m pip download --no-deps --dest "$download" "vllm==$version"
  mkdir -p "$vllm.part"
  python - "$download"/vllm-*.whl "$vllm.part" <<'PYTHON'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = [n for n in wheel.namelist() if n.startswith("vllm/") and n.endswith(".py")]
    wheel.extractall(sys.argv[2], names)
PYTHON
  mv "$vllm.part" "$vllm"
fi

echo "== analysing Qwen3ForCausalLM"
tenon analyze Qwen3ForCausalLM --vllm "$vllm" --format all -o out
best=$(python - out/report.json <<'PYTHON'
import json, sys

report = json.load(open(sys.argv[1]))
# The report lists opportunities from the largest saving down.
print(next(o["id"] for o in report["opportunities"] if o["status"] in ("open", "optin") and o["ir"]))
PYTHON
)
echo "== generating opportunity $best for the CPU"
tenon fuse out/report.json --opportunity "$best" --target cpp -o out/fused
echo "report: out/report.md, out/report.json, out/report.html"
