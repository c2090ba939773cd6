//! Completion in real shells: bash, zsh and fish, as their users press TAB.

mod install;
mod support;
mod tab;
