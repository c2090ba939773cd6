//! The second tier: heavy tests of code that seldom changes. `cargo test --test full`, and `.ci/run` the part
//! of it that a change can concern.
//!
//! Measurements, run by hand, are here too. See tests/README.md.

#![cfg(unix)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

#[path = "support/advice.rs"]
mod advice;
mod browser;
#[path = "support/case/mod.rs"]
mod case;
#[path = "support/debian.rs"]
mod debian;
mod engines;
#[path = "cluster/harness/mod.rs"]
mod harness;
mod oracle;
#[path = "support/page.rs"]
mod page;
mod shells;
mod unit_properties;
#[path = "support/validated.rs"]
mod validated;

/// Of the tests on a real control plane those that are long.
mod cluster {
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod campaign {
        mod command;
        mod faults;
        mod law;
        mod misfortune;
        mod normal;
        mod permissions;
        mod rights;
        mod roles;
        mod sockets;
        mod state;
        mod told;
        mod verdict;
    }
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod comparison {
        pub mod case;
    }
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod dedicated {
        pub mod stage;
    }
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod drained {
        mod interrupted;
        pub mod stage;
    }
    mod far;
    mod interruptions;
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod live {
        mod equal;
        mod large;
        mod scene;
        mod served;
    }
    #[cfg(target_os = "linux")]
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod nodes {
        mod bench;
        mod sequences;
    }
    mod parity;
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod said;
    #[allow(dead_code, reason = "the first tier uses the rest")]
    mod roomed {
        mod interrupted;
        mod scene;
    }
    #[allow(dead_code, reason = "the first tier uses the rest")]
    pub mod rules {
        pub mod harm;
        mod races;
        mod releases;
        pub mod support;
    }
}

/// Tests of packaging that need a released program or an installed tool.
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the first tier uses the rest")]
mod packaging {
    mod krew;
    mod linted;
    mod newcomer;
    mod program;
    mod release;
    mod reproducible;
    mod support;
}

/// True if as many random cases are tried as in the second tier.
const IS_FULL: bool = true;
