//! Wire structs, written as Kubernetes' `.proto` files write them.

use std::fmt::Debug;

/// Parameter of a generic message.
pub trait Part: prost::Message + Default + Debug {}

impl<T: prost::Message + Default + Debug> Part for T {}

/// Makes structs that are decoded from protobuf, and from JSON and YAML under the names of the API.
///
/// A field is `name: optional TYPE = TAG` or `name: repeated TYPE = TAG`, where TYPE is a scalar of protobuf or
/// another such struct. A struct that is the same in all versions but for what it holds has that as a parameter,
/// `struct NAME<OF = USUAL>`. In JSON, a list that is `null` is an empty one, as in Go. A field that is something else
/// is written with its own attributes, from `pub` on.
macro_rules! message {
    (@fields [$($head:tt)*] [$($done:tt)*]) => {
        #[derive(Clone, PartialEq, prost::Message, serde::Deserialize)]
        #[cfg_attr(test, derive(serde::Serialize))]
        #[serde(rename_all = "camelCase")]
        $($head)* { $($done)* }
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional string = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(string, optional, tag = $tag)] pub $field: Option<String>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional bool = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(bool, optional, tag = $tag)] pub $field: Option<bool>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional int32 = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(int32, optional, tag = $tag)] pub $field: Option<i32>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional int64 = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(int64, optional, tag = $tag)] pub $field: Option<i64>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional $kind:ident = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(message, optional, tag = $tag)] pub $field: Option<$kind>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: repeated string = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [
            $(#[$about])*
            #[prost(string, repeated, tag = $tag)]
            #[serde(default, deserialize_with = "crate::wire::nullable::or_default")]
            pub $field: Vec<String>,
        ] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: repeated $kind:ident = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [
            $(#[$about])*
            #[prost(message, repeated, tag = $tag)]
            #[serde(default, deserialize_with = "crate::wire::nullable::or_default")]
            pub $field: Vec<$kind>,
        ] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $vis:vis $field:ident: $kind:ty, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* $vis $field: $kind,] $($rest)*);
    };
    (@add $head:tt [$($done:tt)*] [$($field:tt)*] $($rest:tt)*) => {
        message!(@fields $head [$($done)* $($field)*] $($rest)*);
    };
    ($($(#[$about:meta])* $vis:vis struct $name:ident $(<$of:ident = $usual:ident>)? { $($fields:tt)* })*) => {
        $(message!(@fields [
            $(#[$about])*
            $vis struct $name $(<$of: $crate::wire::message::Part = $usual>)?
        ] [] $($fields)*);)*
    };
}
pub(super) use message;
