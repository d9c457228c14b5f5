//! cargo and related tools: building and testing the worktree's code.

use super::{AllowedCall, local, network, writes};

macro_rules! build {
    ($more:literal) => {
        concat!(
            "-p=NAME --package=NAME --workspace --all --exclude=NAME --lib --bins --bin=NAME --examples --example=NAME ",
            "--tests --test=NAME --benches --bench=NAME --all-targets -F=NAME --features=NAME --all-features ",
            "--no-default-features -r --release --profile=NAME --target=NAME --target-dir=PATH --manifest-path=PATH ",
            "-j=NUM --jobs=NUM --keep-going --locked --offline --frozen -v -q --verbose --quiet ",
            "--color=auto|always|never --message-format=NAME --timings --ignore-rust-version ",
            $more
        )
    };
}

pub(super) const CALLS: &[AllowedCall] = &[
    local("cargo build", build!("")),
    local("cargo check", build!("")),
    local(
        "cargo test",
        build!(
            "--no-run --no-fail-fast --doc NAME? -- --nocapture --no-capture --exact --ignored --include-ignored \
             --show-output --test-threads=NUM --skip=NAME --list --quiet -q --format=NAME --color=NAME NAME..."
        ),
    ),
    local(
        "cargo clippy",
        build!(
            "--no-deps -- -D=NAME -W=NAME -A=NAME -F=NAME --deny=NAME --warn=NAME --allow=NAME --forbid=NAME"
        ),
    ),
    local("cargo fmt", "--all --check -p=NAME --package=NAME -v -q --verbose --quiet -- --check -l"),
    local(
        "cargo tree",
        "-p=NAME --package=NAME --workspace -i=NAME --invert=NAME -d --duplicates -e=NAME --edges=NAME --depth=NAME \
         --prefix=NAME --no-dedupe --all-features --no-default-features --features=NAME --target=NAME --locked --offline \
         --frozen",
    ),
    local("cargo deny check", "--all-features advisories|bans|licenses|sources|all..."),
    network(
        "cargo update",
        "-p=NAME --package=NAME --precise=NAME -w --workspace -n --dry-run -v -q --offline --locked NAME...",
    ),
    local("cargo --version", ""),
    local("cargo version", "-v"),
    local("mdbook build", "PATH?"),
    local("mdbook test", "-c=NAME PATH?"),
    local(
        "openspec validate",
        "--all --changes --specs --strict --json --type=NAME --no-interactive NAME...",
    ),
    local("openspec list", "--specs --changes --json"),
    local("openspec show", "--json --type=NAME NAME"),
    local("openspec status", "--json --change=NAME NAME..."),
    local("openspec instructions", "--json --change=NAME NAME..."),
    writes("openspec new", "--description=TEXT change NAME"),
];

pub(super) const MORE: &[AllowedCall] = &[
    local("cargo doc", build!("--no-deps --document-private-items")),
    local("cargo bench", build!("--no-run --no-fail-fast NAME?")),
    local(
        "cargo nextest run",
        build!(
            "-E=TEXT --filter-expr=TEXT -P=NAME --retries=NUM --no-fail-fast --no-capture --nocapture --run-ignored=NAME \
             --status-level=NAME --final-status-level=NAME --failure-output=NAME --success-output=NAME \
             --test-threads=NUM --no-run --cargo-profile=NAME NAME..."
        ),
    ),
    local("cargo nextest list", build!("-E=TEXT -P=NAME NAME...")),
    local(
        "cargo metadata",
        "--no-deps --format-version=NUM --offline --locked --frozen --manifest-path=PATH",
    ),
    local("cargo audit", "-q --json"),
    local("cargo machete", "PATH..."),
    local("cargo hack check", build!("--each-feature --feature-powerset --no-dev-deps")),
    network("cargo fetch", "--locked --offline --target=NAME --manifest-path=PATH -v -q"),
    network("cargo search", "--limit=NUM NAME"),
    local("rustc --version", ""),
    local("rustc --explain", "NAME"),
    local("rustfmt", "--check --edition=NUM -l -v -q PATH..."),
    local("rustup show", "active-toolchain?"),
    local("rustup toolchain list", "-v"),
    local("rustup target list", "--installed"),
];
