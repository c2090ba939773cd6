//! Campaigns: many runs of every command, under random faults and with every subset of the
//! permissions, judged by laws instead of expectations.
//!
//! | test | law |
//! |---|---|
//! | `faults` | exit 0 means that what is printed is true of the server's state; every printed verb, `changed` in reports and what is left behind are what the server's own history says; a command with passing faults only says to try again (75), and trying again does it; nothing ends by a panic or never |
//! | `permissions` | with every subset of the permissions, the output is that of the administrator, is marked as incomplete, or is a refusal that names what is missing; every change is reported |
//! | `sockets` | exit 0, and "safe" of `podresources check`, mean that the kubelet has said all of it; every run ends in its time |
//! | `roles` | with the role of `manifests/` everything works, and with any piece of it less some command says what is missing |
//!
//! A run prints its seed. `SEED` repeats it, `TRIES` makes it longer, `TRY` repeats one try of it.

mod command;
mod faults;
mod law;
mod misfortune;
mod normal;
mod permissions;
mod rights;
mod roles;
#[cfg(unix)]
mod sockets;
mod state;
mod told;
mod verdict;
