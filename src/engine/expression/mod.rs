//! Does an expression select a device?
//!
//! Takes the text of a CEL expression, as a DeviceClass or a DeviceTaintRule of Kubernetes 1.33 and
//! 1.34 carries it, and says of any device whether it is selected. Parsing and evaluating are those of
//! the crates `cel` and `kube-cel`. Both differ from the control plane here and there, so they get only
//! what is known to come out the same; everything else is refused as
//! [`ExpressionError::Unsupported`], never answered with "no".
//!
//! ```text
//! text ──▶ checked ──▶ parsed ──▶ rewritten ──▶ evaluated for one device
//!         text        (cel)      rewriter       (cel, kube-cel) device
//! ```
//!
//! The API server has accepted the expression, so nothing here checks types again. What remains are
//! these differences, each with its answer:
//!
//! | the crates | here |
//! |---|---|
//! | overflow the stack on deep nesting | `text` refuses it |
//! | read `!!x` as `!x`, and some escapes in strings wrongly | `text` refuses them |
//! | have no domains without attributes, no `cel.bind` | `rewriter` turns both into plain variables and values |
//! | fail at the first error within `exists` and `all` | `rewriter` writes them out with `\|\|` and `&&` |
//! | fail on `.?` when the key is missing | `rewriter` turns it into `has(x) ? x : …` |
//! | take a field of a text for `false` | `rewriter` allows fields only of domains |
//! | `1 == 1.0` is false, as is `1 == 1u` | only whole, signed numbers |
//! | compare the build part of versions, overflow on large quantities | `values` leaves it out, refuses them |
//! | other classes of characters in patterns | `pattern` refuses what may differ |
//! | `size` counts bytes, `contains` takes anything, `==` and `in` never fail | `functions` replaces them |
//! | lose the error of a function's first argument | `rewriter` calls all functions of values as methods |
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/cel` and `k8s.io/apiserver/pkg/cel/environment`, for
//! stored expressions. `tests/data/cel/expressions.jsonl` holds their verdicts.

mod device;
mod error;
mod functions;
mod pattern;
mod rewriter;
mod text;
mod tree;
mod values;

pub use device::DeviceExpression;
pub use error::ExpressionError;

#[cfg(test)]
mod tests;
