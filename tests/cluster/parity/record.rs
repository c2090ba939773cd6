//! What kubectl did in each case, as the second tier has seen it: the first compares with that.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use serde::{Deserialize, Serialize};

use super::case::{Done, Outcome};
use super::stage::Stage;

/// What one of the two did, without what differs from run to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deed {
    pub outcome: Outcome,
    /// Each visitor once: how he came, with what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visitors: Vec<String>,
    /// What proxies were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<String>,
}

impl Deed {
    pub fn of(done: &Done, stage: &Stage) -> Self {
        let visitors = done.visitors.iter().map(|visitor| format!("{visitor:?}"));
        Self {
            outcome: done.outcome,
            visitors: visitors
                .map(|visitor| stage.without_ports(&visitor))
                .collect(),
            ways: done
                .ways
                .iter()
                .map(|way| stage.without_ports(way))
                .collect(),
        }
    }
}

/// What kubectl did in the cases of a subject, by the case.
pub struct Record {
    path: PathBuf,
    pub deeds: BTreeMap<String, Deed>,
}

impl Record {
    pub fn of(subject: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/parity")
            .join(format!("{subject}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        let deeds = serde_json::from_str(&text).expect("a record");
        Self { path, deeds }
    }

    /// Compares with what kubectl does now, or takes that where it is asked for.
    pub fn check(&self, found: &BTreeMap<String, Deed>) {
        if env::var_os("UPDATE_GENERATED").is_some() {
            let text = serde_json::to_string_pretty(found).expect("JSON") + "\n";
            fs::write(&self.path, text).expect("the record can be written");
            return;
        }
        assert_eq!(
            &self.deeds,
            found,
            "{} is not what kubectl does; write it anew: UPDATE_GENERATED=1 cargo test --test full parity",
            self.path.display()
        );
    }
}
