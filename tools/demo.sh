#!/usr/bin/env bash
# From a real model to a checked and timed fused operator: analyses Qwen3 in vLLM's sources, then
# generates its best opportunity for the CPU.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh release
export PATH="$PWD/build/release/bin:$PWD/.venv/bin:$PATH"

vllm=$(tools/fetch_vllm.sh)

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
