//! `completion`: scripts that make shells complete the plugin's words.

use clap::ValueEnum;
use clap_complete::env::{Bash, EnvCompleter, Fish, Powershell, Zsh};

use super::context::{COMPLETED_SHELL, Context};
use crate::error::{ExitStatus, Failure};

/// Print the completion script of a shell
///
/// The script completes commands that begin with kubectl-devicetaint. In bash, add to ~/.bashrc: `source
/// <(kubectl-devicetaint completion bash)`; in zsh, add to ~/.zshrc, after compinit: `source <(kubectl-devicetaint
/// completion zsh)`; in fish, write the script to ~/.config/fish/completions/kubectl-devicetaint.fish; in PowerShell,
/// add to $PROFILE: `kubectl-devicetaint completion powershell | Out-String | Invoke-Expression`.
///
/// For commands that begin with `kubectl devicetaint`, kubectl's own completion runs a second program: a link to the
/// plugin that is named kubectl_complete-devicetaint, in a directory of PATH.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionArgs {
    /// bash, zsh, fish or powershell
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

const EXAMPLES: &str = "\
Examples:
  # For commands that begin with kubectl-devicetaint, in bash; source the file
  kubectl devicetaint completion bash > ~/.kubectl-devicetaint.bash";

/// The function that completes in zsh.
const ZSH_FUNCTION: &str = "_clap_dynamic_completer_kubectl_devicetaint";

/// The name of the plugin in `PATH`.
const PROGRAM: &str = "kubectl-devicetaint";

pub(super) fn run(args: &CompletionArgs, context: &Context) -> Result<ExitStatus, Failure> {
    context.printer.emit(&match args.shell {
        Shell::Bash => script(&Bash)?,
        Shell::Zsh => script(&Zsh)?,
        Shell::Fish => script(&Fish)?,
        Shell::Powershell => script(&Powershell)?,
    })?;
    Ok(ExitStatus::Success)
}

/// The script that makes a shell ask this program.
fn script(shell: &dyn EnvCompleter) -> Result<String, Failure> {
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
