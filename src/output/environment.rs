//! Terminals and colours.
//!
//! Facts about the surroundings, as a value: `main` looks them up, so that
//! everything else can be tested without them.

/// Environment of the two streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Width of the terminal that standard output goes to, in columns; absent when it is none.
    pub width: Option<u16>,
    /// True if standard error goes to a terminal.
    pub stderr_is_terminal: bool,
    /// True if `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// True if `TERM` is `dumb`.
    pub dumb_terminal: bool,
}

impl Environment {
    /// Says whether results on standard output are coloured, as far as they can be.
    pub fn colors_stdout(&self) -> bool {
        self.width.is_some() && !self.no_color && !self.dumb_terminal
    }

    /// Says whether messages on standard error are coloured.
    pub fn colors_stderr(&self) -> bool {
        self.stderr_is_terminal && !self.no_color && !self.dumb_terminal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_need_a_terminal_that_has_them() {
        let terminal = Environment {
            width: Some(80),
            stderr_is_terminal: true,
            ..Environment::default()
        };
        let no_color = Environment {
            no_color: true,
            ..terminal
        };
        let dumb = Environment {
            dumb_terminal: true,
            ..terminal
        };
        for (name, environment, colored) in [
            ("terminal", terminal, true),
            ("pipe", Environment::default(), false),
            ("NO_COLOR", no_color, false),
            ("TERM=dumb", dumb, false),
        ] {
            assert_eq!(environment.colors_stderr(), colored, "{name}");
            assert_eq!(environment.colors_stdout(), colored, "{name}, results");
        }
    }
}
