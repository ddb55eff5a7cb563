//! A short name for the content of a data set, to notice that results belong to other data.

use super::Splits;
use crate::data::Dataset;

impl Splits {
    /// 16 hexadecimal digits that depend on every feature, grade and id (FNV-1a over 64-bit words). Not for security.
    pub fn fingerprint(&self) -> String {
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        [&self.train, &self.validation, &self.test].into_iter().for_each(|part| hash.add_dataset(part));
        format!("{:016x}", hash.0)
    }
}

struct Hash(u64);

impl Hash {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        // FNV moves high bits nowhere; bytes do not need that, words do.
        self.0 ^= self.0 >> 32;
    }

    fn add_dataset(&mut self, data: &Dataset) {
        [data.len(), data.feature_count(), data.query_count()].into_iter().for_each(|n| self.add(n as u64));
        data.lists().for_each(|rows| self.add(rows.end as u64));
        data.grades().unwrap_or_default().iter().for_each(|&grade| self.add(u64::from(grade)));
        data.features().iter().for_each(|value| self.add(u64::from(value.to_bits())));
        for ids in [data.queries(), data.docs()] {
            for index in 0..ids.len() {
                ids.name(index).bytes().for_each(|byte| self.add(u64::from(byte)));
                self.add(u64::from(u8::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{Generator, Preset};

    #[test]
    fn other_data_have_another_fingerprint() {
        let of = |seed| Generator::preset(Preset::Tiny).seed(seed).generate().unwrap().fingerprint();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1).len(), 16);
    }
}
