//! Selection of devices by expressions.

use std::sync::Arc;

use super::checker::check;
use super::error::ExpressionError;
use super::evaluate::Evaluation;
use super::parser::parse;
use super::tree::Expr;
use super::value::Value;
use crate::model::{Device, DriverName, REDACTED};

/// An expression that says of any device whether it is selected.
///
/// Compiled once, then evaluated for as many devices as there are.
///
/// Upstream: `CompilationResult`.
#[derive(Clone, Debug)]
pub struct DeviceExpression {
    root: Arc<Expr>,
}

impl DeviceExpression {
    /// Compiles an expression, as an API server does with stored expressions.
    ///
    /// # Errors
    ///
    /// Never [`ExpressionError::Runtime`].
    ///
    /// Upstream: `CompileCELExpression`.
    pub fn compile(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > ExpressionError::MAXIMUM_LENGTH {
            return Err(ExpressionError::TooLong { bytes: text.len() });
        }
        let parsed = parse(text).map_err(|wrong| wrong.describe(text))?;
        check(&parsed).map_err(|wrong| wrong.describe(text))?;
        Ok(Self {
            root: Arc::new(parsed),
        })
    }

    /// As [`DeviceExpression::compile`], for what an object of a cluster or of a snapshot says.
    ///
    /// # Errors
    ///
    /// [`ExpressionError::Redacted`] where a snapshot has [`REDACTED`] in its place, which is no text that
    /// an API server takes; else as [`DeviceExpression::compile`].
    pub fn stored(text: &str) -> Result<Self, ExpressionError> {
        if text == REDACTED {
            return Err(ExpressionError::Redacted);
        }
        Self::compile(text)
    }

    /// Returns whether the expression selects `device`.
    ///
    /// `driver` is the domain of names that have none.
    ///
    /// # Errors
    ///
    /// [`ExpressionError::Runtime`] where upstream fails, too. [`ExpressionError::Unsupported`] where it
    /// is not known here what upstream would say.
    ///
    /// Upstream: `DeviceMatches`.
    pub fn matches(&self, driver: &DriverName, device: &Device) -> Result<bool, ExpressionError> {
        self.verdict(driver, Some(device))
    }

    /// Returns whether the expression selects a device of `driver` that no driver publishes: nothing
    /// else is known of it. `false && unknown` is false, and `true || unknown` is true.
    ///
    /// # Errors
    ///
    /// [`ExpressionError::Unpublished`] where that depends on what is not known, and as
    /// [`DeviceExpression::matches`].
    ///
    /// Upstream: unknown values of cel-go, which the allocator has no use for.
    pub fn matches_unpublished(&self, driver: &DriverName) -> Result<bool, ExpressionError> {
        self.verdict(driver, None)
    }

    fn verdict(
        &self,
        driver: &DriverName,
        device: Option<&Device>,
    ) -> Result<bool, ExpressionError> {
        let verdict = Evaluation::new(driver, device).value(&self.root)?;
        let Value::Bool(selected) = verdict else {
            let detail = "the result of the expression is no bool".to_owned();
            return Err(ExpressionError::Runtime { detail });
        };
        Ok(selected)
    }
}
