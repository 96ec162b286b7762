"""The command `tenon` of an installed package: the program beside this file takes over."""

import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).resolve().parent / "bin" / "tenon"
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tenon: {program} cannot be run: {error.strerror}")
