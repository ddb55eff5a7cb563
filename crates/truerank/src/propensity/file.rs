//! Propensities in files: JSON here, Parquet in [`table`](super::table) with the same words.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::table::{self, Head, Users};
use super::{Details, Evidence, Fit, LevelAndShape, Propensities, UserClusters};
use crate::files::table::FileType;
use crate::files::{Beside, FileFormat, Limit, lines_of_json, read_json, seal_json, write_file};
use crate::ids::Ids;
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/propensities", version: 1 };

#[derive(Serialize, Deserialize)]
struct Document {
    r#type: Option<String>,
    version: Option<u64>,
    method: String,
    scale: String,
    positions: usize,
    population: Vec<f64>,
    #[serde(default, skip_serializing_if = "EvidenceRow::is_empty")]
    population_evidence: EvidenceRow,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fit: Option<FitRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    harvesting: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clusters: Vec<ClusterRow>,
    #[serde(default)]
    users: Vec<UserRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<Beside>,
}

#[derive(Serialize, Deserialize)]
struct UserRow {
    user: UserId,
    /// θ(u,k); `examination` in files before level and shape were told apart.
    #[serde(alias = "examination")]
    propensity: Vec<f64>,
    /// For readers: `propensity` is `level` times `shape`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shape: Vec<f64>,
    /// Counted from 1, as people name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<u32>,
    #[serde(flatten)]
    evidence: EvidenceRow,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ClusterRow {
    /// As files had it before level and shape were told apart.
    Plain(Vec<f64>),
    Whole {
        propensity: Vec<f64>,
        level: f64,
        shape: Vec<f64>,
    },
}

impl ClusterRow {
    fn propensity(&self) -> &[f64] {
        match self {
            ClusterRow::Plain(values) | ClusterRow::Whole { propensity: values, .. } => values,
        }
    }
}

#[derive(Serialize, Deserialize, Default, Clone)]
struct EvidenceRow {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    standard_errors: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    impressions: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clicks: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct FitRecord {
    converged: bool,
    log_likelihood: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum UserId {
    Integer(i64),
    Text(String),
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserId::Integer(value) => write!(f, "{value}"),
            UserId::Text(text) => f.write_str(text),
        }
    }
}

impl Propensities {
    /// Writes them as JSON, one line for each field and for each user; to a file that ends in `.parquet`, as Parquet with a row for each
    /// user, which is smaller and quicker where users are many.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.write_document(path, None)
    }

    /// Writes them as [`write`](Propensities::write) does, after another result of the same run, a file or a folder of counts:
    /// they are not read beside one of another run.
    pub fn write_beside(&self, path: &Path, other: &Path) -> Result<()> {
        self.write_document(path, Some(Beside::of(other)?))
    }

    fn write_document(&self, path: &Path, beside: Option<Beside>) -> Result<()> {
        if FileFormat::of(path) == FileFormat::Parquet {
            let head = serde_json::to_string(&Document { beside, ..self.head() });
            return self.write_table(path, head.map_err(|e| Error::input(path, e.to_string()))?);
        }
        let document = Document { beside, ..self.to_document() };
        let text = lines_of_json(&document).map_err(|e| Error::input(path, e.to_string()))?;
        write_file(path, &seal_json(&text))
    }

    /// Reads what [`write`](Propensities::write) wrote, or a hand-written file of the same form.
    pub fn read(path: &Path) -> Result<Self> {
        let propensities = match is_parquet(path)? {
            true => Self::read_table(path)?,
            false => {
                let document: Document = read_json(path, Limit::Data, &FILE_TYPE)?;
                document.check(path)?;
                document.into_propensities()
            }
        };
        propensities.check().map_err(|e| Error::input(path, e.to_string()))?;
        Ok(propensities)
    }

    fn read_table(path: &Path) -> Result<Self> {
        let (rows, head) = table::open(path)?;
        let head: Document = serde_json::from_str(&head).map_err(|e| Error::input(path, e.to_string()))?;
        head.check(path)?;
        let clusters: Vec<f64> = head.clusters.iter().flat_map(ClusterRow::propensity).copied().collect();
        let mut users = Users::read(rows, &Head { positions: head.positions, clusters: &clusters })?;
        let mut propensities = head.into_propensities();
        propensities.by_user = std::mem::take(&mut users.by_user);
        propensities.details.by_user = std::mem::take(&mut users.evidence);
        let of_user = std::mem::take(&mut users.clusters);
        propensities.details.clusters.iter_mut().for_each(|clusters| clusters.of_user = of_user.clone());
        propensities.users = users.into_ids();
        Ok(propensities)
    }

    fn to_document(&self) -> Document {
        Document { users: self.user_rows(), ..self.head() }
    }

    /// All that is not a user's.
    fn head(&self) -> Document {
        let details = &self.details;
        let clusters = details.clusters.as_ref();
        Document {
            r#type: Some(FILE_TYPE.name.to_string()),
            version: Some(u64::from(FILE_TYPE.version)),
            method: self.method.clone(),
            scale: self.scale.clone(),
            positions: self.positions(),
            population: self.population.clone(),
            population_evidence: EvidenceRow::of(&details.population, 0, self.positions()),
            fit: details
                .fit
                .as_ref()
                .map(|fit| FitRecord { converged: fit.converged, log_likelihood: fit.log_likelihood.clone() }),
            notes: details.notes.clone(),
            clusters: clusters.map_or(Vec::new(), |clusters| {
                clusters.examination.chunks_exact(self.positions()).map(|row| self.cluster_row(row)).collect()
            }),
            harvesting: details.harvested.clone(),
            users: Vec::new(),
            beside: None,
        }
    }

    fn user_rows(&self) -> Vec<UserRow> {
        let clusters = self.details.clusters.as_ref();
        let row = |user: usize| UserRow {
            user: self.user_id(user),
            propensity: self.of_user(user).to_vec(),
            level: Some(rounded(self.level_and_shape(self.of_user(user)).level)),
            shape: self.level_and_shape(self.of_user(user)).shape.into_iter().map(rounded).collect(),
            cluster: clusters.map(|clusters| clusters.of_user[user] + 1),
            evidence: EvidenceRow::of(&self.details.by_user, user, self.positions()),
        };
        (0..self.users.len()).map(row).collect()
    }

    fn cluster_row(&self, row: &[f64]) -> ClusterRow {
        let LevelAndShape { level, shape } = self.level_and_shape(row);
        let shape = shape.into_iter().map(rounded).collect();
        ClusterRow::Whole { propensity: row.to_vec(), level: rounded(level), shape }
    }

    fn user_id(&self, user: usize) -> UserId {
        match &self.users {
            Ids::Integers(values) => UserId::Integer(values[user]),
            Ids::Texts(texts) => UserId::Text(texts.get(user).to_string()),
        }
    }
}

/// Whether a file is Parquet, by its first bytes: its name may be any.
fn is_parquet(path: &Path) -> Result<bool> {
    let mut start = [0; 4];
    let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
    // A folder, or a file too short to be either, has its error where it is read.
    Ok(file.read_exact(&mut start).is_ok() && start == *b"PAR1")
}

/// What follows from other numbers, to five digits after the point.
fn rounded(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

impl EvidenceRow {
    /// Row number `row` of evidence that is in rows of `positions`.
    fn of(evidence: &Evidence, row: usize, positions: usize) -> Self {
        fn part<T: Copy>(values: &[T], row: usize, positions: usize) -> Vec<T> {
            values.iter().skip(row * positions).take(positions).copied().collect()
        }
        EvidenceRow {
            standard_errors: part(&evidence.standard_errors, row, positions),
            impressions: part(&evidence.impressions, row, positions),
            clicks: part(&evidence.clicks, row, positions),
        }
    }

    fn is_empty(&self) -> bool {
        self.lengths() == [0; 3]
    }

    fn lengths(&self) -> [usize; 3] {
        [self.standard_errors.len(), self.impressions.len(), self.clicks.len()]
    }

    fn append_to(self, evidence: &mut Evidence) {
        evidence.standard_errors.extend(self.standard_errors);
        evidence.impressions.extend(self.impressions);
        evidence.clicks.extend(self.clicks);
    }
}

impl Document {
    fn check(&self, path: &Path) -> Result<()> {
        self.beside.as_ref().map_or(Ok(()), |beside| beside.check(path))?;
        let expect = |whose: &str, found: usize| match found == self.positions {
            true => Ok(()),
            false => {
                let rule = format!("has {found} values, but positions is {}", self.positions);
                Err(Error::input(path, format!("{whose} {rule}")))
            }
        };
        expect("population", self.population.len())?;
        let evidence = |whose: &str, row: &EvidenceRow| {
            row.lengths().into_iter().filter(|len| *len > 0).try_for_each(|len| expect(whose, len))
        };
        evidence("population_evidence", &self.population_evidence)?;
        self.clusters.iter().try_for_each(|cluster| expect("a cluster", cluster.propensity().len()))?;
        self.harvesting.iter().try_for_each(|row| expect("harvesting", row.len()))?;
        let lengths = self.users.first().map(|row| row.evidence.lengths());
        let mut known = HashSet::new();
        if let Some(row) = self.users.iter().find(|row| !known.insert(row.user.to_string())) {
            return Err(Error::input(path, format!("user '{}' has propensities twice, but needs them once", row.user)));
        }
        for (index, row) in self.users.iter().enumerate() {
            expect(&format!("propensity of user number {}", index + 1), row.propensity.len())?;
            evidence(&format!("evidence of user number {}", index + 1), &row.evidence)?;
            self.check_cluster(path, index, row)?;
            if Some(row.evidence.lengths()) != lengths {
                return Err(Error::input(
                    path,
                    "some users have standard_errors, impressions or clicks that others lack",
                ));
            }
        }
        Ok(())
    }

    fn check_cluster(&self, path: &Path, index: usize, row: &UserRow) -> Result<()> {
        let known = match row.cluster {
            Some(cluster) => (1..=self.clusters.len()).contains(&(cluster as usize)),
            None => self.clusters.is_empty(),
        };
        if known {
            return Ok(());
        }
        let found = row.cluster.map_or("none".to_string(), |cluster| cluster.to_string());
        let rule = format!("should be between 1 and {}, but is {found}", self.clusters.len());
        Err(Error::input(path, format!("the cluster of user number {} {rule}", index + 1)))
    }

    fn into_propensities(self) -> Propensities {
        let mut users = Ids::default();
        let mut by_user = Vec::with_capacity(self.users.len() * self.positions);
        let mut details = Details {
            fit: self.fit.map(|fit| Fit { converged: fit.converged, log_likelihood: fit.log_likelihood }),
            notes: self.notes,
            harvested: self.harvesting,
            ..Details::default()
        };
        self.population_evidence.append_to(&mut details.population);
        let mut of_user = Vec::new();
        for row in self.users {
            match row.user {
                UserId::Integer(value) => users.push_integer(value),
                UserId::Text(text) => users.push_text(&text),
            }
            by_user.extend(row.propensity);
            row.evidence.append_to(&mut details.by_user);
            of_user.extend(row.cluster.map(|cluster| cluster - 1));
        }
        if !self.clusters.is_empty() {
            let examination = self.clusters.iter().flat_map(ClusterRow::propensity).copied().collect();
            details.clusters = Some(UserClusters { of_user, examination });
        }
        Propensities { method: self.method, scale: self.scale, population: self.population, users, by_user, details }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, UInt32Array};
    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::files::table::TableWriter;

    #[test]
    fn propensities_of_another_run_than_the_log_beside_them_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (log, truth) = (folder.path().join("clicks.csv"), folder.path().join("clicks.propensities.json"));
        std::fs::write(&log, "first").unwrap();
        let propensities =
            Propensities { method: "truth".into(), population: vec![1.0, 0.5], ..Propensities::default() };
        propensities.write_beside(&truth, &log).unwrap();
        Propensities::read(&truth).unwrap();
        std::fs::write(&log, "other").unwrap();
        let message = Propensities::read(&truth).unwrap_err().to_string();
        assert!(message.contains("clicks.propensities.json: belongs to clicks.csv, but was written with"), "{message}");
        std::fs::remove_file(&log).unwrap();
        Propensities::read(&truth).unwrap();
    }

    fn example() -> Propensities {
        Propensities {
            method: "em".into(),
            scale: "relative".into(),
            population: vec![1.0, 0.1 + 0.2],
            users: Ids::Integers(vec![1, 2]),
            by_user: vec![1.0, 0.5, 1.25, 0.1],
            details: Details {
                population: Evidence { standard_errors: vec![0.0, 0.01], ..Evidence::default() },
                by_user: Evidence {
                    standard_errors: vec![0.0, 0.02, 0.0, 0.03],
                    impressions: vec![9, 8, 7, 6],
                    clicks: vec![5, 4, 3, 2],
                },
                fit: Some(Fit { log_likelihood: vec![-0.5, -0.25], converged: true }),
                clusters: Some(UserClusters { of_user: vec![1, 0], examination: vec![1.0, 0.2, 1.0, 0.5] }),
                harvested: Some(vec![1.0, 0.25]),
                notes: vec!["a note".into()],
            },
        }
    }

    #[test]
    fn what_is_written_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Propensities { details: Details::default(), ..example() };
        let of_all = Propensities { users: Ids::default(), by_user: Vec::new(), ..plain.clone() };
        let mut names = Ids::default();
        ["ada", "bob"].iter().for_each(|name| names.push_text(name));
        let named = Propensities { users: names, ..example() };
        for name in ["p.json", "p.parquet"] {
            let path = folder.path().join(name);
            for propensities in [&example(), &plain, &of_all, &named] {
                propensities.write(&path).unwrap();
                assert_eq!(Propensities::read(&path).unwrap(), *propensities);
            }
        }
    }

    #[test]
    fn users_of_a_table_without_probabilities_have_those_of_their_cluster() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.parquet");
        let head = serde_json::to_string(&example().head()).unwrap();
        let write = |clusters: Vec<u32>, users: Vec<i64>| {
            let fields =
                vec![Field::new("user", DataType::Int64, false), Field::new("cluster", DataType::UInt32, false)];
            let mut rows = TableWriter::create(&path, FILE_TYPE, fields, &[("propensities", head.clone())]).unwrap();
            rows.write(vec![Arc::new(Int64Array::from(users)), Arc::new(UInt32Array::from(clusters))]).unwrap();
            rows.finish().unwrap();
            Propensities::read(&path)
        };
        let found = write(vec![2, 1, 2], vec![7, 8, 9]).unwrap();
        assert_eq!(found.by_user, [1.0, 0.5, 1.0, 0.2, 1.0, 0.5]);
        assert_eq!(found.details.clusters.unwrap().of_user, [1, 0, 1]);
        let refused = |clusters, users| write(clusters, users).unwrap_err().to_string();
        assert!(refused(vec![1, 3], vec![7, 8]).contains("cluster is 3, but should be between 1 and 2"));
        assert!(refused(vec![1, 1], vec![7, 7]).contains("user '7' has propensities twice, but needs them once"));
    }

    #[test]
    fn files_of_before_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let head = r#""type":"truerank/propensities","version":1,"method":"m","scale":"s","positions":2"#;
        let rest =
            r#""population":[1,0.5],"clusters":[[1,0.25]],"users":[{"user":1,"examination":[1,0.2],"cluster":1}]"#;
        std::fs::write(&path, format!("{{{head},{rest}}}")).unwrap();
        let found = Propensities::read(&path).unwrap();
        assert_eq!((found.by_user, found.details.clusters.unwrap().examination), (vec![1.0, 0.2], vec![1.0, 0.25]));
    }

    #[test]
    fn files_that_break_a_rule_are_refused_with_the_rule() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let whole = |rest: &str| {
            format!(r#"{{"type":"truerank/propensities","version":1,"method":"m","scale":"s","positions":2,{rest}}}"#)
        };
        let cases = [
            ("{".to_string(), "is not complete JSON"),
            ("{}".to_string(), "does not say that it is a truerank/propensities file"),
            (r#"{"type":"truerank/counts","version":1}"#.to_string(), "is a truerank/counts file"),
            (r#"{"type":"truerank/propensities","version":9}"#.to_string(), "has version 9"),
            (whole(r#""population":[1]"#), "population has 1 values, but positions is 2"),
            (whole(r#""population":[2,1]"#), "examination should be between 0 and 1, but is 2"),
            (
                whole(r#""population":[1,1],"users":[{"user":1,"examination":[-1,1]}]"#),
                "a user's examination should be finite and at least 0, but is -1",
            ),
            (
                whole(r#""population":[1,1],"users":[{"user":1,"examination":[1,1],"cluster":2}]"#),
                "the cluster of user number 1 should be between 1 and 0, but is 2",
            ),
            (
                whole(r#""population":[1,1],"users":[{"user":1,"examination":[1,1],"clicks":[1]}]"#),
                "evidence of user number 1 has 1 values, but positions is 2",
            ),
            (
                whole(
                    r#""population":[1,1],"users":[{"user":1,"examination":[1,1]},{"user":"1","examination":[1,0]}]"#,
                ),
                "user '1' has propensities twice, but needs them once",
            ),
        ];
        for (text, expected) in cases {
            std::fs::write(&path, text).unwrap();
            let message = Propensities::read(&path).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("p.json"), "{message}");
        }
    }
}
