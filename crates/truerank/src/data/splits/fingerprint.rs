//! A short name for a data set in three parts.

use super::Splits;
use crate::data::Dataset;
use crate::files::Fingerprint;

impl Splits {
    /// 16 hexadecimal digits that depend on every feature, grade and id.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::default();
        [&self.train, &self.validation, &self.test].into_iter().for_each(|part| add(&mut fingerprint, part));
        fingerprint.digits()
    }
}

fn add(fingerprint: &mut Fingerprint, data: &Dataset) {
    [data.len(), data.feature_count(), data.query_count()].into_iter().for_each(|n| fingerprint.add(n as u64));
    data.lists().for_each(|rows| fingerprint.add(rows.end as u64));
    fingerprint.add_bytes(data.grades().unwrap_or_default());
    data.features().iter().for_each(|value| fingerprint.add(u64::from(value.to_bits())));
    for ids in [data.queries(), data.docs()] {
        (0..ids.len()).for_each(|index| fingerprint.add_bytes(ids.name(index).as_bytes()));
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
    }
}
