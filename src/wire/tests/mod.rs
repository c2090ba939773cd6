//! Both encodings, all versions, and what may be wrong with them.

mod documents;
mod encodings;
mod protobuf_list;
mod strategy;
mod upstream;
mod warnings;
mod watch;
