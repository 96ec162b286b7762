"""Runs command lines of `tenon` and compares what they print.

usage: run_cases.py TENON CASES.json

A case: {"run": "doctor --env-table", "exit": 0, "stdout": "text", "stderr": "text"}.
  stdout and stderr are exact; "" is the default of stderr, stdout is compared only where given
  stdout_file      a file of the repository that standard output must equal; with
                   TENON_REGEN_GOLDEN=1 it is written instead
  stdout_has       texts that must occur in standard output
  stderr_has       texts that must occur in standard error, which is then not compared whole
  env              variables to set; all TENON_ variables of the caller are removed
  files            file -> text, written into the case's empty working folder first
  keeps            names that must be all there is in that folder afterwards
{source} is the repository, {work} the working folder.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def run(tenon, case, work):
    def fill(text):
        return text.replace("{source}", str(SOURCE)).replace("{work}", work)

    for name, text in case.get("files", {}).items():
        path = pathlib.Path(work, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text))
    env = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
    env |= {"HOME": work + "/home", "XDG_CACHE_HOME": work + "/home"}
    env |= {key: fill(value) for key, value in case.get("env", {}).items()}
    done = subprocess.run(
        [tenon, *shlex.split(fill(case["run"]))],
        cwd=work, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip

    def differs(what, got, expected):
        return [f"{what} is\n{got}\nexpected\n{expected}"] if got != expected else []

    faults = differs("exit code", done.returncode, case.get("exit", 0))
    if "stderr_has" in case:
        wanted = [fill(text) for text in case["stderr_has"]]
        faults += [
            f"standard error lacks {t!r}:\n{done.stderr}" for t in wanted if t not in done.stderr
        ]
    else:
        faults += differs("standard error", done.stderr.rstrip("\n"), fill(case.get("stderr", "")))
    if "stdout" in case:
        faults += differs("standard output", done.stdout.rstrip("\n"), fill(case["stdout"]))
    if "stdout_file" in case:
        expected = SOURCE / case["stdout_file"]
        if os.environ.get("TENON_REGEN_GOLDEN") == "1":
            expected.write_text(done.stdout)
        if done.stdout != expected.read_text():
            faults.append(f"{case['stdout_file']} is out of date: run tools/regen_golden")
    wanted = [fill(text) for text in case.get("stdout_has", [])]
    faults += [
        f"standard output lacks {t!r}:\n{done.stdout}" for t in wanted if t not in done.stdout
    ]
    if "keeps" in case:
        names = sorted(path.name for path in pathlib.Path(work).iterdir() if path.name != "home")
        faults += differs("the working folder", names, sorted(case["keeps"]))
    return faults


def main():
    tenon, table = sys.argv[1:]
    cases = json.loads(pathlib.Path(table).read_text())
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as work:
            faults = run(tenon, case, work)
        failed += bool(faults)
        print("FAIL" if faults else "ok  ", "tenon", case["run"])
        for fault in faults:
            print("    " + fault.replace("\n", "\n    "))
    print(f"{len(cases) - failed} of {len(cases)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
