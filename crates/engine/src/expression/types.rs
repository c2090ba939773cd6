//! Types of expressions, and which can stand for which.
//!
//! Upstream: `checker/types.go` of cel-go, without its type variables.

use std::fmt;

/// Type of an expression, as far as it is known without a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Known only once there is a value.
    Dyn,
    Bool,
    Int,
    /// Of no value here, but upstream has overloads for it.
    Uint,
    Double,
    Text,
    Semver,
    Quantity,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
}

const NAMES: &[(char, Type, &str)] = &[
    ('*', Type::Dyn, "dyn"),
    ('b', Type::Bool, "bool"),
    ('i', Type::Int, "int"),
    ('u', Type::Uint, "uint"),
    ('d', Type::Double, "double"),
    ('s', Type::Text, "string"),
    ('S', Type::Semver, "kubernetes.Semver"),
    ('Q', Type::Quantity, "kubernetes.Quantity"),
];

/// Types of the parameters `A` and `B` of an overload.
pub(super) type Parameters = [Option<Type>; 2];

fn parameter(code: char, parameters: &mut Parameters) -> Option<&mut Option<Type>> {
    match code {
        'A' => parameters.first_mut(),
        'B' => parameters.last_mut(),
        _ => None,
    }
}

fn next(formal: &mut &str) -> Option<char> {
    let mut characters = formal.chars();
    let code = characters.next();
    *formal = characters.as_str();
    code
}

impl Type {
    pub(super) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// Optional type; an optional optional is none.
    pub(super) fn optional(of: Self) -> Self {
        if matches!(of, Self::Optional(_)) {
            return of;
        }
        Self::Optional(Box::new(of))
    }

    /// The type that both can stand for, if there is one.
    ///
    /// Upstream: `internalIsAssignable` of a type parameter.
    pub(super) fn join(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (left, right) if left == right => Some(left.clone()),
            (Self::Dyn, _) | (_, Self::Dyn) => Some(Self::Dyn),
            (Self::List(left), Self::List(right)) => left.join(right).map(Self::list),
            (Self::Optional(left), Self::Optional(right)) => {
                Some(Self::Optional(Box::new(left.join(right)?)))
            }
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Some(Self::map(key.join(other_key)?, value.join(other_value)?))
            }
            _ => None,
        }
    }

    /// True if it can stand for the type at the front of `formal`, which is taken off.
    pub(super) fn fits(&self, formal: &mut &str, parameters: &mut Parameters) -> bool {
        let Some(code) = next(formal) else {
            return false;
        };
        if let Some(parameter) = parameter(code, parameters) {
            let joined = match parameter.as_ref() {
                Some(before) => before.join(self),
                None => Some(self.clone()),
            };
            let fits = joined.is_some();
            *parameter = joined;
            return fits;
        }
        let parts = match (code, self) {
            ('L', Self::List(of)) | ('O', Self::Optional(of)) => vec![&**of],
            ('M', Self::Map(key, value)) => vec![&**key, &**value],
            ('L' | 'M' | 'O', _) => {
                Self::read(formal, parameters);
                if code == 'M' {
                    Self::read(formal, parameters);
                }
                return *self == Self::Dyn;
            }
            _ => {
                let of = NAMES.iter().find(|(known, ..)| *known == code);
                return of.is_some_and(|(_, of, _)| self.join(of).is_some());
            }
        };
        parts.into_iter().all(|part| part.fits(formal, parameters))
    }

    /// Reads a type of the table of functions from the front of `formal`.
    pub(super) fn read(formal: &mut &str, parameters: &mut Parameters) -> Option<Self> {
        let code = next(formal)?;
        if let Some(parameter) = parameter(code, parameters) {
            return parameter.clone();
        }
        let mut part = || Self::read(formal, parameters);
        match code {
            'L' => part().map(Self::list),
            'O' => Some(Self::Optional(Box::new(part()?))),
            // Both are taken off before either is looked at.
            'M' => {
                let (key, value) = (part(), part());
                Some(Self::map(key?, value?))
            }
            _ => {
                let of = NAMES.iter().find(|(known, ..)| *known == code);
                of.map(|(_, of, _)| of.clone())
            }
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::List(element) = self {
            return write!(formatter, "list({element})");
        }
        if let Self::Map(key, value) = self {
            return write!(formatter, "map({key}, {value})");
        }
        if let Self::Optional(value) = self {
            return write!(formatter, "optional_type({value})");
        }
        let name = NAMES.iter().find(|(_, of, _)| of == self);
        formatter.write_str(name.map_or("dyn", |(.., name)| name))
    }
}
