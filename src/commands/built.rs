//! Build information, noted by `build.rs`.

use std::sync::LazyLock;

use jiff::Timestamp;

use crate::report::version::Build;

/// The program's own facts.
pub(super) fn build() -> Build {
    let seconds = option_env!("DEVICETAINT_TIME").and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("DEVICETAINT_BUILT_FROM").map(str::to_owned),
        modified: option_env!("DEVICETAINT_CHANGED") == Some("true"),
        commit_date: time.map(|time| time.strftime("%Y-%m-%d").to_string()),
        target: option_env!("DEVICETAINT_TARGET")
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Text that `--version` prints after the name.
pub(super) fn line() -> &'static str {
    static LINE: LazyLock<String> = LazyLock::new(|| build().line());
    &LINE
}
