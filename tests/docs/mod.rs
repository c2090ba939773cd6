//! Documentation: its examples are the program's output, and every link has a target.

mod files;
mod links;
mod printed;
