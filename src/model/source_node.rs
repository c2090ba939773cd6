//! What somebody wrote into a file, with the line of every part.

/// A part of a file that people write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceNode {
    /// The line on which it begins, from one.
    pub line: u64,
    /// What stands there.
    pub content: Content,
}

/// What stands somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// Parts in their order.
    List(Vec<SourceNode>),
    /// Parts by name, in the order of the file; no name occurs twice.
    Fields(Vec<Field>),
    /// A number, a truth value, or nothing.
    Other,
}

/// A part with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The line of the name.
    pub line: u64,
    /// The name.
    pub name: String,
    /// What has it.
    pub value: SourceNode,
}
