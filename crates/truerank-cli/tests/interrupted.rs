//! Runs that end before their time: the reader of the output leaves, or the run is killed.

#![cfg(unix)]

mod common;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::Sandbox;

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command("completions bash").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_reader_of_progress_that_leaves_early_does_not_stop_the_work() {
    let sandbox = Sandbox::new();
    let mut child =
        sandbox.command("generate --preset tiny -o data").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(sandbox.path("data/train.txt").is_file());
}

/// Until there is a temporary file. Only names are looked at, since what is written comes and goes meanwhile.
fn wait_until_it_writes(sandbox: &Sandbox) {
    let names = || std::fs::read_dir(sandbox.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    while !names().any(|name| name.to_string_lossy().starts_with(".truerank-")) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_run_leaves_the_old_file() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.write("clicks.csv", "old log");
    sandbox.write("clicks.propensities.json", "old propensities");
    let mut child = sandbox.command("simulate data --sessions 100000000 -o clicks.csv --quiet").spawn().unwrap();
    wait_until_it_writes(&sandbox);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.read("clicks.csv"), b"old log");
    assert_eq!(sandbox.read("clicks.propensities.json"), b"old propensities");
}

/// Sends a signal as a terminal or a service manager would, and waits for the end: its code, and what was said.
fn stop(mut child: Child, signal: &str) -> (Option<i32>, String) {
    assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be stopped");
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (child.wait().unwrap().code(), stderr)
}

#[test]
fn a_run_that_is_asked_to_stop_leaves_the_old_file_and_no_other() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let sandbox = Sandbox::with_tiny_data();
        sandbox.write("clicks.csv", "old log");
        let before = sandbox.files();
        let mut command = sandbox.command("simulate data --sessions 100000000 -o clicks.csv --quiet");
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        wait_until_it_writes(&sandbox);
        assert_eq!(stop(child, signal), (Some(code), "interrupted\n".to_string()));
        assert!(sandbox.files() == before);
    }
}

/// Rows of a log, a page each time.
fn page(session: usize) -> String {
    let row =
        |rank: usize| format!("{session},u{},q{},d{},{rank},{}\n", session % 9, session % 50, rank * 7, session % 2);
    (1..=10).map(row).collect()
}

#[test]
fn counting_that_is_asked_to_stop_leaves_the_old_counts_and_nothing_else() {
    let sandbox = Sandbox::new();
    let header = "session,user,query,doc,position,click\n";
    sandbox.write("old.csv", format!("{header}{}{}", page(1), page(2)));
    sandbox.run("count old.csv -o counts");
    let before = sandbox.files();
    let mut command = sandbox.command("count - --format csv --memory 1MiB -o counts --quiet");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Far more than it may hold, so that most of it is on disk; and it waits for more.
    let mut input = child.stdin.take().unwrap();
    input.write_all(header.as_bytes()).unwrap();
    (0..100_000).for_each(|session| input.write_all(page(session).as_bytes()).unwrap());
    assert_eq!(stop(child, "-INT"), (Some(130), "interrupted\n".to_string()));
    assert!(sandbox.files() == before);
}

/// A disk of two megabytes, for as long as it is held.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// None where this user may not mount one.
    fn mount(path: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let mut command = Command::new("mount");
        let mounted = command.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&path).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then(|| SmallDisk(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_counts() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(sandbox.path("disk")) else {
        eprintln!("skipped: mounting a small disk needs more rights than this user has");
        return;
    };
    let header = "session,user,query,doc,position,click\n";
    sandbox.write("old.csv", format!("{header}{}{}", page(1), page(2)));
    sandbox.run("count old.csv -o counts");
    sandbox.run("count old.csv -o disk/counts");
    let pages: String = (0..100_000).map(page).collect();
    sandbox.write("new.csv", format!("{header}{pages}"));
    let message = sandbox.fail("count new.csv --memory 1MiB --temporary disk -o counts");
    assert!(message.ends_with(
        "disk: the disk is full of what does not fit into memory; raise --memory, or name a folder on \
         another disk with --temporary"
    ));
    let filler = vec![0; 2 << 20];
    let _ = std::fs::write(sandbox.path("disk/filler"), filler);
    let message = sandbox.fail("count new.csv -o disk/counts");
    assert!(message.contains("the disk is full; make room on it"), "{message}");
    drop(disk);
}
