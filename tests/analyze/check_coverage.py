"""What `tenon analyze --all` understands of a vLLM tree may only grow.

usage: check_coverage.py TENON TABLE    TABLE holds the output of an earlier run. With
TENON_REGEN_GOLDEN=1 it is written instead."""

import os
import re
import subprocess
import sys

ROW = re.compile(r"(\S+)\s+(resolved|unresolved)\s+(\d+) opaque, (\d+) assumptions")


def rows(text):
    found = {}
    for line in text.splitlines():
        if match := ROW.match(line):
            name, state, opaque, assumptions = match.groups()
            found[name] = (state == "resolved", int(opaque), int(assumptions))
    return found


def main():
    tenon, table = sys.argv[1:]
    if "TENON_VLLM_PATH" not in os.environ:
        print("no vLLM tree")
        sys.exit(77)
    text = subprocess.run(
        [tenon, "analyze", "--all"], check=True, capture_output=True, text=True
    ).stdout
    if os.environ.get("TENON_REGEN_GOLDEN"):
        with open(table, "w") as file:
            file.write(text)
        return
    now = rows(text)
    with open(table) as file:
        before = rows(file.read())
    complaints = []
    for name, (resolved, opaque, assumptions) in before.items():
        if name not in now:
            complaints.append(f"{name} is gone")
            continue
        if resolved and not now[name][0]:
            complaints.append(f"{name} is no longer resolved")
        # An architecture that was not resolved had fewer operators to understand.
        if resolved and now[name][1] > opaque:
            complaints.append(f"{name}: {now[name][1]} opaque operators, {opaque} before")
        if resolved and now[name][2] > assumptions:
            complaints.append(f"{name}: {now[name][2]} assumptions, {assumptions} before")
    print(f"{sum(r for r, _, _ in now.values())} of {len(now)} architectures resolved")
    if now != before and not complaints:
        print("more is understood than the table says: TENON_REGEN_GOLDEN=1 writes it anew")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(1 if complaints else 0)


main()
