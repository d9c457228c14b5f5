//! Standard Unix programs: those that only read, and those that write the files they are given.

use super::{AllowedCall, local, moves, writes};

pub(super) const CALLS: &[AllowedCall] = &[
    local(
        "ls",
        "-a -A -l -h -1 -F -p -R -r -t -S -s -d -i -n -o -g -G -T --all --color[=auto|always|never] --recursive --time-style=NAME FILE...",
    ),
    local(
        "tree",
        "-a -d -f -i -p -s -h -L=NUM -I=TEXT -P=TEXT --noreport --dirsfirst --gitignore -C -n FILE...",
    ),
    local("cat", "-n -b -s -e -t -v -A -E -T FILE..."),
    local("head", "-NUM -n=NUM -c=NUM -q -v --lines=NUM --bytes=NUM FILE..."),
    local("tail", "-NUM -n=NUM -c=NUM -q -v -r --lines=NUM --bytes=NUM FILE..."),
    local("wc", "-l -w -c -m -L --lines --words --bytes --chars FILE..."),
    local("nl", "-b=a|t|n FILE..."),
    local("stat", "-c=TEXT --format=TEXT --printf=TEXT -L FILE..."),
    local("file", "-b -i -L --brief --mime FILE..."),
    local("du", "-s -h -a -c -d=NUM --max-depth=NUM --summarize --human-readable FILE..."),
    local("df", "-h -T -i FILE..."),
    local(
        "diff",
        "-u -q -N -w -b -B -i -a -y -U=NUM --unified[=NUM] --brief --color[=auto|always|never] --side-by-side FILE FILE",
    ),
    local("cmp", "-s -l -b FILE FILE"),
    local("comm", "-1 -2 -3 FILE FILE"),
    local("cut", "-d=TEXT -f=TEXT -c=TEXT -b=TEXT -s --delimiter=TEXT --fields=TEXT FILE..."),
    local("tr", "-d -s -c -C TEXT TEXT?"),
    local("sort", "-n -r -u -f -h -V -b -k=TEXT -t=TEXT -c --numeric-sort --reverse --unique PATH..."),
    local("uniq", "-c -d -u -i --count FILE?"),
    local("paste", "-s -d=TEXT FILE..."),
    local("column", "-t -s=TEXT FILE..."),
    local("fold", "-s -w=NUM FILE..."),
    local("rev", "FILE..."),
    local("tac", "FILE..."),
    local("strings", "-a -n=NUM FILE..."),
    local("od", "-c -x -A=NAME -t=NAME -N=NUM -j=NUM FILE..."),
    local("hexdump", "-C -n=NUM -s=NUM FILE..."),
    local("md5sum", "FILE..."),
    local("sha1sum", "FILE..."),
    local("sha256sum", "FILE..."),
    local("basename", "-a -s=TEXT TEXT TEXT..."),
    local("dirname", "TEXT..."),
    local("realpath", "-e -m -s --relative-to=PATH FILE..."),
    local("readlink", "-f -e -m -n FILE..."),
    local("pwd", "-P -L"),
    local("echo", "-n -e -E TEXT..."),
    local("printf", "PRINT TEXT..."),
    local("seq", "-w -s=TEXT NUM..."),
    local("true", ""),
    local("false", ""),
    local("sleep", "NUM"),
    local("which", "-a NAME..."),
    local("type", "-a -t -p NAME..."),
    local("command -v", "NAME"),
    local("uname", "-a -s -r -m -n -o -p"),
    local("whoami", ""),
    local("id", "-u -g -n"),
    local("hostname", ""),
    local("nproc", "--all"),
    local("date", "-u -R -I FORMAT?"),
    local("test", "-f=PATH -d=PATH -e=PATH -s=PATH -r=PATH -w=PATH -x=PATH -L=PATH -n=TEXT -z=TEXT"),
    local(
        "grep",
        "-NUM -n -i -r -l -L -c -v -w -x -o -q -s -h -H -E -F -P -G -a -I -z -A=NUM -B=NUM -C=NUM -m=NUM \
         --include=TEXT --exclude=TEXT --exclude-dir=TEXT --color[=auto|always|never] --count --ignore-case --line-number \
         --recursive --files-with-matches --only-matching --invert-match --word-regexp --extended-regexp --fixed-strings \
         --max-count=NUM --context=NUM --after-context=NUM --before-context=NUM --no-filename --with-filename --quiet \
         TEXT PATH...",
    ),
    local(
        "rg",
        "-n -N -i -S -s -l -c -v -w -x -o -q -F -P -U -A=NUM -B=NUM -C=NUM -m=NUM -g=TEXT -t=NAME -T=NAME -j=NUM \
         --glob=TEXT --type=NAME --type-not=NAME --files-with-matches --files-without-match --count --heading \
         --no-heading --line-number --no-line-number --column --color=never|always|auto --ignore-case --smart-case \
         --fixed-strings --multiline --max-count=NUM --max-depth=NUM --context=NUM --stats --json --no-ignore --sort=NAME \
         --word-regexp --only-matching TEXT PATH...",
    ),
    local("rg --files", "-g=TEXT --glob=TEXT -t=NAME --type=NAME --max-depth=NUM --sort=NAME PATH..."),
    local(
        "find",
        "-name=TEXT -iname=TEXT -path=TEXT -ipath=TEXT -regex=TEXT -iregex=TEXT -type=f|d|l -maxdepth=NUM -mindepth=NUM \
         -size=NUM -mtime=NUM -mmin=NUM -newer=PATH -empty -not -o -or -a -and -print -print0 -prune -perm=TEXT PATH...",
    ),
    local(
        "fd",
        "-a -i -s -g -F -p -t=f|d|l|x -e=NAME -d=NUM -E=TEXT --type=NAME --extension=NAME --max-depth=NUM --exclude=TEXT --glob TEXT? PATH...",
    ),
    local("sed -n", "-E -r SED PATH..."),
    local("jq", "-r -c -e -S -M -s --raw-output --compact-output --sort-keys JQ PATH..."),
];

pub(super) const WRITING: &[AllowedCall] = &[
    writes("mkdir", "-p -v --parents PATH..."),
    writes("touch", "-a -m -c PATH..."),
    writes("cp", "-v -n -p -f -u PATH PATH..."),
    moves("mv", "-v -n -f -u PATH PATH..."),
    writes("tee", "-a --append PATH..."),
    writes("chmod", "-v MODE PATH..."),
];
