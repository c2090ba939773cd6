//! Compiled class and request selectors, each evaluated once per device.

use std::cell::{Cell, RefCell};

use foldhash::HashMap;

use super::completeness::Unknown;
use crate::expression::{DeviceExpression, ExpressionError};
use crate::model::{Device, DriverName};

/// Limit on evaluations of expressions for one answer; beyond it results are unknown.
//
// Any user who may create claims adds expressions, and drivers add devices: their product has no other bound.
const EVALUATIONS: u32 = 400_000;

/// An expression, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ExpressionPlace(u32);

/// Expressions, each compiled once and evaluated once for each device.
#[derive(Debug, Default)]
pub(super) struct ExpressionCache<'a> {
    // Cells, since answers are found while searches share the state; an answer is computed on one thread.
    places: RefCell<HashMap<&'a str, ExpressionPlace>>,
    compiled: RefCell<Vec<Result<DeviceExpression, ExpressionError>>>,
    answers: RefCell<HashMap<(ExpressionPlace, u32), Result<bool, Unknown>>>,
    evaluated: Cell<u32>,
}

impl<'a> ExpressionCache<'a> {
    /// The place of an expression.
    pub(super) fn expression(&self, text: &'a str) -> ExpressionPlace {
        if let Some(known) = self.places.borrow().get(text) {
            return *known;
        }
        let mut compiled = self.compiled.borrow_mut();
        let place = ExpressionPlace(u32::try_from(compiled.len()).unwrap_or(u32::MAX));
        // The scheduler compiles with everything that stored expressions may use, whatever version or gate admitted
        // them.
        compiled.push(DeviceExpression::stored(text));
        self.places.borrow_mut().insert(text, place);
        place
    }

    /// True if the expression selects the device at `place`.
    ///
    /// # Errors
    ///
    /// Why that is not known: where it fails for the device, upstream gives up the whole attempt.
    pub(super) fn selects(
        &self,
        expression: ExpressionPlace,
        place: u32,
        driver: &DriverName,
        device: &Device,
    ) -> Result<bool, Unknown> {
        // An expression sees the device alone, neither node nor claim, so that its result holds for all of them.
        // The place and not the identity is the key: two generations of a device may differ in their attributes.
        if let Some(known) = self.answers.borrow().get(&(expression, place)) {
            return known.clone();
        }
        let evaluated = self.evaluated.get().saturating_add(1);
        if evaluated > EVALUATIONS {
            let why = "there are too many devices and expressions to evaluate";
            return Err(why.to_owned().into());
        }
        self.evaluated.set(evaluated);
        let answer = match &self.compiled.borrow()[expression.0 as usize] {
            Ok(compiled) => compiled
                .matches(driver, device)
                .map_err(|error| unknown(&error)),
            Err(error) => Err(unknown(error)),
        };
        self.answers
            .borrow_mut()
            .insert((expression, place), answer.clone());
        answer
    }
}

fn unknown(error: &ExpressionError) -> Unknown {
    let why = error.to_string();
    match error {
        // Only an error at run time is certain to fail in Kubernetes as well; the others say that this program
        // cannot tell.
        ExpressionError::Runtime { .. } => Unknown::failure(why),
        ExpressionError::TooLong { .. }
        | ExpressionError::Compile { .. }
        | ExpressionError::Unsupported { .. }
        | ExpressionError::Redacted
        | ExpressionError::Unpublished => why.into(),
    }
}
