//! node: common package scripts and the built-in test runner. Installing and `npx` download code, so they are not listed.

use super::{AllowedCall, local};

const SCRIPT: &str = "-s --silent --if-present -w=NAME --workspace=NAME --workspaces -- --run --ci --coverage --verbose \
     --silent --watch=false --watchAll=false -t=TEXT --bail PATH...";
const NAMED: &str = "-s --silent --if-present -w=NAME --workspace=NAME --workspaces SCRIPT -- --run --ci --coverage \
     --verbose --silent --watch=false --watchAll=false -t=TEXT --bail PATH...";
const FILTERED: &str = "-s --silent -r --recursive --filter=NAME SCRIPT";

pub(super) const CALLS: &[AllowedCall] = &[
    local("npm test", SCRIPT),
    local("npm run", NAMED),
    local("npm run-script", NAMED),
    local("npm ls", "-a --all -g --depth=NUM --json --long NAME..."),
    local("npm --version", ""),
    local("pnpm test", "-s --silent -r --recursive --filter=NAME"),
    local("pnpm run", FILTERED),
    local("pnpm --version", ""),
    local("yarn test", "-s --silent"),
    local("yarn run", "-s --silent SCRIPT"),
    local("yarn --version", ""),
    local("node --version", ""),
    local("node --check", "PATH"),
    local("node --test", "--test-name-pattern=TEXT --test-reporter=spec|tap|dot|junit --test-only PATH..."),
    local(
        "tsc",
        "--noEmit -b --build -p=PATH --project=PATH --pretty --version --strict --skipLibCheck PATH...",
    ),
    local("eslint", "--quiet --max-warnings=NUM --ext=NAME --no-color --color PATH..."),
    local("prettier", "--check -c -l --list-different PATH..."),
    local("vitest run", "--coverage --reporter=NAME -t=TEXT --bail=NUM PATH..."),
    local(
        "jest",
        "--ci --coverage --verbose --silent -t=TEXT --testNamePattern=TEXT --runInBand -i --bail PATH...",
    ),
];
