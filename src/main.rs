//! Runs the plugin and hands its exit code to the shell.

use std::process::ExitCode;

use kubectl_devicetaint::commands;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    commands::run().await.into()
}
