//! The shells, and an empty home to run them in.

use std::path::{Path, PathBuf};
use std::process::Command;

pub use crate::debian::program as shell;

/// The program under test.
pub const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-devicetaint");

/// The example cluster.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cluster.yaml")
}

/// A home with nothing in it but the plugin, as in a folder of `PATH`.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(PLUGIN, bin.join("kubectl-devicetaint")).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn bin(&self) -> PathBuf {
        self.path().join("bin")
    }

    /// A program that finds the plugin, and nothing else of this machine's user.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.bin().display()))
            .env("TERM", "dumb")
            .current_dir(self.path());
        command
    }

    /// The script that `completion` prints, in a file.
    pub fn script(&self, shell: &str) -> PathBuf {
        let plugin = self.bin().join("kubectl-devicetaint");
        let output = self
            .command(&plugin)
            .args(["completion", shell])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let file = self.path().join(format!("completion.{shell}"));
        std::fs::write(&file, output.stdout).unwrap();
        file
    }
}
