//! Runs the program inside a folder of its own, so that what it prints holds no paths of the machine.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder in which the program runs.
pub struct Sandbox(tempfile::TempDir);

impl Sandbox {
    pub fn new() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    /// A folder with the `tiny` data set in `data`.
    pub fn with_tiny_data() -> Self {
        let sandbox = Sandbox::new();
        sandbox.run("generate --preset tiny -o data");
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Every file below the folder with its content, every folder with none.
    pub fn files(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut files = BTreeMap::new();
        collect(self.0.path(), self.0.path(), &mut files);
        files
    }

    /// The program with arguments separated by spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("truerank"));
        // Width and colours come from the terminal or from these.
        command
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR")
            .current_dir(self.0.path())
            .args(arguments.split_whitespace());
        command
    }

    pub fn output(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a run that must succeed prints, without progress.
    pub fn run(&self, arguments: &str) -> String {
        let output = self.output(&format!("{arguments} --quiet"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "truerank {arguments}: {stderr}");
        assert_eq!(stderr, "", "truerank {arguments}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same on a terminal so wide that every row of a table is one line.
    pub fn run_wide(&self, arguments: &str) -> String {
        let output = self.command(&format!("{arguments} --quiet")).env("COLUMNS", "600").output().unwrap();
        assert!(output.status.success(), "truerank {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a run that must succeed prints, as JSON.
    pub fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.run(arguments)).unwrap()
    }

    /// The one line with which a run fails. It must print nothing else, and leave every file as it was.
    pub fn fail(&self, arguments: &str) -> String {
        let before = self.files();
        let output = self.output(&format!("{arguments} --quiet"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "truerank {arguments}: {stderr}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "truerank {arguments}");
        let (line, rest) = stderr.split_once('\n').unwrap();
        assert!(line.starts_with("error: ") && rest.is_empty(), "truerank {arguments}: {stderr}");
        assert!(!line.chars().any(char::is_control), "truerank {arguments}: {line:?}");
        let after = self.files();
        let names = |files: &BTreeMap<PathBuf, _>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&after), names(&before), "truerank {arguments}");
        assert!(after == before, "truerank {arguments} changed a file");
        line.to_string()
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_path_buf();
        if path.is_dir() {
            files.insert(name, None);
            collect(root, &path, files);
        } else {
            files.insert(name, Some(std::fs::read(&path).unwrap()));
        }
    }
}

/// The titles of a report, the headers of its tables, and the names of their rows: what does not depend on numbers, which
/// are other ones on other processors.
pub fn shape(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let cells: Vec<&str> = line.trim().split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect();
        let after_blank = index > 0 && lines[index - 1].trim().is_empty();
        if after_blank && lines.get(index + 1).is_some_and(|line| line.trim_start().starts_with('─')) {
            kept.push(cells.join(" | "));
        } else if line == &"Next:" {
            // Commands are as long as the names of files.
            break;
        } else if !line.starts_with(' ') && !line.ends_with("report.html") {
            kept.push(line.to_string());
        } else if cells.len() > 1 {
            kept.push(format!("  {}", cells[0]));
        }
    }
    kept.join("\n")
}
