//! What only a simulation knows, and where it is written: beside the log, with a fingerprint that pairs both.

use std::path::{Path, PathBuf};

use super::browsing::browsing;
use super::cells::sorted_subset;
use super::{ShownLists, Simulation, Simulator};
use crate::Result;
use crate::click_model::{ClickModel, DocumentParameters, KnownUser, OfUsers, UserKind};
use crate::ids::Ids;
use crate::propensity::{Fit, Propensities};

/// Users whose truth is written as JSON at most.
const MOST_IN_JSON: usize = 100_000;

impl Simulation {
    /// Where the truth about a simulated log goes: that of `clicks.csv.gz` to `clicks.propensities.json`, of more than 100,000 users
    /// to `clicks.propensities.parquet`, or where clicks did not come from the position-based model to `clicks.click-model.json`.
    pub fn truth_path(&self, log: &Path) -> PathBuf {
        let name = log.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.split_once('.').map_or(name.as_str(), |(stem, _)| stem);
        let users = self.depths().map_or(0, |depths| depths.len()) * self.users_per_cluster;
        let what = match self.is_position_based() {
            true if users > MOST_IN_JSON => "propensities.parquet",
            true => "propensities.json",
            false => "click-model.json",
        };
        log.with_file_name(format!("{stem}.{what}"))
    }
}

impl Simulator<'_> {
    /// What is simulated.
    pub fn settings(&self) -> &Simulation {
        &self.settings
    }

    /// Writes the truth beside the log, or the folder of counts, that was written before.
    pub fn write_truth(&self, log: &Path) -> Result<PathBuf> {
        let path = self.settings.truth_path(log);
        match self.settings.is_position_based() {
            true => self.propensities().write_beside(&path, log)?,
            false => self.click_model().write_beside(&path, log)?,
        }
        Ok(path)
    }

    /// `θ(k) = k^−η` of each user, and of the population by the clusters' shares of sessions: what an oracle knows of the
    /// position-based model. In `trust` it is examination too; for all others the truth is [`click_model`](Self::click_model).
    pub fn propensities(&self) -> Propensities {
        let mut population = vec![0.0; self.longest];
        let mut by_user = Vec::with_capacity(self.users.len() * self.longest);
        for (user, &eta) in self.depths.iter().enumerate() {
            let share = self.share(user / self.settings.users_per_cluster);
            for (k, sum) in (1..).zip(&mut population) {
                let theta = f64::from(k).powf(-eta);
                *sum += share * theta;
                by_user.push(theta);
            }
        }
        Propensities {
            method: "oracle".to_string(),
            scale: "true probabilities of the simulation".to_string(),
            // A sum of shares may exceed 1 by rounding.
            population: population.into_iter().map(|theta| theta.min(1.0)).collect(),
            users: self.user_ids(),
            by_user,
            ..Propensities::default()
        }
    }

    /// The share of all sessions that a user of a cluster has.
    fn share(&self, cluster: usize) -> f64 {
        let all = self.settings.sessions as f64 * self.settings.users_per_cluster as f64;
        self.cluster_sessions[cluster] as f64 / all
    }

    /// How every user browses, and relevance and satisfaction of every document that can be shown: what an oracle knows.
    ///
    /// Clusters are the kinds of users; their shares are those of sessions.
    pub fn click_model(&self) -> ClickModel {
        let mean = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let (queries, docs, documents) = self.documents();
        ClickModel {
            kinds: self.kinds(),
            users: self.user_ids(),
            of_users: OfUsers::Known((0..self.users.len()).map(|user| self.known_user(user)).collect()),
            contexts: Ids::default(),
            of_contexts: Vec::new(),
            queries,
            docs,
            documents,
            unseen_attraction: mean(&self.relevance).into_iter().collect(),
            unseen_satisfaction: mean(&self.satisfaction).into_iter().collect(),
            fit: Fit { log_likelihood: Vec::new(), converged: true },
            notes: vec!["the truth of a simulation; shares of kinds are shares of sessions".to_string()],
        }
    }

    fn kinds(&self) -> Vec<UserKind> {
        let kind = |(cluster, &eta): (usize, &f64)| UserKind {
            browsing: browsing(self.settings.model_of_cluster(cluster), eta, self.longest),
            share: self.cluster_sessions[cluster] as f64 / self.settings.sessions as f64,
            users: self.settings.users_per_cluster,
        };
        self.settings.etas.iter().enumerate().map(kind).collect()
    }

    fn known_user(&self, user: usize) -> KnownUser {
        let cluster = user / self.settings.users_per_cluster;
        let differs = self.depths[user] != self.settings.etas[cluster];
        KnownUser { kind: cluster as u32, values: differs.then(|| self.users[user].values.clone()) }
    }

    /// The documents of all lists, with ids in their natural order.
    fn documents(&self) -> (Ids, Ids, Vec<DocumentParameters>) {
        let of_logger = |lists: &'_ ShownLists| -> Vec<(u32, u32)> {
            let rows = |query: usize| lists.of(query).iter().map(move |&row| (query as u32, row));
            (0..lists.query_count()).flat_map(rows).collect()
        };
        let mut shown: Vec<(u32, u32)> = self.lists.iter().flat_map(of_logger).collect();
        shown.sort_unstable();
        shown.dedup();
        let doc = |row: u32| self.doc_of_row[row as usize];
        let (queries, query_number) = sorted_subset(self.queries, shown.iter().map(|(query, _)| *query));
        let (docs, doc_number) = sorted_subset(&self.docs, shown.iter().map(|(_, row)| doc(*row)));
        let parameters = |&(query, row): &(u32, u32)| DocumentParameters {
            query: query_number[query as usize],
            doc: doc_number[doc(row) as usize],
            attraction: self.relevance[row as usize],
            satisfaction: self.satisfaction.get(row as usize).copied(),
        };
        let mut documents: Vec<DocumentParameters> = shown.iter().map(parameters).collect();
        documents.sort_by_key(|document| (document.query, document.doc));
        documents.dedup_by_key(|document| (document.query, document.doc));
        (queries, docs, documents)
    }
}
