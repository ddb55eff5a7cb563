//! Do users search for different things? Sessions per (query, user) enter, a test of their independence leaves.

use rand_distr::{Binomial, Distribution};
use serde::Serialize;

use super::differences::UPPER;
use super::permutation::{PermutationTest, permutation_test, shuffle};
use crate::Result;
use crate::counts::{CountsView, SessionCount};
use crate::progress::Progress;
use crate::random::{Random, stream};

/// Whether users and queries depend on each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependence {
    /// Pearson's χ² of the table of queries and users, against the same sessions with their users shuffled.
    #[serde(flatten)]
    pub test: PermutationTest,
    /// Cramér's V, with what chance makes of it taken off: 0 where all users search alike, 1 where the query names the user.
    pub strength: f64,
    /// How many sessions were looked at.
    pub sessions: u64,
    /// How many of them are of queries with several sessions: only those can tell anything.
    pub repeated: u64,
}

impl Dependence {
    /// What the correlation of anything of users with anything of queries is at most, with 95 % confidence: `√(χ²/N)`, without what chance
    /// makes of it.
    pub(super) fn correlation_at_most(&self) -> f64 {
        let excess = (self.test.statistic - self.test.by_chance).max(0.0) + UPPER * self.test.deviation;
        (excess / self.sessions as f64).sqrt().min(1.0)
    }
}

/// Sessions looked at, at most: enough to see any dependence that would matter, in seconds.
const SESSIONS: usize = 100_000;

/// Sessions of one query, at most: a few popular queries should not be all that is looked at.
const SESSIONS_PER_QUERY: u64 = 2_000;

/// The test, or nothing where there is one user or one query.
///
/// Users are shuffled over all sessions, so nothing is assumed of how often people search or how popular queries are.
/// Of long logs a random part of the queries is taken, with all their sessions or a random part of them.
pub(super) fn dependence(
    counts: &dyn CountsView,
    permutations: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Option<Dependence>> {
    let table = Table::sample(counts, seed)?;
    if table.ends.len() < 2 || table.per_user.len() < 2 {
        return Ok(None);
    }
    let observed = table.chi_squared(&table.users, &mut table.scratch());
    let shuffled = |random: &mut Random| {
        let mut users = table.users.clone();
        shuffle(&mut users, random);
        table.chi_squared(&users, &mut table.scratch())
    };
    let test = permutation_test(observed, permutations, (seed, "doctor/dependence"), shuffled, progress)?;
    Ok(Some(Dependence {
        strength: table.cramers_v(&test),
        sessions: table.users.len() as u64,
        repeated: table.repeated(),
        test,
    }))
}

/// Sessions as the user of each, those of a query side by side.
struct Table {
    users: Vec<u32>,
    /// Where each query's sessions end.
    ends: Vec<usize>,
    /// Sessions of each user.
    per_user: Vec<f64>,
}

impl Table {
    /// Queries in random order, until there are enough sessions.
    fn sample(counts: &dyn CountsView, seed: u64) -> Result<Self> {
        let sessions = counts.sessions_per_query();
        let mut queries: Vec<u32> = (0..sessions.len() as u32).filter(|&query| sessions[query as usize] > 0).collect();
        let mut random = stream(seed, "doctor/sample", 0);
        shuffle(&mut queries, &mut random);
        // How many sessions of a large query are drawn is chance: some more queries are fetched, and all if they are few.
        let (mut expected, mut fetched) = (0, 0);
        while fetched < queries.len() && expected < 2 * SESSIONS as u64 {
            expected += sessions[queries[fetched] as usize].min(SESSIONS_PER_QUERY);
            fetched += 1;
        }
        let of_queries = sessions_of(counts, &queries[..fetched])?;
        let mut table = Table { users: Vec::new(), ends: Vec::new(), per_user: Vec::new() };
        for query in &of_queries {
            if table.users.len() >= SESSIONS {
                break;
            }
            table.push(query, &mut random);
        }
        table.number_users();
        Ok(table)
    }

    /// Numbers users anew, as a table has room for each: those of a sample are few, whatever the log has.
    fn number_users(&mut self) {
        let mut known = self.users.clone();
        known.sort_unstable();
        known.dedup();
        self.per_user = vec![0.0; known.len()];
        for user in &mut self.users {
            *user = known.partition_point(|other| other < user) as u32;
            self.per_user[*user as usize] += 1.0;
        }
    }

    fn push(&mut self, query: &[SessionCount], random: &mut Random) {
        let sessions: u64 = query.iter().map(|count| count.sessions).sum();
        for count in query {
            let kept = thin(count.sessions, sessions, random);
            self.users.extend(std::iter::repeat_n(count.user, kept as usize));
        }
        self.ends.push(self.users.len());
    }

    /// Sessions of queries with several sessions.
    fn repeated(&self) -> u64 {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| (end - start) as u64).filter(|&sessions| sessions > 1).sum()
    }

    fn scratch(&self) -> Vec<f64> {
        vec![0.0; self.per_user.len()]
    }

    /// `χ² = N Σ n(q,u)²/(n(q) n(u)) − N`; `seen` is zero for every user, before and after.
    fn chi_squared(&self, users: &[u32], seen: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        let mut start = 0;
        for &end in &self.ends {
            let mut of_query = 0.0;
            for &user in &users[start..end] {
                // (n+1)² − n².
                of_query += (2.0 * seen[user as usize] + 1.0) / self.per_user[user as usize];
                seen[user as usize] += 1.0;
            }
            users[start..end].iter().for_each(|&user| seen[user as usize] = 0.0);
            sum += of_query / (end - start).max(1) as f64;
            start = end;
        }
        (sum - 1.0) * self.users.len() as f64
    }

    fn cramers_v(&self, test: &PermutationTest) -> f64 {
        let most = self.per_user.len().min(self.ends.len()).saturating_sub(1).max(1) as f64 * self.users.len() as f64;
        ((test.statistic - test.by_chance).max(0.0) / (most - test.by_chance).max(f64::MIN_POSITIVE)).sqrt().min(1.0)
    }
}

/// The sessions of each of `queries`.
fn sessions_of(counts: &dyn CountsView, queries: &[u32]) -> Result<Vec<Vec<SessionCount>>> {
    let mut place = vec![None; counts.queries().len()];
    queries.iter().enumerate().for_each(|(index, &query)| place[query as usize] = Some(index));
    let mut found = vec![Vec::new(); queries.len()];
    counts.for_each_sessions(|sessions| {
        for of_query in sessions.chunk_by(|a, b| a.query == b.query) {
            if let Some(place) = place[of_query[0].query as usize] {
                found[place] = of_query.to_vec();
            }
        }
    })?;
    Ok(found)
}

/// How many of a user's sessions of a query are looked at.
fn thin(sessions: u64, of_query: u64, random: &mut Random) -> u64 {
    if of_query <= SESSIONS_PER_QUERY {
        return sessions;
    }
    let share = SESSIONS_PER_QUERY as f64 / of_query as f64;
    Binomial::new(sessions, share).map_or(sessions, |binomial| binomial.sample(random))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::ids::Ids;
    use crate::progress::Silent;

    fn counts(rows: &[(u32, u32, u64)]) -> Counts {
        let most = |of: fn(&(u32, u32, u64)) -> u32| Ids::numbered(rows.iter().map(of).max().unwrap_or(0) as usize + 1);
        Counts {
            queries: most(|row| row.0),
            users: most(|row| row.1),
            sessions: rows.iter().map(|&(query, user, sessions)| SessionCount { query, user, sessions }).collect(),
            ..Counts::default()
        }
    }

    #[test]
    fn the_statistic_is_pearsons() {
        // Rows (10, 20), (30, 20): expected 15, 15, 25, 25.
        let table = Table::sample(&counts(&[(0, 0, 10), (0, 1, 20), (1, 0, 30), (1, 1, 20)]), 1).unwrap();
        let expected = 2.0 * 5.0f64.powi(2) / 15.0 + 2.0 * 5.0f64.powi(2) / 25.0;
        let found = table.chi_squared(&table.users, &mut table.scratch());
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn queries_of_their_own_are_found_and_shared_ones_are_not() {
        let own = dependence(&counts(&[(0, 0, 40), (1, 1, 40), (2, 2, 40)]), 999, 1, &Silent).unwrap().unwrap();
        assert_eq!(own.test.p, 1.0 / 1000.0);
        assert!(own.strength > 0.95, "{own:?}");
        let same: Vec<_> = (0..40).flat_map(|query| (0..3).map(move |user| (query, user, 5))).collect();
        let same = dependence(&counts(&same), 999, 1, &Silent).unwrap().unwrap();
        assert!(same.test.p > 0.5 && same.strength < 0.05, "{same:?}");
    }

    #[test]
    fn one_user_or_one_query_cannot_depend() {
        assert_eq!(dependence(&counts(&[(0, 0, 5), (1, 0, 5)]), 99, 1, &Silent).unwrap(), None);
        assert_eq!(dependence(&counts(&[(0, 0, 5), (0, 1, 5)]), 99, 1, &Silent).unwrap(), None);
    }

    #[test]
    fn long_logs_are_sampled() {
        let rows: Vec<_> = (0..500).flat_map(|query| (0..2).map(move |user| (query, user, 1_000_000))).collect();
        let found = dependence(&counts(&rows), 99, 1, &Silent).unwrap().unwrap();
        assert!((SESSIONS as u64..SESSIONS as u64 + 2 * SESSIONS_PER_QUERY).contains(&found.sessions), "{found:?}");
    }
}
