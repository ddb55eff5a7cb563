//! Tells the code whether it is built for development (`cfg(development)`), where tests may end a process between two steps of writing.
//!
//! Debug assertions do not tell: development builds are without them, because those of the standard library take half of the
//! tests' time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(development)");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-cfg=development");
    }
}
