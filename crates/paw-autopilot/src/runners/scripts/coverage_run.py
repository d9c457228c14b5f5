"""Runs Python tests under coverage.py for git-paw: coverage_run.py REPORT MODULE-OR-FILE ARGUMENTS..."""

import os
import runpy
import sys

import coverage


def main():
    report, target = sys.argv[1], sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.getcwd()
    # In memory, so that nothing is left in the project.
    measured = coverage.Coverage(data_file=None, branch=True)
    if not measured.get_option("run:source") and not measured.get_option("run:source_pkgs"):
        measured.set_option("run:source", ["."])
    code = 0
    measured.start()
    try:
        if target.endswith(".py"):
            runpy.run_path(target, run_name="__main__")
        else:
            runpy.run_module(target, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    finally:
        measured.stop()
    try:
        measured.json_report(outfile=report)
    except coverage.CoverageException as error:
        print(error, file=sys.stderr)
        code = 1
    sys.exit(code)


main()
