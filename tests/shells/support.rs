//! The shells, and an empty home to run them in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The program under test.
pub const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-devicetaint");

/// Where the shell is. One that is missing is installed where that needs nobody's password.
pub fn shell(name: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(found) = in_path(name) {
        return found;
    }
    eprintln!("shells: installing {name} …");
    for arguments in [&["update", "-q"][..], &["install", "-y", "-q", name]] {
        let _ = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .output();
    }
    in_path(name).unwrap_or_else(|| {
        panic!("these tests drive {name}, which is not here: install it (Debian: apt-get install {name})")
    })
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|folder| folder.join(name));
    found.into_iter().find(|file| file.is_file())
}

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
