//! A disk whose power can be cut: an ext4 file system on a loop device.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A mounted file system, deleted at the end.
#[derive(Debug)]
pub struct TestDisk {
    dir: TempDir,
}

impl TestDisk {
    /// Returns nothing, and prints that the test is skipped, where a file system cannot be made and mounted.
    #[expect(
        clippy::disallowed_macros,
        clippy::print_stderr,
        reason = "a skipped test reports that in its output"
    )]
    pub fn new(mebibytes: u64) -> Option<Self> {
        let dir = tempfile::Builder::new().prefix("paw-disk-").tempdir().expect("a directory for the disk");
        let disk = Self { dir };
        fs::create_dir(disk.path()).expect("a mount point");
        let image = File::create(disk.image()).expect("an image");
        image.set_len(mebibytes << 20).expect("room for the image");
        let made = run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(disk.image()));
        if let Err(problem) = made.and_then(|()| disk.mount()) {
            eprintln!("skipped: cannot mount an ext4 file system: {problem}");
            return None;
        }
        Some(disk)
    }

    /// Where the file system is mounted.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("mounted")
    }

    fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn mount(&self) -> Result<(), String> {
        run(Command::new("mount").args(["-o", "loop"]).arg(self.image()).arg(self.path()))
    }

    /// Puts everything on the disk.
    pub fn sync(&self) {
        run(Command::new("sync").arg("--file-system").arg(self.path())).expect("a synced disk");
    }

    /// Cuts the power at the worst moment: every creation, rename and deletion has reached the disk, contents only where a
    /// program waited for them. Then mounts what is left at the same path.
    pub fn cut_power(&self) {
        // A sync of one file commits the journal, and with it the changes of all directories.
        let marker = File::create(self.path().join("power-cut")).expect("a file");
        marker.sync_all().expect("a committed journal");
        drop(marker);
        let left = self.dir.path().join("left");
        run(Command::new("cp").arg("--sparse=always").arg(self.image()).arg(&left)).expect("a copy");
        run(Command::new("umount").arg("--lazy").arg(self.path())).expect("an unmounted disk");
        fs::rename(left, self.image()).expect("the copy in place of the disk");
        self.mount().expect("what is left");
        assert!(self.path().join("power-cut").exists(), "the journal was not committed");
    }
}

impl Drop for TestDisk {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg("--lazy").arg(self.path()));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
