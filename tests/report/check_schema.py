"""Holds a report against analysis.schema.json: every key is there, in order, with its type.

usage: check_schema.py REPORT.json

In the schema a string names alternatives (str, int, float, bool, any, null, 'a literal', or a name
defined at its top), a list has one type for all its items, {"*": type} is an object with any keys.
Keys that the schema does not name are allowed.
"""

import json
import pathlib
import sys

SCHEMA = json.loads(pathlib.Path(__file__).with_name("analysis.schema.json").read_text())

PLAIN = {
    "str": lambda v: isinstance(v, str),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "any": lambda v: True,
}


def faults(value, expected, path):
    if isinstance(expected, str):
        results = [faults_of_name(value, name, path) for name in expected.split("|")]
        return [] if [] in results else results[0]
    if isinstance(expected, list):
        if not isinstance(value, list):
            return [f"{path}: expected a list"]
        return [
            f for i, item in enumerate(value) for f in faults(item, expected[0], f"{path}[{i}]")
        ]
    if not isinstance(value, dict):
        return [f"{path}: expected an object"]
    if "*" in expected:
        return [
            f for key, item in value.items() for f in faults(item, expected["*"], f"{path}.{key}")
        ]
    found = [f"{path}: no key {key!r}" for key in expected if key not in value]
    if found:
        return found
    if [key for key in value if key in expected] != list(expected):
        found.append(f"{path}: keys are not in the order of the schema")
    for key, inner in expected.items():
        found += faults(value[key], inner, f"{path}.{key}")
    return found


def faults_of_name(value, name, path):
    if name.startswith("'"):
        return [] if value == name.strip("'") else [f"{path}: expected {name}, got {value!r}"]
    if name in PLAIN:
        return [] if PLAIN[name](value) else [f"{path}: expected {name}, got {value!r}"]
    return faults(value, SCHEMA[name], path)


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text())
    found = faults(report, SCHEMA["REPORT"], "report")
    print("\n".join(found) or "the report keeps the schema")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
