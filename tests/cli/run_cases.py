"""Runs command lines of `tenon` and compares what they print.

usage: run_cases.py TENON CASES.json

A case: {"run": "doctor --env-table", "exit": 0, "stdout": "text", "stderr": "text"}.
  stdout and stderr are exact; "" is the default of stderr, stdout is compared only where given
  stdout_file      a file of the repository that standard output must equal; with
                   TENON_REGEN_GOLDEN=1 it is written instead
  stdout_has       texts that must occur in standard output
  stderr_has       texts that must occur in standard error, which is then not compared whole
  stderr_lines     how many lines standard error must have
  env              variables to set; all TENON_ variables of the caller are removed
  files            file -> text, written into the case's empty working folder first
  before           command lines that are run before this one and must succeed
  overwrites       pattern -> text, put into every file that matches after those
  at_once          how many processes run the command at the same time; each is compared
  keeps            names that must be all there is in that folder afterwards
  counts           pattern -> how many files and folders must match it afterwards
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


def start(tenon, line, work, env):
    return subprocess.Popen(
        [tenon, *shlex.split(line)],
        cwd=work, env=env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def differs(what, got, expected):
    return [f"{what} is\n{got}\nexpected\n{expected}"] if got != expected else []


def lacks(what, got, texts):
    return [f"{what} lacks {text!r}:\n{got}" for text in texts if text not in got]


def prepare(tenon, case, work, env, fill):
    for name, text in case.get("files", {}).items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text))
    for line in case.get("before", []):
        process = start(tenon, fill(line), work, env)
        _, stderr = process.communicate(timeout=300)
        if process.returncode != 0:
            return [f"tenon {line} failed before the case:\n{stderr}"]
    faults = []
    for pattern, text in case.get("overwrites", {}).items():
        paths = list(work.glob(pattern))
        faults += [] if paths else [f"nothing matches {pattern}"]
        for path in paths:
            path.write_text(text)
    return faults


def compare(case, code, stdout, stderr, fill):
    faults = differs("exit code", code, case.get("exit", 0))
    if "stderr_has" in case:
        faults += lacks("standard error", stderr, map(fill, case["stderr_has"]))
    else:
        faults += differs("standard error", stderr.rstrip("\n"), fill(case.get("stderr", "")))
    if "stderr_lines" in case:
        faults += differs("lines of standard error", len(stderr.splitlines()), case["stderr_lines"])
    if "stdout" in case:
        faults += differs("standard output", stdout.rstrip("\n"), fill(case["stdout"]))
    if "stdout_file" in case:
        expected = SOURCE / case["stdout_file"]
        if os.environ.get("TENON_REGEN_GOLDEN") == "1":
            expected.write_text(stdout)
        if stdout != expected.read_text():
            faults.append(f"{case['stdout_file']} is out of date: run tools/regen_golden")
    return faults + lacks("standard output", stdout, map(fill, case.get("stdout_has", [])))


def run(tenon, case, work):
    def fill(text):
        return text.replace("{source}", str(SOURCE)).replace("{work}", str(work))

    env = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
    env |= {"HOME": f"{work}/home", "XDG_CACHE_HOME": f"{work}/home"}
    env |= {key: fill(value) for key, value in case.get("env", {}).items()}
    faults = prepare(tenon, case, work, env, fill)
    if faults:
        return faults
    processes = [start(tenon, fill(case["run"]), work, env) for _ in range(case.get("at_once", 1))]
    for process in processes:
        stdout, stderr = process.communicate(timeout=300)
        faults += compare(case, process.returncode, stdout, stderr, fill)
    for pattern, count in case.get("counts", {}).items():
        faults += differs(pattern, len(list(work.glob(pattern))), count)
    if "keeps" in case:
        names = sorted(path.name for path in work.iterdir() if path.name != "home")
        faults += differs("the working folder", names, sorted(case["keeps"]))
    return faults


def main():
    tenon, table = sys.argv[1:]
    cases = json.loads(pathlib.Path(table).read_text())
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as work:
            faults = run(tenon, case, pathlib.Path(work))
        failed += bool(faults)
        print("FAIL" if faults else "ok  ", "tenon", case["run"])
        for fault in faults:
            print("    " + fault.replace("\n", "\n    "))
    print(f"{len(cases) - failed} of {len(cases)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
