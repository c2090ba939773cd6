//! kubectl and the plugin, as users run them.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::ControlPlane;
use crate::{advice, validated};

/// The plugin as cargo built it for the tests.
pub const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-devicetaint");

/// `PATH` with `folders` in front.
pub fn path_with(folders: &[&Path]) -> OsString {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = folders
        .iter()
        .map(PathBuf::from)
        .chain(env::split_paths(&inherited));
    env::join_paths(folders).expect("no folder has a separator in its name")
}

/// Standard output of a program; panics with its standard error if it failed.
pub fn text(output: &Output) -> String {
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{}: {stderr}", output.status);
    stdout.into_owned()
}

impl ControlPlane {
    /// `PATH` on which kubectl finds the plugin, so that `kubectl devicetaint` works.
    pub fn path_with_plugin(&self) -> OsString {
        path_with(&[&self.ready.binaries, &self.plugin_folder()])
    }

    /// A folder with nothing but the plugin: kubectl warns about other files of cargo beside it.
    fn plugin_folder(&self) -> PathBuf {
        let folder = self.folder().join("plugins");
        let plugin = folder.join(Path::new(PLUGIN).file_name().expect("the plugin is a file"));
        fs::create_dir_all(&folder).expect("the folder of a run can be written to");
        match fs::hard_link(PLUGIN, &plugin) {
            Ok(()) => {}
            // Another test was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => panic!("cannot link the plugin: {error}"),
        }
        folder
    }

    /// A command with [`Self::path_with_plugin`] and the administrator's kubeconfig that shares no
    /// cache and no preferences with the person who runs the tests.
    ///
    /// The plugin remembers nothing: tests count its requests.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let cache = if program.as_ref() == PLUGIN {
            PathBuf::from("/dev/null/nowhere")
        } else {
            self.folder().join("cache")
        };
        let mut command = Command::new(program);
        command
            .env("PATH", self.path_with_plugin())
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.folder())
            .env("KUBECACHEDIR", cache)
            .env("KUBERC", "off");
        command
    }

    /// kubectl itself.
    pub fn kubectl_path(&self) -> PathBuf {
        self.ready.binaries.join("kubectl")
    }

    /// Runs kubectl as administrator.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        self.command(self.kubectl_path())
            .args(arguments)
            .output()
            .expect("kubectl can be run")
    }

    /// Runs the plugin itself, without kubectl, as administrator.
    pub fn plugin(&self, arguments: &[&str]) -> Output {
        let output = self
            .command(PLUGIN)
            .args(arguments)
            .output()
            .expect("the plugin can be run");
        let words: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let messages = String::from_utf8_lossy(&output.stderr);
        advice::check(Path::new(PLUGIN), &words, &messages);
        validated::check(&words, &String::from_utf8_lossy(&output.stdout));
        output
    }
}

/// True if this process ignores SIGHUP, as below `nohup`, and with it all that it starts: the first bit of
/// the mask on Linux.
pub fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let last = mask.and_then(|mask| mask.trim().chars().last()?.to_digit(16));
    last.is_some_and(|last| last & 1 == 1)
}
