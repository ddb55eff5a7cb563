//! Names that look like one that is not there, for messages.

use super::guess::plain;
use super::values::shown;

/// So many names are compared: a wider table is a wrong file.
const MOST: usize = 10_000;

/// So many characters of a name are compared.
const LONGEST: usize = 40;

/// The names of `found` that are like one of `wanted`, at most `count`, the closest first.
pub(super) fn closest(wanted: &[&str], found: &[String], count: usize) -> Vec<String> {
    let wanted: Vec<Vec<char>> = wanted.iter().map(|name| letters(name)).collect();
    let distance_of = |name: &String| {
        let name = letters(name);
        let is_like = |wanted: &&Vec<char>| 5 * distance(wanted, &name) <= 2 * wanted.len().max(name.len());
        wanted.iter().filter(is_like).map(|wanted| distance(wanted, &name)).min()
    };
    let names = found.iter().take(MOST);
    let mut by_distance: Vec<(usize, &String)> = names.filter_map(|name| Some((distance_of(name)?, name))).collect();
    // Stable: equally close names stay in the order of the file.
    by_distance.sort_by_key(|&(distance, _)| distance);
    by_distance.into_iter().take(count).map(|(_, name)| shown(name)).collect()
}

fn letters(name: &str) -> Vec<char> {
    plain(name).chars().take(LONGEST).collect()
}

/// How many letters must be added, removed or changed (Levenshtein); a name that starts or ends another is one step away.
fn distance(a: &[char], b: &[char]) -> usize {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if short.len() >= 3 && short.len() < long.len() && (long.starts_with(short) || long.ends_with(short)) {
        return 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_steps_between_names() {
        let steps = |a: &str, b: &str| distance(&letters(a), &letters(b));
        assert_eq!(
            [steps("dwell", "dwel"), steps("kitten", "sitting"), steps("", "ab"), steps("a", "a")],
            [1, 3, 2, 0]
        );
        // Spelling is no difference, and the beginning or end of a name is close to it.
        assert_eq!([steps("Dwell_Time", "dwell time"), steps("doc", "main_doc"), steps("pos", "exposure")], [0, 1, 5]);
    }

    #[test]
    fn the_closest_come_first_and_are_few() {
        let found: Vec<String> = ["price", "dwel_time", "time", "x", "dwelltime2", "y", "z"].map(String::from).to_vec();
        assert_eq!(closest(&["dwell_time"], &found, 2), ["dwel_time", "time"]);
        // What is nothing like it is not named.
        assert_eq!(closest(&["dwell_time"], &found, 99), ["dwel_time", "time", "dwelltime2"]);
    }
}
