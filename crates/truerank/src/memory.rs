//! How much memory work may take: sizes as people write them, and how much is free.

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{Error, Result};

/// A number of bytes that work may hold, such as `512MiB` or `2GB`.
///
/// ```
/// use truerank::memory::Memory;
/// let memory: Memory = "1.5GiB".parse()?;
/// assert_eq!(memory.bytes(), 3 << 29);
/// assert_eq!(memory.to_string(), "1.5GiB");
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory(u64);

/// Units in lower case; a letter alone is a power of 1024, as in `4g`.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
];

/// What is assumed to be free where the system does not say.
const UNKNOWN: u64 = 2 << 30;

/// No work gets by with less: buffers of files alone take some of it.
const LEAST: u64 = 1 << 20;

impl Memory {
    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Memory(bytes)
    }

    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Reads a size such as `1GiB`, `512MiB`, `2GB`, `4g` or plain bytes; at least 1 MiB.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |finding: &str| Error::parameter(format!("'{text}' is {finding}"));
        let bytes = bytes_of(text).ok_or_else(|| refuse("not a size such as 512MiB, 1.5GiB or 2GB"))?;
        match bytes {
            LEAST.. => Ok(Memory(bytes)),
            _ => Err(refuse("too little; at least 1MiB is needed")),
        }
    }

    /// Half of what is free: of the machine's memory, of what the process's control group may use, and of what the process
    /// may address (`ulimit -v`).
    pub fn half_of_free() -> Self {
        Memory((free(Path::new("/")).unwrap_or(UNKNOWN) / 2).max(LEAST))
    }
}

impl FromStr for Memory {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Memory::parse(text)
    }
}

impl fmt::Display for Memory {
    /// In the largest binary unit of which there is at least one, to a tenth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.into_iter().find(|(_, size)| self.0 >= *size) {
            Some((unit, size)) => write!(f, "{}{unit}", (self.0 as f64 / size as f64 * 10.0).round() / 10.0),
            None => write!(f, "{}B", self.0),
        }
    }
}

thread_local! {
    static MAY_BE_REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Asks for memory in a way that takes no for an answer.
pub(crate) fn ask<T>(allocate: impl FnOnce() -> T) -> T {
    let before = MAY_BE_REFUSED.replace(true);
    let outcome = allocate();
    MAY_BE_REFUSED.set(before);
    outcome
}

/// Whether this thread asks for memory in a way that takes no for an answer: then an allocator that ends the program where
/// there is none should not.
pub fn may_be_refused() -> bool {
    MAY_BE_REFUSED.get()
}

fn bytes_of(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit.trim_start())?;
    let bytes = number.parse::<f64>().ok()? * size as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// What is free of the machine and of every control group above the process, below `root`.
fn free(root: &Path) -> Option<u64> {
    let machine = field(&root.join("proc/meminfo"), "MemAvailable:").map(|kib| kib << 10);
    let groups = groups(root);
    machine.into_iter().chain(groups.iter().filter_map(|group| group.free())).chain(addressable(root)).min()
}

/// What the process may still address where that is limited (`ulimit -v`).
fn addressable(root: &Path) -> Option<u64> {
    let most = field(&root.join("proc/self/limits"), "Max address space")?;
    let used = field(&root.join("proc/self/status"), "VmSize:").unwrap_or(0) << 10;
    Some(most.saturating_sub(used))
}

/// A control group with a limit of memory: its folder, and what its files are called.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    usage: &'static str,
    cache: &'static str,
}

impl Group {
    /// The limit less what is used; files' pages that nobody uses at the moment make way.
    fn free(&self) -> Option<u64> {
        let number = |name: &str| std::fs::read_to_string(self.folder.join(name)).ok()?.trim().parse::<u64>().ok();
        let cache = field(&self.folder.join("memory.stat"), self.cache).unwrap_or(0);
        let used = number(self.usage).unwrap_or(0).saturating_sub(cache);
        Some(number(self.limit)?.saturating_sub(used))
    }
}

/// The control groups of the process, version 2 or 1, each with those above it.
fn groups(root: &Path) -> Vec<Group> {
    let text = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    text.lines().flat_map(|line| groups_of_line(&root.join("sys/fs/cgroup"), line)).collect()
}

/// The groups of a line `number:controllers:path`.
fn groups_of_line(base: &Path, line: &str) -> Vec<Group> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let group: fn(PathBuf) -> Group = match controllers {
        "" => |folder| Group { folder, limit: "memory.max", usage: "memory.current", cache: "inactive_file" },
        _ if controllers.split(',').any(|name| name == "memory") => |folder| Group {
            folder: folder.clone(),
            limit: "memory.limit_in_bytes",
            usage: "memory.usage_in_bytes",
            cache: "total_inactive_file",
        },
        _ => return Vec::new(),
    };
    let base = if controllers.is_empty() { base.to_path_buf() } else { base.join("memory") };
    let folder = base.join(path.trim_start_matches('/'));
    folder
        .ancestors()
        .take_while(|folder| folder.starts_with(&base))
        .map(|folder| group(folder.to_path_buf()))
        .collect()
}

/// The first number after `name` in a file of lines `name number`.
fn field(path: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let cases: [(&str, u64); 9] = [
            ("1GiB", 1 << 30),
            ("512MiB", 512 << 20),
            ("2GB", 2_000_000_000),
            ("4g", 4 << 30),
            ("1.5 GiB", 3 << 29),
            ("2048k", 2 << 20),
            ("1TiB", 1 << 40),
            ("1048576", 1 << 20),
            ("3000kB", 3_000_000),
        ];
        cases.iter().for_each(|(text, bytes)| assert_eq!(Memory::parse(text).unwrap().bytes(), *bytes, "{text}"));
    }

    #[test]
    fn other_texts_are_refused() {
        let message = |text: &str| Memory::parse(text).unwrap_err().to_string();
        for text in ["", "GiB", "much", "-1GiB", "1GiBs", "1e9", "nan", "1..5GiB", "99999999999TiB"] {
            assert_eq!(message(text), format!("'{text}' is not a size such as 512MiB, 1.5GiB or 2GB"));
        }
        assert_eq!(message("1000"), "'1000' is too little; at least 1MiB is needed");
    }

    #[test]
    fn sizes_print_in_the_largest_unit() {
        let text = |bytes| Memory::new(bytes).to_string();
        assert_eq!([text(0), text(1 << 10), text(3 << 29), text(5 << 40)], ["0B", "1KiB", "1.5GiB", "5TiB"]);
    }

    /// A file system in which `files` stand.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");

    #[test]
    fn the_machine_says_what_is_free() {
        assert_eq!(free(system(&[]).path()), None);
        assert_eq!(free(system(&[MACHINE]).path()), Some(8000 << 10));
    }

    #[test]
    fn a_control_group_of_version_2_limits_it() {
        let root = system(&[
            MACHINE,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "4096000\n"),
            ("sys/fs/cgroup/a/memory.current", "3000000\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 2000000\n"),
        ]);
        assert_eq!(free(root.path()), Some(4_096_000 - (3_000_000 - 2_000_000)));
    }

    #[test]
    fn a_limit_of_addresses_limits_it() {
        let status = ("proc/self/status", "VmPeak:\t 500 kB\nVmSize:\t 400 kB\n");
        let limits =
            |most: &str| format!("Limit  Soft Limit  Hard Limit  Units\nMax address space  {most}  unlimited  bytes\n");
        let (little, all) = (limits("1024000"), limits("unlimited"));
        assert_eq!(
            free(system(&[MACHINE, status, ("proc/self/limits", &little)]).path()),
            Some(1_024_000 - (400 << 10))
        );
        assert_eq!(free(system(&[MACHINE, status, ("proc/self/limits", &all)]).path()), Some(8000 << 10));
    }

    #[test]
    fn a_control_group_of_version_1_limits_it() {
        let root = system(&[
            MACHINE,
            ("proc/self/cgroup", "5:cpu:/x\n4:hugetlb,memory:/c\n"),
            ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "5000000\n"),
            ("sys/fs/cgroup/memory/c/memory.usage_in_bytes", "1000000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(free(root.path()), Some(4_000_000));
    }
}
