//! Where the system gives no threads, little memory or small files, the program does with less or says so in one line.

#![cfg(target_os = "linux")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use common::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 2000 -o clicks.csv");
    sandbox
}

/// Runs the program under a limit that the shell sets.
fn limited(sandbox: &Sandbox, limit: &str, arguments: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin!("truerank");
    let line = format!("ulimit -c 0; {limit}; exec '{}' {arguments}", program.display());
    Command::new("sh").args(["-c", &line]).current_dir(sandbox.path("")).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the program where no thread may be started, which Bash can arrange. Root is not bound by that, so it is run as nobody.
fn without_threads(sandbox: &Sandbox, arguments: &str) -> Option<Output> {
    let program = assert_cmd::cargo::cargo_bin!("truerank");
    let line = format!("ulimit -u 1 && exec \"$0\" {arguments}");
    let is_root = Command::new("id").arg("-u").output().ok()?.stdout == b"0\n";
    let mut command = match is_root {
        false => Command::new("bash"),
        true => {
            // Nobody may not look into the build's folder.
            std::fs::copy(program, sandbox.path("program")).unwrap();
            std::fs::set_permissions(sandbox.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash"]);
            command
        }
    };
    let program = if is_root { sandbox.path("program") } else { program.to_path_buf() };
    command.arg("-c").arg(line).arg(program).current_dir(sandbox.path("")).output().ok()
}

#[test]
fn without_threads_one_does_all_the_work() {
    let sandbox = sandbox();
    let Some(output) = without_threads(&sandbox, "sql") else {
        return println!("skipped: there is no bash, or this is root and there is no setpriv");
    };
    assert_eq!((stderr(&output).contains("panicked"), output.status.code()), (false, Some(0)), "{}", stderr(&output));
    let output = without_threads(&sandbox, "count clicks.csv --threads 2 -o alone").unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let note = "the system gives 1 of 2 threads; results do not depend on them\n";
    assert!(stderr(&output).starts_with(note), "{}", stderr(&output));
    sandbox.run("count clicks.csv -o together");
    for name in ["cells.parquet", "sessions.parquet", "pages.parquet"] {
        assert!(sandbox.read(&format!("alone/{name}")) == sandbox.read(&format!("together/{name}")), "{name}");
    }
}

/// The least memory, in steps of 4 MiB, in which the program starts at all: its own code takes more or less of it.
fn least_memory(sandbox: &Sandbox) -> u64 {
    let starts = |mib: &u64| limited(sandbox, &format!("ulimit -v {}", mib << 10), "--version").status.success();
    (16..1024).step_by(4).find(starts).expect("the program starts in a gibibyte")
}

#[test]
fn without_memory_there_is_one_line_that_says_so() {
    let sandbox = sandbox();
    let least = least_memory(&sandbox);
    let mut said = 0;
    for mib in [least, least + 4, least + 12, least + 40] {
        let arguments = "count clicks.csv --memory 1GiB --threads 2 --quiet -o o";
        let output = limited(&sandbox, &format!("ulimit -v {}", mib << 10), arguments);
        let stderr = stderr(&output);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{mib} MiB: {:?} {stderr}", output.status);
        let is_said = stderr.starts_with("error: the system gives no more memory (") && stderr.lines().count() == 1;
        assert!(output.status.success() || is_said, "{mib} MiB: {stderr}");
        said += u32::from(is_said);
    }
    assert!(said > 0, "{least} MiB were enough");
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_signal() {
    let sandbox = sandbox();
    sandbox.write("old.csv", "old");
    let output = limited(&sandbox, "ulimit -f 8", "simulate data --sessions 2000 --quiet -o old.csv");
    assert_eq!(output.status.code(), Some(2), "{:?} {}", output.status, stderr(&output));
    let expected =
        "error: old.csv: would be larger than the system lets a file be; raise the limit (ulimit -f), or write less\n";
    assert_eq!(stderr(&output), expected);
    assert_eq!(sandbox.read("old.csv"), b"old");
}
