//! Writes `corpus/TARGET/…`: files that are read well, for the fuzzer to start from.

use std::path::Path;

use truerank_fuzz::{TARGETS, Target};

fn main() {
    for (name, _) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, seed) in Target::new(name).seeds().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}
