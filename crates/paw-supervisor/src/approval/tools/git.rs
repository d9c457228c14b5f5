//! git: inspecting, staging, committing, and pushing or pulling the worktree's branch.
//!
//! Not listed, so the user is asked: commands that rewrite or discard work (reset, restore, rm, clean, rebase, checkout),
//! dropping stashes, skipping hooks, other repositories and configuration (`-C`, `-c`), and output to files.

use super::{AllowedCall, changes, local, network, pulls};

/// Options for showing differences.
macro_rules! quoted {
    ($more:literal) => {
        concat!(
            "-p -u --patch -s --no-patch -U=NUM --unified=NUM --stat[=NUM] --numstat --shortstat --dirstat --summary ",
            "--name-only --name-status --color[=always|never|auto] --no-color --word-diff[=plain|color|porcelain|none] ",
            "-w -b --ignore-all-space --ignore-space-change --ignore-blank-lines -M -C --find-renames[=NUM] --no-renames ",
            "-R -z --check --minimal --patience --histogram -W --function-context --diff-filter=NAME --no-ext-diff ",
            "--no-textconv --compact-summary -q --quiet -a --text --abbrev[=NUM] --full-index --relative ",
            $more
        )
    };
}

/// Options for selecting and showing commits.
macro_rules! history {
    ($more:literal) => {
        concat!(
            "-NUM -n=NUM --max-count=NUM --skip=NUM --oneline --graph --decorate[=short|full|no|auto] --no-decorate ",
            "--all --branches --tags --remotes --reverse --follow --merges --no-merges --first-parent --topo-order ",
            "--date-order --format=TEXT --pretty[=TEXT] --abbrev-commit --date=TEXT --since=TEXT --after=TEXT ",
            "--until=TEXT --before=TEXT --author=TEXT --committer=TEXT --grep=TEXT -i -E -F -S=TEXT -G=TEXT -L=TEXT ",
            "--left-right --cherry-pick --cherry --boundary --no-walk --show-signature --cc -m -c ",
            $more
        )
    };
}

pub(super) const CALLS: &[AllowedCall] = &[
    local(
        "git status",
        "-s --short -b --branch --show-stash --porcelain[=v1|v2] --long -v -z -u --untracked-files[=no|normal|all] \
         --ignored --no-renames --ahead-behind --no-ahead-behind PATH...",
    ),
    local("git diff", quoted!("--cached --staged --merge-base --exit-code PATH...")),
    local("git log", concat!(quoted!(""), history!("PATH..."))),
    local("git show", concat!(quoted!(""), history!("PATH..."))),
    local("git whatchanged", concat!(quoted!(""), history!("PATH..."))),
    local("git shortlog", "-s -n -e --summary --numbered --email --since=TEXT --until=TEXT PATH..."),
    local(
        "git blame",
        "-L=TEXT -w -M -C -l -t -s -e --date=TEXT --porcelain --line-porcelain --since=TEXT PATH...",
    ),
    local(
        "git grep",
        "-n --line-number -i --ignore-case -w -l --files-with-matches -L -c --count -E -F -P -G -v -h -H -o -q -A=NUM \
         -B=NUM -C=NUM -W -p --cached --untracked --heading --break --column --max-depth=NUM \
         TEXT PATH...",
    ),
    local(
        "git ls-files",
        "-c -d -m -o -s -u -t -z --cached --deleted --modified --others --stage --exclude-standard --full-name PATH...",
    ),
    local("git ls-tree", "-r -t -d -l -z --name-only --full-name --full-tree --long PATH..."),
    local(
        "git rev-parse",
        "--short[=NUM] --abbrev-ref --symbolic-full-name --verify -q --quiet --show-toplevel --show-prefix --show-cdup \
         --git-dir --git-common-dir --is-inside-work-tree --is-bare-repository --absolute-git-dir PATH...",
    ),
    local("git rev-list", history!("--count --objects PATH...")),
    local("git merge-base", "-a --all --is-ancestor --fork-point --octopus PATH..."),
    local(
        "git describe",
        "--tags --always --dirty --long --all --abbrev=NUM --match=TEXT --exact-match PATH...",
    ),
    local("git name-rev", "--name-only --tags PATH..."),
    local("git cat-file", "-t -s -p -e PATH..."),
    local("git show-ref", "--heads --tags --head --verify -q -d REF..."),
    local("git for-each-ref", "--format=TEXT --sort=NAME --count=NUM --merged[=REF] --contains[=REF] REF..."),
    local("git range-diff", quoted!("PATH...")),
    local("git diff-tree", quoted!("-r -t --root --no-commit-id -m -c --cc PATH...")),
    local("git check-ignore", "-v -q -n PATH..."),
    local("git check-attr", "-a TEXT PATH..."),
    local("git count-objects", "-v -H"),
    local("git cherry", "-v REF..."),
    local("git reflog", "-NUM -n=NUM --oneline --date=TEXT"),
    local("git reflog show", "-NUM -n=NUM --oneline --date=TEXT REF?"),
    local("git stash list", "-NUM --oneline"),
    local("git stash show", quoted!("--include-untracked PATH?")),
    local("git worktree list", "--porcelain -z -v"),
    local(
        "git branch",
        "-a --all -r --remotes -v --verbose --show-current --list --column --no-column --merged[=REF] \
         --no-merged[=REF] --contains[=REF] --sort=NAME --format=TEXT",
    ),
    local("git tag", "-l --list -n --sort=NAME --format=TEXT"),
    local("git remote", "-v --verbose"),
    local("git remote get-url", "--all REMOTE"),
    local(
        "git config",
        "--get=user.name|user.email|init.defaultBranch|core.hooksPath|core.bare|remote.origin.url",
    ),
    local("git version", "--build-options"),
    local("git help", ""),
    local("git --version", ""),
    local("git add", "-A --all -u --update -v --verbose -n --dry-run -N --intent-to-add PATH..."),
    local(
        "git commit",
        "-a --all -m=TEXT --message=TEXT -F=PATH --file=PATH -s --signoff -v --verbose -q --quiet --amend --no-edit \
         --allow-empty --dry-run --short --porcelain -o --only -i --include --fixup=REF --cleanup=NAME PATH...",
    ),
    changes("git mv", "-v -k -n --dry-run PATH..."),
    changes(
        "git merge",
        "--ff --ff-only --no-ff --no-edit --stat --no-stat -q -v --no-commit -m=TEXT REF...",
    ),
    network(
        "git fetch",
        "-v -q --verbose --quiet -p --prune --all -t --tags --no-tags -n --dry-run REMOTE? REF...",
    ),
    network("git ls-remote", "--heads --tags -q --refs --get-url --symref REMOTE? REF..."),
    network("git remote show", "-n REMOTE"),
    pulls("git pull", "--ff-only --no-rebase --no-edit -q -v --stat REMOTE? REF?"),
    network(
        "git push",
        "-u --set-upstream -v --verbose -q --quiet -n --dry-run --porcelain --progress --no-progress REMOTE? BRANCH?",
    ),
];
