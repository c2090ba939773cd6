//! Pages of `-o html` in a browser: complete, quiet, and readable on every screen.

mod chromium;
mod looked_at;
mod made;
