//! Completion in real shells: bash, zsh and fish, as their users press TAB.

mod support;
mod tab;
