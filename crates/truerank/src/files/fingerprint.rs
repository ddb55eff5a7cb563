//! A short name for content, to notice that results belong to other data.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::spool::read_at;
use crate::{Error, Result};

/// Takes in words and bytes, gives out 16 hexadecimal digits (FNV-1a over 64-bit words). Not for security.
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Takes in a word.
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        // FNV moves high bits nowhere; bytes do not need that, words do.
        self.0 ^= self.0 >> 32;
    }

    /// Takes in bytes and their number.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        rest.iter().for_each(|&byte| self.add(u64::from(byte)));
        self.add(bytes.len() as u64);
    }

    /// Takes in many bytes, in four lanes that a processor works on at the same time; not the same as
    /// [`add_bytes`](Fingerprint::add_bytes). One changed word changes its lane, and so the whole, for certain.
    pub fn add_long(&mut self, bytes: &[u8]) {
        let mut lanes = [1, 2, 3, 4].map(Fingerprint);
        let (blocks, rest) = bytes.as_chunks::<32>();
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            lanes.iter_mut().zip(words).for_each(|(lane, word)| lane.add(u64::from_le_bytes(*word)));
        }
        lanes.iter().for_each(|lane| self.add(lane.0));
        self.add_bytes(rest);
        self.add(bytes.len() as u64);
    }

    /// The digits.
    pub fn digits(&self) -> String {
        format!("{:016x}", self.0)
    }

    /// The digits of what files hold, one after the other; their names do not matter.
    pub fn of_files(paths: &[PathBuf]) -> Result<String> {
        let mut fingerprint = Fingerprint::default();
        paths.iter().try_for_each(|path| fingerprint.add_file(path))?;
        Ok(fingerprint.digits())
    }

    /// The digits of a file's length and of its first and last bytes, however long it is.
    pub fn of_ends(path: &Path) -> Result<String> {
        const END: u64 = 1 << 16;
        let failed = |e| Error::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(length);
        let mut bytes = vec![0; length.min(END) as usize];
        for start in [0, length - bytes.len() as u64] {
            read_at(&file, &mut bytes, start).map_err(failed)?;
            fingerprint.add_bytes(&bytes);
        }
        Ok(fingerprint.digits())
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let failed = |e| Error::io(path, e);
        let mut file = File::open(path).map_err(failed)?;
        let mut room = vec![0; 1 << 20];
        loop {
            let mut filled = 0;
            while filled < room.len() {
                match file.read(&mut room[filled..]).map_err(failed)? {
                    0 => break,
                    count => filled += count,
                }
            }
            self.add_bytes(&room[..filled]);
            if filled < room.len() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_long_texts_counts() {
        let of = |bytes: &[u8]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.add_long(bytes);
            fingerprint.digits()
        };
        for length in [0, 1, 31, 32, 33, 100] {
            let bytes: Vec<u8> = (0..length).collect();
            let mut found = std::collections::BTreeSet::from([of(&bytes), of(&[&bytes[..], &[0]].concat())]);
            for bit in 0..8 * bytes.len() {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                found.insert(of(&changed));
            }
            assert_eq!(found.len(), 2 + 8 * bytes.len());
        }
    }

    #[test]
    fn every_byte_and_their_number_count() {
        let of = |bytes: &[u8]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.add_bytes(bytes);
            fingerprint.digits()
        };
        let texts: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"clicks", b"clicks and more", b"clicks and mode"];
        let digits: std::collections::BTreeSet<String> = texts.into_iter().map(of).collect();
        assert_eq!(digits.len(), texts.len());
        assert_eq!(of(b"clicks"), of(b"clicks"));
    }
}
