//! Users by how deep they look, in a few groups that a person can take in.

use serde::Serialize;

use super::overview::AtPosition;
use super::relative::RelativeExamination;
use crate::counts::CountsView;

/// Users who look about equally deep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserGroup {
    /// How many users.
    pub users: u64,
    /// Their share of the sessions.
    pub sessions: f64,
    /// The mean position of their clicks on pages as all users see them.
    pub depth: f64,
    /// `θ(u,k)/θ̄(k)` of the group at each of the first positions: 1 is the average user.
    pub relative: Vec<f64>,
}

/// Groups at most.
const GROUPS: usize = 5;

/// Users sorted by depth and cut into groups with about equally many sessions.
pub(super) fn user_groups(
    counts: &dyn CountsView,
    positions: &[AtPosition],
    examination: &RelativeExamination,
) -> Vec<UserGroup> {
    let sessions = counts.sessions_per_user();
    let total: u64 = sessions.iter().sum();
    let mut users: Vec<(f64, usize)> =
        (0..sessions.len()).map(|user| (depth(user, positions, examination), user)).collect();
    users.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut groups: Vec<Vec<(f64, usize)>> = vec![Vec::new(); GROUPS.min(users.len())];
    let mut before = 0;
    for user in users {
        // The group in which the middle of the user's sessions falls.
        let middle = before as f64 + sessions[user.1] as f64 / 2.0;
        let group = (middle / total.max(1) as f64 * groups.len() as f64) as usize;
        before += sessions[user.1];
        groups[group.min(GROUPS - 1)].push(user);
    }
    groups.retain(|group| !group.is_empty());
    groups.iter().map(|group| summarize(group, &sessions, total, examination)).collect()
}

/// `Σ k·ctr(k)·r(u,k) / Σ ctr(k)·r(u,k)`.
fn depth(user: usize, positions: &[AtPosition], examination: &RelativeExamination) -> f64 {
    let (mut weighted, mut sum) = (0.0, 0.0);
    for at in positions.iter().filter(|at| at.position <= examination.positions()) {
        let clicks = at.click_rate() * examination.of_user(user, at.position);
        weighted += f64::from(at.position) * clicks;
        sum += clicks;
    }
    if sum > 0.0 { weighted / sum } else { 0.0 }
}

fn summarize(group: &[(f64, usize)], sessions: &[u64], total: u64, examination: &RelativeExamination) -> UserGroup {
    let of_group: f64 = group.iter().map(|&(_, user)| sessions[user] as f64).sum();
    let mean = |value: &dyn Fn(f64, usize) -> f64| -> f64 {
        group.iter().map(|&(depth, user)| sessions[user] as f64 * value(depth, user)).sum::<f64>() / of_group.max(1.0)
    };
    UserGroup {
        users: group.len() as u64,
        sessions: of_group / total.max(1) as f64,
        depth: mean(&|depth, _| depth),
        relative: (1..=examination.positions()).map(|k| mean(&|_, user| examination.of_user(user, k))).collect(),
    }
}
