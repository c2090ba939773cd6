//! Where the cluster's state comes from, and how it is understood.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::commands::work::source::Source;
use crate::decide::version::behaviour_of;
use crate::model::Minor;

/// Where the cluster's state comes from, and how it is understood.
#[derive(clap::Args, Debug)]
pub(crate) struct SourceArgs {
    /// Read saved objects: a file, a directory or `-`
    ///
    /// A file that `snapshot` wrote, or the output of `kubectl get -o yaml`. Repeatable; `-` reads stdin.
    #[arg(long, value_name = "FILENAME", help_heading = "Source")]
    pub(crate) from: Vec<PathBuf>,

    /// Kubernetes version whose behavior applies, such as 1.36; default: the detected version, else 1.37
    #[arg(long, value_name = "VERSION", value_parser = parse_version, help_heading = "Source", hide_short_help = true)]
    kubernetes: Option<Minor>,

    /// With --from, time to evaluate at, as RFC 3339
    ///
    /// Default: the time that `snapshot` recorded in its file. If there is none, the newest time of any object.
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "from", help_heading = "Source", hide_short_help = true)]
    now: Option<Timestamp>,
}

impl SourceArgs {
    /// The arguments, as `work` takes them.
    pub(crate) fn source(&self) -> Source {
        Source {
            from: self.from.clone(),
            kubernetes: self.kubernetes,
            now: self.now,
        }
    }
}

fn parse_version(text: &str) -> Result<Minor, String> {
    let version = Minor::parse(text)
        .ok_or_else(|| format!("{text:?} is not a Kubernetes version such as 1.36 or 1.37.1"))?;
    behaviour_of(version).map(|_| version)
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a time such as 2026-11-21T01:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_version_is_read_as_that_of_a_server() {
        for text in ["v1.37.2-rc.0", "1.36", "v1.36.2-gke.100", "1.37.1"] {
            assert_eq!(parse_version(text).ok(), Minor::parse(text), "{text}");
        }
        assert!(parse_version("1.32").is_err());
        assert!(parse_version("newest").is_err());
    }
}
