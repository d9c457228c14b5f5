//! python: test runners, linters and type checkers. The interpreter is allowed only with a named module.

use super::{AllowedCall, local, network};

const PYTEST: &str = "-q -v -x -s -l -k=NAME -m=NAME --lf --ff --last-failed --failed-first --sw --nf --co \
     --collect-only --tb=auto|long|short|line|native|no --maxfail=NUM --durations=NUM --no-header --no-summary \
     -r=NAME --strict-markers --strict-config --color=yes|no|auto --cov[=PATH] --cov-report=term|term-missing \
     --no-cov -n=NAME --exitfirst --quiet --verbose --version PATH...";
const UNITTEST: &str =
    "-v -q -f -b --verbose --quiet --failfast --buffer -k=TEXT -s=PATH -p=TEXT -t=PATH PATH...";
const RUFF: &str = "-q -v --quiet --verbose --no-cache --select=NAME --ignore=NAME --output-format=NAME --statistics \
     --diff --check --fix --preview --exit-zero PATH...";
const MYPY: &str = "--strict --pretty --no-color-output --show-error-codes --ignore-missing-imports --no-incremental \
     -p=NAME -m=NAME --version PATH...";

pub(super) const CALLS: &[AllowedCall] = &[
    local("pytest", PYTEST),
    local("py.test", PYTEST),
    local("python -m pytest", PYTEST),
    local("python3 -m pytest", PYTEST),
    network("uv run pytest", PYTEST),
    local("poetry run pytest", PYTEST),
    local("python -m unittest", UNITTEST),
    local("python3 -m unittest", UNITTEST),
    local("python -m unittest discover", UNITTEST),
    local("python3 -m unittest discover", UNITTEST),
    local("python -m py_compile", "PATH..."),
    local("python3 -m py_compile", "PATH..."),
    local("python --version", ""),
    local("python3 --version", ""),
    local("ruff check", RUFF),
    local("ruff format", RUFF),
    network("uv run ruff check", RUFF),
    local("python -m ruff check", RUFF),
    local("mypy", MYPY),
    local("python -m mypy", MYPY),
    network("uv run mypy", MYPY),
    local("pyright", "--stats --warnings --outputjson --version PATH..."),
    local("black", "--check --diff -q -v --version -l=NUM --line-length=NUM PATH..."),
    local("isort", "--check --check-only --diff -q -v --profile=NAME PATH..."),
    local(
        "flake8",
        "--count --statistics --max-line-length=NUM --select=NAME --ignore=NAME --version PATH...",
    ),
    local("pip list", "--outdated --format=NAME"),
    local("pip show", "NAME..."),
    local("pip freeze", ""),
    local("pip --version", ""),
    local("uv --version", ""),
];
