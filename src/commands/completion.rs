//! `completion`: what makes shells complete the plugin's words, and kubectl too.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap_complete::env::{Bash, EnvCompleter, Fish, Powershell, Zsh};

use super::context::{COMPLETED_SHELL, Context};
use crate::completion::KUBECTL_NAME;
use crate::error::{ExitStatus, Failure};

/// Print or install completion for a shell
///
/// kubectl completes the commands of a plugin by running a second program, kubectl_complete-devicetaint.
/// `completion install` installs this program, which works in every shell that has kubectl completion. The
/// other subcommands print a script for one shell. Such a script completes only commands that begin with
/// kubectl-devicetaint, not with kubectl devicetaint.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Print the bash completion script for kubectl-devicetaint
    ///
    /// To load it, add to ~/.bashrc: `source <(kubectl-devicetaint completion bash)`. The script completes commands
    /// that begin with kubectl-devicetaint (the binary called directly). For commands that begin with `kubectl
    /// devicetaint`, use `completion install`.
    Bash,
    /// Print the zsh completion script for kubectl-devicetaint
    ///
    /// To load it, add to ~/.zshrc, after compinit: `source <(kubectl-devicetaint completion zsh)`. The script
    /// completes commands that begin with kubectl-devicetaint (the binary called directly). For commands that begin
    /// with `kubectl devicetaint`, use `completion install`.
    Zsh,
    /// Print the fish completion script for kubectl-devicetaint
    ///
    /// To load it, write it to ~/.config/fish/completions/kubectl-devicetaint.fish. The script completes commands that
    /// begin with kubectl-devicetaint (the binary called directly). For commands that begin with `kubectl devicetaint`,
    /// use `completion install`.
    Fish,
    /// Print the PowerShell completion script for kubectl-devicetaint
    ///
    /// To load it, add to $PROFILE: `kubectl-devicetaint completion powershell | Out-String | Invoke-Expression`. The
    /// script completes commands that begin with kubectl-devicetaint (the binary called directly). For commands that
    /// begin with `kubectl devicetaint`, use `completion install`.
    Powershell,
    /// Install kubectl_complete-devicetaint, so that kubectl completes the plugin's commands
    Install(InstallArgs),
}

#[derive(clap::Args, Debug)]
struct InstallArgs {
    /// Directory to install to, which must be in PATH; default: the plugin's directory
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,

    /// Overwrite an existing file whose content differs
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Complete the plugin's commands in every shell that has kubectl completion
  kubectl devicetaint completion install

  # The same, in krew's directory
  kubectl devicetaint completion install --dir ~/.krew/bin

  # For the binary called directly, in bash; source the file in ~/.bashrc
  kubectl devicetaint completion bash > ~/.kubectl-devicetaint.bash";

/// The function that completes in zsh.
const ZSH_FUNCTION: &str = "_clap_dynamic_completer_kubectl_devicetaint";

/// What the plugin is called in `PATH`.
const PROGRAM: &str = "kubectl-devicetaint";

#[cfg(not(windows))]
const FILE: (&str, &str) = (
    KUBECTL_NAME,
    include_str!("../../completions/kubectl_complete-devicetaint"),
);
#[cfg(windows)]
const FILE: (&str, &str) = (
    "kubectl_complete-devicetaint.cmd",
    "@kubectl-devicetaint __complete %*\r\n",
);

pub(super) fn run(args: &CompletionArgs, context: &Context) -> Result<ExitStatus, Failure> {
    match &args.what {
        What::Bash => context.printer.emit(&script(&Bash)?)?,
        What::Zsh => context.printer.emit(&script(&Zsh)?)?,
        What::Fish => context.printer.emit(&script(&Fish)?)?,
        What::Powershell => context.printer.emit(&script(&Powershell)?)?,
        What::Install(args) => install(args, context)?,
    }
    Ok(ExitStatus::Success)
}

/// The script that makes a shell ask this program.
pub(super) fn script(shell: &dyn EnvCompleter) -> Result<String, Failure> {
    let mut text = Vec::new();
    shell.write_registration(COMPLETED_SHELL, PROGRAM, PROGRAM, PROGRAM, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    // The output of this program has no control characters but line breaks, in bash either.
    let text = text.replace(r"$'\013'", r"$'\n'");
    // A word that ends at the cursor with what divides words there has to keep it.
    let text = text.replace(
        "words[COMP_CWORD]=\"$2\"",
        "[[ \"${words[COMP_CWORD]}\" == [:=] ]] || words[COMP_CWORD]=\"$2\"",
    );
    // Found by fpath, the script is the body of the function that completes: its first call has to answer.
    let registration = format!("compdef {ZSH_FUNCTION} {PROGRAM}");
    let text = text.replace(
        &registration,
        &format!(
            "if [[ \"${{funcstack[1]}}\" == _{PROGRAM} ]]; then\n    {ZSH_FUNCTION} \"$@\"\nelse\n    {registration}\nfi"
        ),
    );
    Ok(text.trim_matches('\n').to_owned() + "\n")
}

fn install(args: &InstallArgs, context: &Context) -> Result<(), Failure> {
    let (name, text) = FILE;
    let folders = folders(context.environment.path.as_deref());
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => own_folder(&folders)?,
    };
    let file = folder.join(name);
    let shown = file.display();
    match std::fs::read(&file) {
        Ok(found) if found == text.as_bytes() => {
            context.printer.emit(&format!("{shown} unchanged\n"))?;
        }
        Ok(_) if !args.force => {
            return Err(Failure::new(
                ExitStatus::Failed,
                format!("{shown} already exists with other content"),
            )
            .hint("to replace it, add --force"));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(unwritable(&file, &error));
        }
        Ok(_) | Err(_) => {
            write(&file, text).map_err(|error| unwritable(&file, &error))?;
            context.printer.emit(&format!("{shown} installed\n"))?;
        }
    }
    if !folders.contains(&folder) {
        let folder = folder.display();
        let warning = format!("kubectl does not find {shown}: {folder} is not in PATH");
        context.printer.warn(&warning);
    }
    context.printer.note(
        "completion works only in shells where kubectl completion is set up; to set it up: kubectl completion --help",
    );
    Ok(())
}

/// The folders of `PATH`.
fn folders(path: Option<&OsStr>) -> Vec<PathBuf> {
    path.map_or_else(Vec::new, |path| std::env::split_paths(path).collect())
}

/// The first folder of `PATH` in which the plugin is: under krew that is a link to it, and the place
/// where kubectl looks.
fn own_folder(folders: &[PathBuf]) -> Result<PathBuf, Failure> {
    let file = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let found = folders.iter().find(|folder| folder.join(&file).is_file());
    found.cloned().ok_or_else(|| {
        Failure::usage(format!("no directory in PATH contains {file}"))
            .hint("choose a directory: kubectl devicetaint completion install --dir DIRECTORY")
    })
}

/// Writes a program, whole or not at all.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o755));
    }
    let mut temporary = builder.tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.persist(file)?;
    Ok(())
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("cannot write {}: {error}", file.display()),
    );
    failure.hint(
        "choose another directory in PATH: kubectl devicetaint completion install --dir DIRECTORY",
    )
}
