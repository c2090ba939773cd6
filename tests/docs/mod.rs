//! Documentation: is what it shows what the program prints, and does every link lead somewhere?

mod book;
mod files;
mod html;
mod links;
mod permissions;
mod printed;
