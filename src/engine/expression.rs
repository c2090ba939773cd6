//! placeholder until the real evaluator lands
#![allow(missing_docs)]
use crate::model::{Device, DriverName};
#[derive(Debug)]
pub struct DeviceExpression;
#[derive(Debug, Clone, thiserror::Error)]
#[error("unsupported")]
pub struct ExpressionError;
impl ExpressionError {
    pub fn is_of_the_device(&self) -> bool {
        false
    }
}
impl DeviceExpression {
    pub fn compile(_: &str) -> Result<Self, ExpressionError> {
        Err(ExpressionError)
    }
    pub fn matches(&self, _: &DriverName, _: &Device) -> Result<bool, ExpressionError> {
        Err(ExpressionError)
    }
}
