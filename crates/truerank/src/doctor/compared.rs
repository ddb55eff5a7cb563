//! The users of a log whose ratios are looked at: counts enter, those of all users or of a random part of them leave.

use crate::Result;
use crate::counts::{Cell, Counts, CountsView, SessionCount};
use crate::ids::Ids;
use crate::random::fraction;

/// Cells that users are compared on, about: enough to tell the size of a bias to a few percent of itself, in seconds. Fewer in tests.
const CELLS: u64 = if cfg!(test) { 40_000 } else { 4_000_000 };

/// Users that a random part of them should have; where that would leave fewer, a part of the queries is taken instead.
const ENOUGH_USERS: f64 = 1000.0;

/// Tells this choice from others by the same seed.
const PURPOSE: u64 = u64::MAX - 2;

/// Of long logs, the counts of a random part of the users, numbered anew, or where users are few of the queries; nothing where all are taken.
///
/// Users are taken with all that they saw, so that as much is known of each as in the whole log.
pub(super) fn compared_part(counts: &dyn CountsView, seed: u64) -> Result<Option<Counts>> {
    let share = CELLS as f64 / counts.totals().cells.max(1) as f64;
    if share >= 1.0 {
        return Ok(None);
    }
    let by_users = share * counts.users().len() as f64 >= ENOUGH_USERS;
    let chosen = |number: u32| fraction(seed, u64::from(number), PURPOSE) < share;
    let users: Vec<u32> = (0..counts.users().len() as u32).filter(|&user| !by_users || chosen(user)).collect();
    let mut number = vec![None; counts.users().len()];
    users.iter().zip(0u32..).for_each(|(&user, new)| number[user as usize] = Some(new));
    let mut part = Counts { users: Ids::numbered(users.len()), ..Counts::default() };
    let number_of = |query: u32, user: u32| number[user as usize].filter(|_| by_users || chosen(query));
    counts.for_each_block(|cells, sessions| {
        for cell in cells {
            part.cells.extend(number_of(cell.query, cell.user).map(|user| Cell { user, ..*cell }));
        }
        for count in sessions {
            let user = number_of(count.query, count.user);
            part.sessions.extend(user.map(|user| SessionCount { user, ..*count }));
        }
    })?;
    Ok(Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of `users` saw one document of each of `queries`.
    fn counts(users: u32, queries: u32) -> Counts {
        let all = (0..queries).flat_map(|query| (0..users).map(move |user| (query, user)));
        let cell = |(query, user)| Cell { query, doc: 0, position: 1, user, impressions: 1, clicks: 0 };
        let sessions = |(query, user)| SessionCount { query, user, sessions: 1 };
        Counts {
            queries: Ids::numbered(queries as usize),
            users: Ids::numbered(users as usize),
            cells: all.clone().map(cell).collect(),
            sessions: all.map(sessions).collect(),
            ..Counts::default()
        }
    }

    #[test]
    fn of_long_logs_whole_users_are_taken_or_where_they_are_few_whole_queries() {
        assert!(compared_part(&counts(40, 1000), 1).unwrap().is_none());
        let many = compared_part(&counts(8000, 10), 1).unwrap().unwrap();
        assert!((3500..4500).contains(&many.users.len()), "{}", many.users.len());
        assert!(
            many.sessions_per_user().iter().all(|&sessions| sessions == 10) && many.cells.len() == many.sessions.len()
        );
        let few = compared_part(&counts(100, 1000), 1).unwrap().unwrap();
        assert_eq!(few.users.len(), 100);
        assert!(few.sessions.chunk_by(|a, b| a.query == b.query).all(|of_query| of_query.len() == 100));
        assert!((30_000..50_000).contains(&few.cells.len()), "{}", few.cells.len());
    }
}
