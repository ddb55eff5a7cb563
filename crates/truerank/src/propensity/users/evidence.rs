//! What each user did at each position, given the documents' relevance: the likelihood of θ(u,k).

use std::borrow::Cow;
use std::ops::Range;

use rand_distr::{Binomial, Distribution};
use rayon::prelude::*;

use super::super::observations::{Observed, Part};
use super::misses::{Miss, Misses, UserMisses};
use crate::random::{Random, stream};
use crate::{Error, Result};

/// Users worked on by one task: fixed, so that sums do not depend on the number of threads.
const USERS_PER_CHUNK: usize = 128;

/// Entries of observations read by one task.
const PIECE: usize = 1 << 15;

/// A certainly relevant document that is passed over would make θ = 1 impossible by one slip; this leaves it unlikely.
const MOST_RELEVANCE: f64 = 1.0 - 1e-9;

/// Factors of at least `1 − MOST_RELEVANCE` whose product is still far from underflow.
const FACTORS_PER_LOG: u32 = 24;

/// The bounds of an examination probability that is fitted: inside (0, 1), so that every log-likelihood is finite.
pub(crate) const EXAMINATION_BOUNDS: (f64, f64) = (1e-6, 1.0 - 1e-9);

/// The likelihood of every θ(u,k), for given relevance γ of the documents.
///
/// In the position-based model a click has probability θγ. Clicks of user `u` at position `k` (a *slot*) say, up to a
/// factor without θ, `L_uk(θ) = θ^C · Π (1 − θγ)^m`, with `C` clicks and `m` impressions without a click on documents
/// of relevance γ. `log L_uk` is concave in θ. Clicks are in memory; misses are where the observations are, and
/// [`by_chunks`](UserEvidence::by_chunks) brings those of some users at a time.
#[derive(Debug)]
pub(crate) struct UserEvidence {
    pub users: usize,
    pub positions: usize,
    /// Clicks of each slot `user · positions + position − 1`.
    clicks: Vec<f64>,
    /// Impressions of each slot.
    impressions: Vec<f64>,
    /// Chunk after chunk of users.
    misses: Misses,
}

/// The evidence about the users of one chunk.
pub(crate) struct ChunkEvidence<'a> {
    evidence: &'a UserEvidence,
    pub users: Range<usize>,
    misses: Cow<'a, UserMisses>,
}

/// The first two derivatives of a log-likelihood.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Slopes {
    pub first: f64,
    pub second: f64,
}

impl UserEvidence {
    /// Collects what `observations` with a group for every user say, for documents of the given `relevance`.
    pub fn new(observations: &dyn Observed, relevance: &[f64]) -> Result<Self> {
        check_relevance(observations, relevance)?;
        let slots = observations.slot_count();
        let mut evidence = UserEvidence {
            users: observations.groups(),
            positions: observations.positions(),
            clicks: vec![0.0; slots],
            impressions: vec![0.0; slots],
            misses: Misses::new(observations.room())?,
        };
        let entries = evidence.sum(observations)?;
        for users in evidence.portions(&entries) {
            let misses = evidence.collect(observations, relevance, users.clone())?;
            evidence.store(users, &misses)?;
        }
        Ok(evidence)
    }

    /// Sums clicks and impressions; returns how many entries each user has.
    fn sum(&mut self, observations: &dyn Observed) -> Result<Vec<usize>> {
        let mut entries = vec![0; self.users];
        for docs in observations.pieces(PIECE) {
            let part = observations.part(docs.clone())?;
            for (slot, clicks, misses) in docs.flat_map(|doc| part.of(doc).iter()) {
                self.clicks[slot] += clicks;
                self.impressions[slot] += clicks + misses;
                entries[slot / self.positions] += 1;
            }
        }
        Ok(entries)
    }

    /// Users in ranges of whole chunks, as few as memory lets their misses be sorted at once.
    fn portions(&self, entries: &[usize]) -> Vec<Range<usize>> {
        let (mut portions, mut start, mut count) = (Vec::new(), 0, 0);
        for users in chunks(self.users) {
            let of_chunk: usize = entries[users.clone()].iter().sum();
            if users.start > start && count + of_chunk > self.misses.sortable() {
                portions.push(start..users.start);
                (start, count) = (users.start, 0);
            }
            count += of_chunk;
        }
        if start < self.users {
            portions.push(start..self.users);
        }
        portions
    }

    /// The misses of `users`, sorted by slot, then by relevance.
    fn collect(&self, observations: &dyn Observed, relevance: &[f64], users: Range<usize>) -> Result<Vec<(u32, Miss)>> {
        let slots = users.start * self.positions..users.end * self.positions;
        let of_part = |docs: Range<usize>, part: &Part<'_>| {
            let mut misses = Vec::new();
            for doc in docs {
                let relevance = relevance[doc].min(MOST_RELEVANCE);
                let of_users = part.of(doc).iter().filter(|(slot, ..)| slots.contains(slot));
                misses.extend(of_users.map(|(slot, _, count)| (slot as u32, Miss { relevance, count })));
            }
            // What is never relevant says nothing about examination.
            misses.retain(|(_, miss)| miss.count > 0.0 && miss.relevance > 0.0);
            misses
        };
        let mut misses: Vec<(u32, Miss)> = Vec::new();
        observations.map_pieces(&observations.pieces(PIECE), of_part, |of_part| misses.extend(of_part))?;
        misses.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.relevance.total_cmp(&b.1.relevance)));
        Ok(misses)
    }

    /// Appends the sorted misses of `users`, chunk after chunk.
    fn store(&mut self, users: Range<usize>, mut misses: &[(u32, Miss)]) -> Result<()> {
        for chunk in chunks(self.users).filter(|chunk| users.contains(&chunk.start)) {
            let slots = chunk.start * self.positions..chunk.end * self.positions;
            let (of_chunk, rest) = misses.split_at(misses.partition_point(|(slot, _)| (*slot as usize) < slots.end));
            self.misses.push(UserMisses::merged(slots, of_chunk))?;
            misses = rest;
        }
        Ok(())
    }

    /// The slots of a user, position 1 first.
    pub fn slots_of(&self, user: usize) -> Range<usize> {
        user * self.positions..(user + 1) * self.positions
    }

    fn chunk(&self, index: usize) -> Result<ChunkEvidence<'_>> {
        let users = index * USERS_PER_CHUNK..((index + 1) * USERS_PER_CHUNK).min(self.users);
        Ok(ChunkEvidence { evidence: self, users, misses: self.misses.get(index)? })
    }

    /// What `work` makes of each chunk of users, in the order of users.
    pub fn by_chunks<T: Send>(&self, work: impl Fn(&ChunkEvidence<'_>) -> T + Sync) -> Result<Vec<T>> {
        let chunks = 0..self.users.div_ceil(USERS_PER_CHUNK);
        let made: Vec<Result<T>> = chunks.into_par_iter().map(|index| Ok(work(&self.chunk(index)?))).collect();
        made.into_iter().collect()
    }

    /// The θ(u,k) of greatest likelihood, user by user and nothing shared between them.
    ///
    /// Where a user was shown nothing, that of all users at the position. Users with few sessions get 0 or 1 more
    /// often than not: this is what shrinkage is measured against.
    #[cfg(test)]
    pub fn maximum_likelihood(&self) -> Vec<f64> {
        let population: Vec<f64> = (0..self.positions).map(|index| self.population_maximum(index)).collect();
        let of_slot = |chunk: &ChunkEvidence<'_>, slot: usize| match self.impressions[slot] > 0.0 {
            true => maximize(|theta| chunk.slopes(slot, theta)),
            false => population[slot % self.positions],
        };
        let of_chunk = |chunk: &ChunkEvidence<'_>| chunk.slots().map(|slot| of_slot(chunk, slot)).collect::<Vec<_>>();
        self.by_chunks(of_chunk).unwrap().concat()
    }

    /// The θ of greatest likelihood at position number `index` (from 0), if it is the same for all users.
    #[cfg(test)]
    fn population_maximum(&self, index: usize) -> f64 {
        maximize(|theta| {
            let of_chunk = |chunk: &ChunkEvidence<'_>| {
                chunk.users.clone().map(|user| chunk.slopes(user * self.positions + index, theta)).sum::<Slopes>()
            };
            self.by_chunks(of_chunk).unwrap().into_iter().sum()
        })
    }

    /// Divides the impressions into those kept and those held out, each held out with probability `share`.
    ///
    /// Impressions are exchangeable within a slot and relevance under the model, so the held-out clicks of a user are
    /// as good as new ones.
    pub fn thin(&self, share: f64, seed: u64) -> Result<(UserEvidence, UserEvidence)> {
        let (mut kept, mut held) = (self.empty()?, self.empty()?);
        let all: Vec<usize> = (0..self.users.div_ceil(USERS_PER_CHUNK)).collect();
        // A few at a time: bounds the memory.
        for few in all.chunks(rayon::current_num_threads().max(1)) {
            let drawn: Vec<Result<Thinned>> =
                few.par_iter().map(|&index| Ok(self.chunk(index)?.thin(share, seed))).collect();
            for thinned in drawn {
                let Thinned { kept: of_kept, held: of_held } = thinned?;
                kept.push(of_kept)?;
                held.push(of_held)?;
            }
        }
        Ok((kept, held))
    }

    /// The same users and positions, about whom nothing is known yet.
    fn empty(&self) -> Result<UserEvidence> {
        let misses = Misses::new(self.misses.room())?;
        let (users, positions) = (self.users, self.positions);
        Ok(UserEvidence { users, positions, clicks: Vec::new(), impressions: Vec::new(), misses })
    }

    /// Appends the evidence about the next chunk of users.
    fn push(&mut self, (clicks, misses): (Vec<f64>, UserMisses)) -> Result<()> {
        let sums = misses.sums();
        self.impressions.extend(clicks.iter().zip(sums).map(|(clicks, misses)| clicks + misses));
        self.clicks.extend(clicks);
        self.misses.push(misses)
    }
}

/// Clicks of each slot and misses of a chunk of users, in two parts.
struct Thinned {
    kept: (Vec<f64>, UserMisses),
    held: (Vec<f64>, UserMisses),
}

impl ChunkEvidence<'_> {
    /// The slots of a user, position 1 first.
    pub fn slots_of(&self, user: usize) -> Range<usize> {
        self.evidence.slots_of(user)
    }

    /// The slots of all its users.
    pub fn slots(&self) -> Range<usize> {
        self.users.start * self.evidence.positions..self.users.end * self.evidence.positions
    }

    /// How many documents were shown in a slot.
    pub fn impressions(&self, slot: usize) -> f64 {
        self.evidence.impressions[slot]
    }

    fn misses_of(&self, slot: usize) -> &[Miss] {
        self.misses.of(slot - self.users.start * self.evidence.positions)
    }

    /// Adds `log L(θ)` of a slot to `sums`, for each θ of `thetas`, all inside (0, 1).
    ///
    /// Single misses are multiplied and their logarithm taken once for many: users with few sessions have hardly any
    /// others, and a logarithm costs as much as a dozen products.
    pub fn add_log_likelihoods(&self, slot: usize, thetas: &[f64], sums: &mut [f64], room: &mut Vec<f64>) {
        room.clear();
        room.resize(thetas.len(), 1.0);
        let mut factors = 0;
        for miss in self.misses_of(slot) {
            if miss.count > 1.0 {
                let logs = thetas.iter().map(|theta| miss.count * (-theta * miss.relevance).ln_1p());
                sums.iter_mut().zip(logs).for_each(|(sum, log)| *sum += log);
                continue;
            }
            room.iter_mut().zip(thetas).for_each(|(product, theta)| *product *= 1.0 - theta * miss.relevance);
            factors += 1;
            if factors == FACTORS_PER_LOG {
                move_logs(room, sums);
                factors = 0;
            }
        }
        if factors > 0 {
            move_logs(room, sums);
        }
        let clicks = self.evidence.clicks[slot];
        if clicks > 0.0 {
            sums.iter_mut().zip(thetas).for_each(|(sum, theta)| *sum += clicks * theta.ln());
        }
    }

    /// Derivatives of `log L` of a slot at θ:
    /// `C/θ − Σ mγ/(1−θγ)` and `−C/θ² − Σ mγ²/(1−θγ)²`.
    pub fn slopes(&self, slot: usize, theta: f64) -> Slopes {
        let per_click = self.evidence.clicks[slot] / theta;
        let mut slopes = Slopes { first: per_click, second: -per_click / theta };
        for miss in self.misses_of(slot) {
            let ratio = miss.relevance / (1.0 - theta * miss.relevance);
            slopes.first -= miss.count * ratio;
            slopes.second -= miss.count * ratio * ratio;
        }
        slopes
    }

    fn thin(&self, share: f64, seed: u64) -> Thinned {
        let (mut kept, mut held) = ((Vec::new(), UserMisses::default()), (Vec::new(), UserMisses::default()));
        for user in self.users.clone() {
            let mut random = stream(seed, "held out", user as u64);
            for slot in self.slots_of(user) {
                let clicks = self.evidence.clicks[slot];
                let out = binomial(clicks, share, &mut random);
                kept.0.push(clicks - out);
                held.0.push(out);
            }
            for slot in self.slots_of(user) {
                for miss in self.misses_of(slot) {
                    let out = binomial(miss.count, share, &mut random);
                    kept.1.add(Miss { count: miss.count - out, ..*miss });
                    held.1.add(Miss { count: out, ..*miss });
                }
                kept.1.end_slot();
                held.1.end_slot();
            }
        }
        Thinned { kept, held }
    }
}

impl std::iter::Sum for Slopes {
    fn sum<I: Iterator<Item = Slopes>>(slopes: I) -> Slopes {
        slopes.fold(Slopes::default(), |sum, next| Slopes {
            first: sum.first + next.first,
            second: sum.second + next.second,
        })
    }
}

fn check_relevance(observations: &dyn Observed, relevance: &[f64]) -> Result<()> {
    let docs = observations.docs().len();
    if relevance.len() != docs {
        return Err(Error::parameter(format!("there should be {docs} relevances, but there are {}", relevance.len())));
    }
    match relevance.iter().find(|gamma| !(0.0..=1.0).contains(*gamma)) {
        Some(gamma) => Err(Error::parameter(format!("relevance should be between 0 and 1, but is {gamma}"))),
        None => Ok(()),
    }
}

fn move_logs(products: &mut [f64], sums: &mut [f64]) {
    for (product, sum) in products.iter_mut().zip(sums) {
        *sum += product.ln();
        *product = 1.0;
    }
}

fn binomial(trials: f64, share: f64, random: &mut Random) -> f64 {
    match trials > 0.0 {
        true => Binomial::new(trials as u64, share).expect("a checked share").sample(random) as f64,
        false => 0.0,
    }
}

/// The chunks of `0..users`.
fn chunks(users: usize) -> impl Iterator<Item = Range<usize>> {
    (0..users).step_by(USERS_PER_CHUNK).map(move |start| start..(start + USERS_PER_CHUNK).min(users))
}

/// What `work` makes of each chunk of `0..users`, in the order of users.
pub(crate) fn by_chunks<T: Send>(users: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    (0..users.div_ceil(USERS_PER_CHUNK))
        .into_par_iter()
        .map(|chunk| work(chunk * USERS_PER_CHUNK..((chunk + 1) * USERS_PER_CHUNK).min(users)))
        .collect()
}

/// Where a concave log-likelihood is greatest in [0, 1]: Newton's method, kept inside a shrinking bracket.
#[cfg(test)]
fn maximize(slopes: impl Fn(f64) -> Slopes) -> f64 {
    let (mut low, mut high) = EXAMINATION_BOUNDS;
    if slopes(low).first <= 0.0 {
        return 0.0;
    }
    if slopes(high).first >= 0.0 {
        return 1.0;
    }
    let mut theta = 0.5;
    for _ in 0..100 {
        let at = slopes(theta);
        if at.first > 0.0 {
            low = theta;
        } else {
            high = theta;
        }
        let newton = theta - at.first / at.second;
        let next = if low < newton && newton < high { newton } else { (low + high) / 2.0 };
        if (next - theta).abs() < 1e-12 {
            return next;
        }
        theta = next;
    }
    theta
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::super::observations::Observations;
    use super::*;
    use crate::counts::{Cell, Counts};
    use crate::ids::Ids;
    use proptest::prelude::*;

    /// Cells `(doc, position, user, impressions, clicks)` of one query as observations with every user a group.
    pub(crate) fn observe(users: usize, cells: &[(u32, u32, u32, u64, u64)]) -> Observations {
        let mut cells: Vec<Cell> = cells
            .iter()
            .map(|&(doc, position, user, impressions, clicks)| Cell {
                query: 0,
                doc,
                position,
                user,
                impressions,
                clicks,
            })
            .collect();
        cells.sort();
        Observations::of_users(&Counts { users: Ids::numbered(users), cells, ..Counts::default() })
    }

    fn likelihoods(evidence: &UserEvidence, slot: usize, thetas: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; thetas.len()];
        let chunk = evidence.chunk(slot / evidence.positions / USERS_PER_CHUNK).unwrap();
        chunk.add_log_likelihoods(slot, thetas, &mut sums, &mut Vec::new());
        sums
    }

    type Row = (u32, u32, u32, u64, u64);

    /// At most one cell for each of 6 documents, 3 positions and 4 users, and a relevance for each document.
    fn logs() -> impl Strategy<Value = (Vec<Row>, Vec<f64>)> {
        let row = (0u32..6, 1u32..=3, 0u32..4, 1u64..40, 0.0..=1.0f64);
        let rows = prop::collection::vec(row, 1..60).prop_map(|mut rows| {
            rows.sort_by_key(|row| (row.0, row.1, row.2));
            rows.dedup_by_key(|row| (row.0, row.1, row.2));
            rows.into_iter().map(|(d, k, u, n, share)| (d, k, u, n, (n as f64 * share) as u64)).collect::<Vec<_>>()
        });
        (rows, prop::collection::vec(0.0..=1.0f64, 6))
    }

    proptest! {
        #[test]
        fn the_likelihood_is_the_product_over_cells((rows, gammas) in logs(), theta in 0.001..0.999f64) {
            let observations = observe(4, &rows);
            let relevance: Vec<f64> = observations.docs.iter().map(|doc| gammas[doc.1 as usize]).collect();
            let evidence = UserEvidence::new(&observations, &relevance).unwrap();
            let mut expected = vec![0.0; evidence.users * evidence.positions];
            for &(doc, position, user, impressions, clicks) in &rows {
                let gamma = gammas[doc as usize];
                expected[user as usize * evidence.positions + position as usize - 1] +=
                    clicks as f64 * theta.ln() + (impressions - clicks) as f64 * (1.0 - theta * gamma).ln();
            }
            for (slot, expected) in expected.into_iter().enumerate() {
                let found = likelihoods(&evidence, slot, &[0.5, theta])[1];
                prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }

        #[test]
        fn thinning_keeps_totals((rows, gammas) in logs(), seed in 0u64..1000) {
            let observations = observe(4, &rows);
            let relevance: Vec<f64> = observations.docs.iter().map(|doc| gammas[doc.1 as usize]).collect();
            let evidence = UserEvidence::new(&observations, &relevance).unwrap();
            let (kept, held) = evidence.thin(0.2, seed).unwrap();
            for slot in 0..evidence.users * evidence.positions {
                let thetas = [0.3, 0.8];
                let parts = likelihoods(&kept, slot, &thetas).into_iter().zip(likelihoods(&held, slot, &thetas));
                for (whole, (kept, held)) in likelihoods(&evidence, slot, &thetas).into_iter().zip(parts) {
                    prop_assert!((whole - kept - held).abs() < 1e-9 * (1.0 + whole.abs()));
                }
                prop_assert_eq!(kept.clicks[slot] + held.clicks[slot], evidence.clicks[slot]);
            }
        }
    }

    #[test]
    fn a_fifth_is_held_out() {
        let observations = observe(1, &[(0, 1, 0, 100_000, 40_000)]);
        let (_, held) = UserEvidence::new(&observations, &[0.5]).unwrap().thin(0.2, 1).unwrap();
        assert!((held.impressions[0] - 20_000.0).abs() < 4.0 * (100_000f64 * 0.2 * 0.8).sqrt());
        assert!((held.clicks[0] - 8_000.0).abs() < 4.0 * (40_000f64 * 0.2 * 0.8).sqrt());
    }

    #[test]
    fn the_likeliest_examination_has_no_slope_and_ends_are_ends() {
        let rows = [(0, 1, 0, 30, 6), (1, 1, 0, 20, 9), (0, 1, 1, 9, 0), (0, 1, 2, 9, 9), (0, 2, 3, 5, 1)];
        let evidence = UserEvidence::new(&observe(4, &rows), &[0.4, 0.8]).unwrap();
        let theta = evidence.maximum_likelihood();
        let chunk = evidence.chunk(0).unwrap();
        assert!(chunk.slopes(0, theta[0]).first.abs() < 1e-6);
        // With one relevance, clicks are binomial and θ̂ = c / (nγ).
        assert!((theta[7] - 1.0 / (5.0 * 0.4)).abs() < 1e-9);
        assert_eq!((theta[2], theta[4]), (0.0, 1.0));
        // User 3 saw nothing at position 1, and gets what fits all users.
        let sum: Slopes = (0..3).map(|user| chunk.slopes(user * 2, theta[6])).sum();
        assert!(sum.first.abs() < 1e-6);
    }

    #[test]
    fn relevance_that_does_not_fit_is_refused() {
        let observations = observe(1, &[(0, 1, 0, 3, 1)]);
        let message = |relevance: &[f64]| UserEvidence::new(&observations, relevance).unwrap_err().to_string();
        assert_eq!(message(&[]), "there should be 1 relevances, but there are 0");
        assert_eq!(message(&[1.5]), "relevance should be between 0 and 1, but is 1.5");
        assert_eq!(message(&[f64::NAN]), "relevance should be between 0 and 1, but is NaN");
    }
}
