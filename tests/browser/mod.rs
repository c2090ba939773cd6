//! Pages of `-o html` in a browser: are they whole, quiet, and readable wherever they are looked at?

mod chromium;
mod looked_at;
mod made;
