#!/usr/bin/env bash
# usage: tools/test_torch_versions.sh [BUILD] [VERSION...]    (default: build/release 2.11.0 and the newest)
# Runs the extension's tests in other releases of PyTorch than the one it was built with. Each is
# installed into .deps/torch-VERSION, 1.2 GB, without its dependencies: those of .venv serve.
# With --installed, only what is there already; exits with 77 when nothing is.
set -euo pipefail
cd "$(dirname "$0")/.."
installed_only=
[[ ${1:-} == --installed ]] && installed_only=1 && shift
build=${1:-build/release}
shift || true
python=$PWD/.venv/bin/python

if [[ $installed_only ]]; then
  mapfile -t versions < <(cd .deps && ls -d torch-* 2>/dev/null | sed 's/^torch-//')
elif (($#)); then
  versions=("$@")
else
  newest=$("$python" -m pip index versions torch 2>/dev/null | sed -n '1s/.*(\(.*\))/\1/p')
  versions=(2.11.0 "$newest")
fi
((${#versions[@]})) || exit 77

failed=0
for version in "${versions[@]}"; do
  folder=$PWD/.deps/torch-$version
  if [[ ! -d $folder ]]; then
    echo "== installing torch $version into ${folder#"$PWD"/}"
    rm -rf "$folder.part"
    "$python" -m pip install -q --disable-pip-version-check --no-deps --target "$folder.part" \
      "torch==$version"
    # The one of NVIDIA's libraries whose older versions lack symbols that newer releases need.
    nvshmem=$(sed -n 's/^Requires-Dist: \(nvidia-nvshmem[^; ]*\).*/\1/p' \
      "$folder.part"/torch-*.dist-info/METADATA)
    [[ -z $nvshmem ]] || "$python" -m pip install -q --disable-pip-version-check --no-deps \
      --target "$folder.part" "$nvshmem"
    mv "$folder.part" "$folder"
  fi
  echo "== torch $version"
  PYTHONPATH=$folder:$PWD/python TENON_LIBRARY=$PWD/$build/lib/libtenon.so \
    "$python" -m pytest -q -p no:cacheprovider tests/python/test_torch_extension.py || failed=1
done
exit $failed
