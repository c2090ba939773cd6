//! Types of expressions, and which can stand for which.
//!
//! Upstream: `checker/types.go` of cel-go.

use std::fmt;

/// Type of an expression, as far as it is known without a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Known only once there is a value.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    Semver,
    Quantity,
    Url,
    Ip,
    Cidr,
    Format,
    /// A type as a value.
    Kind,
    Device,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    /// Not decided yet; the place in the checker's substitutions.
    Variable(usize),
}

impl Type {
    /// Reads a type of the table of functions from the front of `text`.
    ///
    /// `variables` says what the parameters `A` and `B` are.
    pub(super) fn read(text: &mut &str, variables: [usize; 2]) -> Option<Self> {
        let code = text.chars().next()?;
        // The table has ASCII codes only.
        *text = &text[1..];
        let simple = match code {
            '*' => Self::Dyn,
            'b' => Self::Bool,
            'i' => Self::Int,
            'u' => Self::Uint,
            'd' => Self::Double,
            's' => Self::Text,
            'y' => Self::Bytes,
            'D' => Self::Duration,
            'T' => Self::Timestamp,
            'S' => Self::Semver,
            'Q' => Self::Quantity,
            'U' => Self::Url,
            'I' => Self::Ip,
            'C' => Self::Cidr,
            'F' => Self::Format,
            'K' => Self::Kind,
            'A' => Self::Variable(variables[0]),
            'B' => Self::Variable(variables[1]),
            'L' => Self::List(Box::new(Self::read(text, variables)?)),
            'O' => Self::Optional(Box::new(Self::read(text, variables)?)),
            'M' => {
                let key = Self::read(text, variables)?;
                Self::Map(Box::new(key), Box::new(Self::read(text, variables)?))
            }
            _ => return None,
        };
        Some(simple)
    }

    fn parameters(&self) -> Vec<&Type> {
        match self {
            Self::List(element) | Self::Optional(element) => vec![element],
            Self::Map(key, value) => vec![key, value],
            Self::Dyn
            | Self::Null
            | Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::Text
            | Self::Bytes
            | Self::Duration
            | Self::Timestamp
            | Self::Semver
            | Self::Quantity
            | Self::Url
            | Self::Ip
            | Self::Cidr
            | Self::Format
            | Self::Kind
            | Self::Device
            | Self::Variable(_) => Vec::new(),
        }
    }

    /// Whether `null` can stand for it.
    fn is_nullable(&self) -> bool {
        match self {
            Self::Null
            | Self::Duration
            | Self::Timestamp
            | Self::Semver
            | Self::Quantity
            | Self::Url
            | Self::Ip
            | Self::Cidr
            | Self::Format
            | Self::Optional(_)
            | Self::Device => true,
            Self::Dyn
            | Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::Text
            | Self::Bytes
            | Self::Kind
            | Self::List(_)
            | Self::Map(..)
            | Self::Variable(_) => false,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn | Self::Variable(_) => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Semver => "kubernetes.Semver",
            Self::Quantity => "kubernetes.Quantity",
            Self::Url => "kubernetes.URL",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Format => "kubernetes.NamedFormat",
            Self::Kind => "type",
            Self::Device => "kubernetes.DRADevice",
            Self::List(element) => return write!(formatter, "list({element})"),
            Self::Map(key, value) => return write!(formatter, "map({key}, {value})"),
            Self::Optional(value) => return write!(formatter, "optional_type({value})"),
        };
        formatter.write_str(name)
    }
}

/// Makes what is not known dynamic.
fn settle(of: &mut Type) {
    if let Type::Variable(_) = of {
        *of = Type::Dyn;
    } else if let Type::List(inner) | Type::Optional(inner) = of {
        settle(inner);
    } else if let Type::Map(key, value) = of {
        settle(key);
        settle(value);
    }
}

/// What the variables of types stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Substitutions {
    found: Vec<Option<Type>>,
    /// What was changed, and what was there before: to take it back where something does not fit.
    trail: Vec<(usize, Option<Type>)>,
}

impl Substitutions {
    /// A variable that stands for nothing yet.
    pub(super) fn variable(&mut self) -> usize {
        self.found.push(None);
        self.found.len().saturating_sub(1)
    }

    fn of(&self, variable: usize) -> Option<&Type> {
        self.found.get(variable).and_then(Option::as_ref)
    }

    fn set(&mut self, variable: usize, to: Type) {
        if let Some(place) = self.found.get_mut(variable) {
            self.trail.push((variable, place.replace(to)));
        }
    }

    /// What `of` is as far as is known.
    pub(super) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Variable(variable) => match self.of(*variable) {
                Some(found) => self.resolve(found),
                None => of.clone(),
            },
            Type::List(element) => Type::List(Box::new(self.resolve(element))),
            Type::Optional(value) => Type::Optional(Box::new(self.resolve(value))),
            Type::Map(key, value) => {
                Type::Map(Box::new(self.resolve(key)), Box::new(self.resolve(value)))
            }
            Type::Dyn
            | Type::Null
            | Type::Bool
            | Type::Int
            | Type::Uint
            | Type::Double
            | Type::Text
            | Type::Bytes
            | Type::Duration
            | Type::Timestamp
            | Type::Semver
            | Type::Quantity
            | Type::Url
            | Type::Ip
            | Type::Cidr
            | Type::Format
            | Type::Kind
            | Type::Device => of.clone(),
        }
    }

    /// Likewise, and what is not known is dynamic.
    pub(super) fn settled(&self, of: &Type) -> Type {
        let mut resolved = self.resolve(of);
        settle(&mut resolved);
        resolved
    }

    /// Whether `from` can stand where `to` is expected; variables take what makes it so.
    pub(super) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Variable(variable) = to {
            let (valid, substituted) = self.substitute(from, *variable);
            if valid || substituted {
                return valid;
            }
        }
        if let Type::Variable(variable) = from {
            return self.substitute(to, *variable).0;
        }
        if *from == Type::Dyn || *to == Type::Dyn {
            return true;
        }
        if *from == Type::Null || *to == Type::Null {
            return from.is_nullable() && to.is_nullable();
        }
        if std::mem::discriminant(from) != std::mem::discriminant(to) {
            return false;
        }
        let pairs: Vec<(Type, Type)> = from
            .parameters()
            .into_iter()
            .zip(to.parameters())
            .map(|(f, t)| (f.clone(), t.clone()))
            .collect();
        pairs.iter().all(|(from, to)| self.assignable(from, to))
    }

    /// Likewise for several at once; nothing changes unless all fit.
    pub(super) fn all_assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        let mark = self.trail.len();
        let fits = from.len() == to.len()
            && from
                .iter()
                .zip(to)
                .all(|(from, to)| self.assignable(from, to));
        while !fits
            && self.trail.len() > mark
            && let Some((variable, before)) = self.trail.pop()
        {
            if let Some(place) = self.found.get_mut(variable) {
                *place = before;
            }
        }
        fits
    }

    /// Whether `variable` can stand for `candidate`, and whether it already stood for something.
    fn substitute(&mut self, candidate: &Type, variable: usize) -> (bool, bool) {
        if *candidate == Type::Variable(variable) {
            return (true, self.of(variable).is_some());
        }
        if let Some(found) = self.of(variable).cloned() {
            if !self.assignable(candidate, &found) {
                return (false, true);
            }
            let general = if self.is_more_general(candidate, &found) {
                candidate.clone()
            } else {
                found
            };
            // A type within which its own variable stands would never end.
            if !self.mentions(&general, variable) {
                self.set(variable, general);
            }
            return (true, true);
        }
        if self.mentions(candidate, variable) {
            return (false, false);
        }
        self.set(variable, candidate.clone());
        (true, false)
    }

    fn mentions(&self, within: &Type, variable: usize) -> bool {
        if let Type::Variable(other) = within {
            return *other == variable
                || self
                    .of(*other)
                    .is_some_and(|found| self.mentions(found, variable));
        }
        within
            .parameters()
            .into_iter()
            .any(|part| self.mentions(part, variable))
    }

    /// Whether `left` is no more special than `right`.
    fn is_more_general(&self, left: &Type, right: &Type) -> bool {
        if matches!(left, Type::Dyn | Type::Variable(_)) {
            return true;
        }
        if matches!(right, Type::Dyn | Type::Variable(_)) {
            return false;
        }
        if std::mem::discriminant(left) != std::mem::discriminant(right) {
            // Of null and something that can be null, the latter says more about what there may be.
            return *right == Type::Null;
        }
        left.parameters()
            .into_iter()
            .zip(right.parameters())
            .all(|(left, right)| self.is_more_general(left, right))
    }
}
