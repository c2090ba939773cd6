//! Terminals and colours.
//!
//! Facts about the surroundings, as a value: whoever starts the program looks them up, so that
//! everything else can be tested without them.

/// What the surroundings say about the two streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Width of the terminal that standard output goes to, in columns; absent when it is none.
    pub width: Option<u16>,
    /// Lines of the terminal that results go to; absent where they go elsewhere.
    pub height: Option<u16>,
    /// Whether standard error goes to a terminal.
    pub stderr_is_terminal: bool,
    /// Whether `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// Whether `TERM` is `dumb`.
    pub dumb_terminal: bool,
}

/// When to use colors; the values of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal that supports them, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Whatever the stream is.
    Always,
    /// Not at all.
    Never,
}

impl ColorChoice {
    /// Says whether results on standard output are coloured, as far as they can be. An explicit choice
    /// wins over the environment.
    #[must_use]
    pub fn on_stdout(self, environment: &Environment) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                environment.width.is_some() && !environment.no_color && !environment.dumb_terminal
            }
        }
    }

    /// Says whether messages on standard error are coloured. An explicit choice wins over the
    /// environment.
    #[must_use]
    pub fn on_stderr(self, environment: &Environment) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                environment.stderr_is_terminal
                    && !environment.no_color
                    && !environment.dumb_terminal
            }
        }
    }
}

/// How much to say on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors and their hints only.
    Quiet,
    /// Warnings and notes too.
    #[default]
    Normal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_choice_wins_and_the_environment_decides_otherwise() {
        let terminal = Environment {
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
        let pipe = Environment::default();
        for (name, choice, environment, colored) in [
            ("auto on a terminal", ColorChoice::Auto, terminal, true),
            ("auto in a pipe", ColorChoice::Auto, pipe, false),
            ("auto with NO_COLOR", ColorChoice::Auto, no_color, false),
            ("auto with TERM=dumb", ColorChoice::Auto, dumb, false),
            ("always in a pipe", ColorChoice::Always, pipe, true),
            ("always with NO_COLOR", ColorChoice::Always, no_color, true),
            ("never on a terminal", ColorChoice::Never, terminal, false),
        ] {
            assert_eq!(choice.on_stderr(&environment), colored, "{name}");
            let results = Environment {
                width: environment.stderr_is_terminal.then_some(80),
                height: None,
                ..environment
            };
            assert_eq!(choice.on_stdout(&results), colored, "{name}, results");
        }
    }
}
