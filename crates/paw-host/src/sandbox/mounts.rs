//! Mount points: a file may have several paths, and a sandbox has to protect all of them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{PathAccess, Sandbox};

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    device: String,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
    kind: String,
}

/// The sandbox with rules for every further path of its files. Other mounts of `/proc` show processes outside of the
/// sandbox, and through them their files, so they are hidden.
pub(super) fn with_aliases(sandbox: &Sandbox) -> Sandbox {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<Mount> = text.split(|byte| *byte == b'\n').filter_map(parse).collect();
    let mut all = sandbox.clone();
    for (path, access) in &sandbox.rules {
        for (alias, original) in aliases(&mounts, path) {
            if is_same(&alias, &original) && !sandbox.rules.contains_key(&alias) {
                let access = if original == *path { *access } else { sandbox.access(&original) };
                all.rules.insert(alias, access);
            }
        }
    }
    let is_other_proc = |mount: &&Mount| mount.kind == "proc" && !mount.point.starts_with("/proc");
    mounts.iter().filter(is_other_proc).fold(all, |all, mount| all.with(&mount.point, PathAccess::Hidden))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    one != other && id(one).is_some() && id(one) == id(other)
}

/// Paths that may show `path`, or something below it, each with the path it shows.
fn aliases(mounts: &[Mount], path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let holds = |mount: &&Mount| path.starts_with(&mount.point);
    let Some(holder) = mounts.iter().filter(holds).max_by_key(|mount| mount.point.components().count())
    else {
        return Vec::new();
    };
    let inner = join(&holder.root, path.strip_prefix(&holder.point).unwrap_or(path));
    let others = mounts.iter().filter(|mount| mount.device == holder.device && mount.point != holder.point);
    let found = others.filter_map(|mount| {
        if let Ok(rest) = inner.strip_prefix(&mount.root) {
            return Some((join(&mount.point, rest), path.to_path_buf()));
        }
        let rest = mount.root.strip_prefix(&inner).ok()?;
        Some((mount.point.clone(), path.join(rest)))
    });
    found.collect()
}

/// Without the trailing slash that `join("")` adds.
fn join(dir: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { dir.to_path_buf() } else { dir.join(rest) }
}

/// `36 35 98:0 /root /point options shared:1 - ext4 /dev/x options`
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = String::from_utf8_lossy(fields.next()?).into_owned();
    let (root, point) = (unescape(fields.next()?), unescape(fields.next()?));
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some(Mount { device, root, point, kind: String::from_utf8_lossy(kind).into_owned() })
}

/// The kernel writes a space as `\040`.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[&str]) -> Vec<Mount> {
        lines.iter().filter_map(|line| parse(line.as_bytes())).collect()
    }

    fn found(lines: &[&str], path: &str) -> Vec<String> {
        let aliases = aliases(&mounts(lines), Path::new(path));
        aliases
            .iter()
            .map(|(alias, original)| format!("{} = {}", alias.display(), original.display()))
            .collect()
    }

    #[test]
    fn every_other_mount_of_a_protected_directory_is_found() {
        let lines = [
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
            "23 22 8:2 /@home /home rw shared:1 - btrfs /dev/sdb rw",
            "24 22 8:1 / /mnt/all\\040of\\040it rw - ext4 /dev/sda1 rw",
            "25 22 8:1 /srv/app/.git /mnt/git rw - ext4 /dev/sda1 rw",
            "26 22 8:2 /@home/u /mnt/u rw - btrfs /dev/sdb rw",
        ];
        let app = ["/mnt/all of it/srv/app = /srv/app", "/mnt/git = /srv/app/.git"];
        assert_eq!(found(&lines, "/srv/app"), app);
        assert_eq!(found(&lines, "/home/u/data"), ["/mnt/u/data = /home/u/data"]);
        assert_eq!(found(&lines, "/home/u"), ["/mnt/u = /home/u"]);
    }

    #[test]
    fn a_mount_line_with_escapes_and_optional_fields_is_parsed() {
        let mount = &mounts(&["9 1 0:5 / /a\\134b rw,relatime shared:3 master:1 - proc proc rw"])[0];
        assert_eq!((mount.point.as_path(), mount.kind.as_str()), (Path::new("/a\\b"), "proc"));
    }
}
