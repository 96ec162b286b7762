#!/usr/bin/env bash
# Installs what a build lacks: Debian packages, and Python packages into .venv. Does nothing, in
# well under a second, when all of it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build pkg-config make git python3 python3-venv
  libopenmpi-dev openmpi-bin libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libgtest-dev libgmock-dev)

if [[ -n ${CI:-} ]]; then packages+=(clang-tidy); fi  # large, and people rarely need it

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done

if ((${#missing[@]})); then
  as_root=()
  if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null && ! { [[ -t 0 ]] && command -v sudo >/dev/null; }; then
      echo "These packages are missing and there is no sudo to install them with; run as root:" >&2
      echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "== installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
fi

# The stamp is a copy of the list that .venv was made from.
if ! cmp -s tools/requirements.txt .venv/requirements.txt; then
  echo "== installing Python packages into .venv"
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements.txt
  cp tools/requirements.txt .venv/requirements.txt
fi
