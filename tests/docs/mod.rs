//! Documentation: is what it shows what the program prints, and does every link lead somewhere?

mod files;
mod links;
mod permissions;
mod printed;
