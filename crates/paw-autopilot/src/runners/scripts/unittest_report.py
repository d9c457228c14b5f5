"""Runs unittest for git-paw and writes one JSON record per test."""

import json
import os
import sys
import unittest


def place(test):
    module = sys.modules.get(type(test).__module__)
    return getattr(module, "__file__", None)


class Record(unittest.TestResult):
    def __init__(self, out):
        super().__init__()
        self.out = out
        self.buffer = True
        self.parts = set()
        self.written = 0
        self.bad = False

    def write(self, test, outcome, message=""):
        # unittest reports a module that cannot be imported as a failing test.
        loading = type(test).__name__ in ("_FailedTest", "ModuleImportFailure")
        record = {
            "name": test.id(),
            "file": None if loading else place(test),
            "outcome": outcome,
            "loading": loading,
            "message": message,
        }
        self.written += 1
        self.bad = self.bad or outcome == "failed"
        self.line(record)

    def line(self, record):
        self.out.write(json.dumps(record) + "\n")
        self.out.flush()

    def text(self, error, test):
        return self._exc_info_to_string(error, test)

    def addSuccess(self, test):
        self.write(test, "passed")

    def addError(self, test, error):
        self.write(test, "failed", self.text(error, test))

    def addFailure(self, test, error):
        self.write(test, "failed", self.text(error, test))

    # A failing subtest fails its test, which counts once under its own name.
    def addSubTest(self, test, subtest, error):
        if error is not None and test.id() not in self.parts:
            self.parts.add(test.id())
            self.write(test, "failed", str(subtest) + "\n" + self.text(error, test))

    def addSkip(self, test, reason):
        self.write(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.write(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.write(test, "failed", "it was expected to fail")


def modules():
    """Every module that looks like tests, as they are right now."""
    skipped = ("node_modules", "venv", "site-packages", "target", "__pycache__")
    for folder, folders, files in os.walk("."):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in skipped)
        for name in sorted(files):
            stem, end = os.path.splitext(name)
            if end == ".py" and (stem.startswith("test_") or stem.endswith("_test") or stem == "tests"):
                path = os.path.normpath(os.path.join(folder, stem))
                yield path.replace(os.sep, ".")


def main():
    report, names = sys.argv[1], sys.argv[2:] or list(modules())
    sys.path.insert(0, os.getcwd())
    loader = unittest.TestLoader()
    with open(report, "w", encoding="utf-8") as out:
        result = Record(out)
        loader.loadTestsFromNames(names).run(result)
        result.line({"end": result.written})
    sys.exit(1 if result.bad else 0)


main()
