//! Pieces in plain words, and what would connect them.

use std::collections::BTreeMap;
use std::fmt;

use super::{Grouping, Identifiability, Links, sorted_distinct};
use crate::ids::Ids;

/// The most kinds of pieces that are named one by one.
const MOST_LINES: usize = 6;

/// The most users, or pairs of positions to swap, that are named one by one.
const MOST_NAMES: usize = 3;

impl fmt::Display for Identifiability {
    /// One line: whether all hangs together, and if not, in how many pieces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pieces.as_slice() {
            [] => f.write_str("there are no clicks"),
            [piece] => write!(f, "{} can be compared", positions_text(&piece.positions())),
            _ if self.nothing_connects_positions() => f.write_str("no two positions can be compared"),
            pieces => write!(f, "the clicks fall into {} pieces that nothing compares", pieces.len()),
        }
    }
}

impl Identifiability {
    /// What a user should know before θ is fitted: the pieces, and what would connect them.
    ///
    /// Empty where there is nothing to say. `users` are those of the counts that were checked.
    pub fn explain(&self, users: &Ids) -> Vec<String> {
        let mut lines = Vec::new();
        if self.pieces.is_empty() {
            return vec!["there are no clicks, so nothing is known about who looks where".to_string()];
        }
        if self.nothing_connects_positions() {
            lines.push(format!(
                "no two positions can be compared, as {} was seen at two of them: clicks cannot tell examination from \
                 relevance",
                self.nothing_shared()
            ));
        } else if !self.is_connected() {
            lines.push(self.headline());
            lines.extend(self.smaller_pieces(users));
        }
        if !self.is_connected() {
            lines.push(self.way_out());
        }
        lines
    }

    fn nothing_shared(&self) -> &'static str {
        match self.linking {
            Links::Documents => "no clicked document",
            Links::Vectors => "no clicked document or feature vector",
            Links::Regression => "no clicked document or like features",
        }
    }

    fn headline(&self) -> String {
        let pieces = self.pieces.len();
        if self.grouping == Grouping::Population {
            // Pieces of one group are pieces of positions, so there are few of them.
            let names: Vec<String> = self.position_pieces.iter().map(|piece| positions_text(piece)).collect();
            return format!(
                "the clicks fall into {pieces} pieces that nothing compares, each with a scale of its own: {}",
                names.join("; ")
            );
        }
        let total: u64 = self.pieces.iter().map(|piece| piece.impressions).sum();
        let share = 100.0 * self.pieces[0].impressions as f64 / total as f64;
        format!(
            "the clicks fall into {pieces} pieces that nothing compares, each with a scale of its own; the largest has \
             {} of {} {} and {share:.0} % of the impressions",
            positions_text(&self.pieces[0].positions()),
            self.pieces[0].groups().len(),
            self.group_word(self.pieces[0].groups().len()),
        )
    }

    /// One line for the pieces of the same positions, those of the most users first.
    fn smaller_pieces(&self, users: &Ids) -> Vec<String> {
        if self.grouping == Grouping::Population {
            return Vec::new();
        }
        let mut by_positions: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for piece in &self.pieces[1..] {
            by_positions.entry(piece.positions()).or_default().extend(piece.groups());
        }
        let mut kinds: Vec<(Vec<u32>, Vec<u32>)> = by_positions
            .into_iter()
            .map(|(positions, groups)| (positions, sorted_distinct(groups.into_iter())))
            .collect();
        kinds.sort_by_key(|(_, groups)| std::cmp::Reverse(groups.len()));
        let line = |(positions, groups): &(Vec<u32>, Vec<u32>)| {
            let verb = if groups.len() == 1 { "shares" } else { "share" };
            let whom = self.groups_text(groups, users);
            format!("{whom} {verb} {} with the rest at {}", self.nothing_shared(), positions_text(positions))
        };
        let mut lines: Vec<String> = kinds.iter().take(MOST_LINES).map(line).collect();
        if kinds.len() > MOST_LINES {
            lines.push(format!("and so on for {} more sets of positions", kinds.len() - MOST_LINES));
        }
        lines
    }

    fn group_word(&self, count: usize) -> &'static str {
        match (self.grouping, count) {
            (Grouping::Users, 1) => "user",
            (Grouping::Users, _) => "users",
            (_, 1) => "group",
            _ => "groups",
        }
    }

    /// Such as `users 17, 23, 31 and 410 others`.
    fn groups_text(&self, groups: &[u32], users: &Ids) -> String {
        let name = |&group: &u32| match (self.grouping, users) {
            (Grouping::Users, Ids::Integers(values)) => values[group as usize].to_string(),
            (Grouping::Users, Ids::Texts(texts)) => format!("{:?}", texts.get(group as usize)),
            _ => (group + 1).to_string(),
        };
        // One more than the limit is not worth "and 1 other".
        let named = if groups.len() <= MOST_NAMES + 1 { groups.len() } else { MOST_NAMES };
        let names: Vec<String> = groups[..named].iter().map(name).collect();
        let word = self.group_word(groups.len());
        match groups.len() - named {
            0 => format!("{word} {}", enumerate(&names)),
            others => format!("{word} {} and {others} others", names.join(", ")),
        }
    }

    /// What would connect the pieces.
    fn way_out(&self) -> String {
        let mut ways = Vec::new();
        if !self.positions_connected() {
            ways.push(self.swaps());
            ways.push("show the lists of several rankers".to_string());
        } else if self.grouping != Grouping::Population {
            ways.push("log queries that these users have in common with the rest".to_string());
            ways.push("estimate larger groups of users".to_string());
        }
        match self.linking {
            Links::Documents => ways.push("pass features of the documents".to_string()),
            Links::Vectors => ways.push("let a regression on the features predict relevance".to_string()),
            Links::Regression => {}
        }
        let last = ways.pop().expect("pieces of positions, or of users");
        if ways.is_empty() {
            return format!("to connect them, {last}");
        }
        format!("to connect them, {}, or {last}", ways.join(", "))
    }

    /// The swaps of neighbours that would connect the positions.
    fn swaps(&self) -> String {
        let mut positions = self.position_pieces.concat();
        positions.sort_unstable();
        // The first position of each piece but the first has its lower neighbour in another piece.
        let pairs: Vec<String> = positions
            .windows(2)
            .filter(|pair| self.position_pieces.iter().any(|piece| piece[0] == pair[1]))
            .map(|pair| format!("{} and {}", pair[0], pair[1]))
            .collect();
        match pairs.len() <= MOST_NAMES {
            true => format!("swap positions {} in a share of sessions", pairs.join(", positions ")),
            false => format!("swap position {} with a random other one in a share of sessions", positions[0]),
        }
    }

    /// Where there are no clicks, so that θ is estimated at 0 unless something pulls it up.
    pub fn explain_silent(&self) -> Option<String> {
        let silent = || (1..).zip(self.silent.iter().copied()).filter(|(_, slots)| *slots > 0);
        silent().next()?;
        let clicked = self.position_pieces.concat();
        let nowhere: Vec<u32> = silent().map(|(position, _)| position).filter(|p| !clicked.contains(p)).collect();
        let mut parts = Vec::new();
        if !nowhere.is_empty() {
            let verb = if nowhere.len() == 1 { "has" } else { "have" };
            parts.push(format!("{} {verb} no clicks at all", positions_text(&nowhere)));
        }
        let others: u64 = silent().filter(|(position, _)| !nowhere.contains(position)).map(|(_, slots)| slots).sum();
        if others > 0 {
            let all = others + self.pieces.iter().map(|piece| piece.slots.len() as u64).sum::<u64>();
            let word = self.group_word(1);
            parts.push(format!("{others} of {all} pairs of a {word} and a position have no clicks"));
        }
        Some(format!("{}: examination there is estimated at 0", parts.join(", and ")))
    }
}

/// Such as `position 3` or `positions 1–3, 5 and 7–10`. Expects sorted positions.
fn positions_text(positions: &[u32]) -> String {
    let runs: Vec<String> = positions
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [only] => only.to_string(),
            [first, .., last] => format!("{first}–{last}"),
            [] => String::new(),
        })
        .collect();
    format!("{} {}", if positions.len() == 1 { "position" } else { "positions" }, enumerate(&runs))
}

/// `a`, `a and b`, `a, b and c`.
fn enumerate(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}
