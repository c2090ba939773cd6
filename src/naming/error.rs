//! Errors of names.

/// An argument that is no device, taint or name that the API server would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// Two segments could be driver and pool or pool and device.
    #[error("device {argument:?} has two segments, but a device has three: DRIVER/POOL/DEVICE")]
    TwoSegments {
        /// The argument.
        argument: String,
        /// The two forms that it may have been meant as.
        suggestions: [String; 2],
    },
    /// A segment, or all of it, is empty.
    #[error("device {argument:?} has an empty segment; write `*` to match any name")]
    EmptySegment {
        /// The argument.
        argument: String,
    },
    /// Every segment is `*`.
    #[error("{argument:?} is not allowed: it selects every device of every driver")]
    Everything {
        /// The argument.
        argument: String,
    },
    /// A driver, pool or device name that no driver could publish.
    #[error("{field} {value:?} is not valid: {problem}")]
    Invalid {
        /// Part of the name, such as `driver` or `taint key`.
        field: &'static str,
        /// Value that was given.
        value: String,
        /// Requirement.
        problem: String,
    },
    /// No effect.
    #[error(
        "taint {argument:?} names no effect: write KEY[=VALUE]:EFFECT, where EFFECT is None, NoSchedule or NoExecute"
    )]
    NoEffect {
        /// The argument.
        argument: String,
    },
    /// An effect that does not exist.
    #[error(
        "taint {argument:?} has an unknown effect {effect:?}: effects are None, NoSchedule and \
         NoExecute (case-sensitive)"
    )]
    UnknownEffect {
        /// The argument.
        argument: String,
        /// The effect that was given.
        effect: String,
    },
}
