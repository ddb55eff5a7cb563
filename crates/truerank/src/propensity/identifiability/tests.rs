use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::counts::Counts;
use crate::data::{Dataset, DatasetBuilder};
use crate::ids::Ids;
use crate::random::stream;

/// Counts of (query, document, position, user, clicks) with 10 impressions each.
fn counts(cells: &[(u32, u32, u32, u32, u64)]) -> Counts {
    let most = |value: fn(&(u32, u32, u32, u32, u64)) -> u32| cells.iter().map(value).max().map_or(0, |most| most + 1);
    let mut sorted: Vec<Cell> = cells
        .iter()
        .map(|&(query, doc, position, user, clicks)| Cell { query, doc, position, user, impressions: 10, clicks })
        .collect();
    sorted.sort_unstable();
    sorted.dedup_by_key(|cell| (cell.query, cell.doc, cell.position, cell.user));
    Counts {
        queries: Ids::numbered(most(|cell| cell.0) as usize),
        docs: Ids::numbered(most(|cell| cell.1) as usize),
        users: Ids::numbered(most(|cell| cell.3) as usize),
        cells: sorted,
        ..Counts::default()
    }
}

/// One list of documents 0, 1, … for each of `queries`, in that order.
fn fixed(queries: std::ops::Range<u32>, length: u32, user: u32) -> Vec<(u32, u32, u32, u32, u64)> {
    queries.flat_map(|query| (0..length).map(move |doc| (query, doc, doc + 1, user, 3))).collect()
}

fn of(counts: &Counts, groups: Groups<'_>) -> Identifiability {
    Identifiability::of(&Joined::new(counts, None), groups, Links::Documents).unwrap()
}

/// `length` documents for each query, with one feature given by query and document.
fn data(queries: usize, length: usize, feature: impl Fn(usize, usize) -> f32) -> Dataset {
    DatasetBuilder {
        features: (0..queries * length).map(|row| feature(row / length, row % length)).collect(),
        feature_count: 1,
        grades: None,
        queries: Ids::numbered(queries),
        query_ends: (1..=queries).map(|query| query * length).collect(),
        docs: None,
    }
    .build()
    .unwrap()
}

#[test]
fn one_fixed_ranking_compares_no_positions() {
    let counts = counts(&fixed(0..20, 10, 0));
    let found = of(&counts, Groups::Population);
    assert_eq!(found.pieces.len(), 10);
    assert!(found.nothing_connects_positions() && !found.positions_connected());
    assert_eq!(found.to_string(), "no two positions can be compared");
    assert_eq!(
        found.explain(&counts.users),
        [
            "no two positions can be compared, as no clicked document was seen at two of them: clicks cannot tell \
             examination from relevance",
            "to connect them, swap position 1 with a random other one in a share of sessions, show the lists of several \
             rankers, or pass features of the documents"
        ]
    );
}

#[test]
fn swaps_connect_what_they_swap() {
    let mut cells = fixed(0..3, 6, 0);
    cells.extend([(0, 0, 2, 0, 1), (0, 1, 3, 0, 1), (1, 3, 5, 0, 1), (2, 4, 6, 0, 1)]);
    let swapped = counts(&cells);
    let found = of(&swapped, Groups::Population);
    assert!(!found.is_connected() && !found.nothing_connects_positions());
    assert_eq!(
        found.explain(&swapped.users),
        [
            "the clicks fall into 2 pieces that nothing compares, each with a scale of its own: positions 1–3; \
             positions 4–6",
            "to connect them, swap positions 3 and 4 in a share of sessions, show the lists of several rankers, or pass \
             features of the documents"
        ]
    );
    cells.push((0, 2, 4, 0, 1));
    let found = of(&counts(&cells), Groups::Population);
    assert!(found.is_connected() && found.positions_connected());
    assert_eq!(found.to_string(), "positions 1–6 can be compared");
    assert!(found.explain(&counts(&cells).users).is_empty());
}

#[test]
fn shuffled_lists_connect_all() {
    let mut random = stream(1, "test", 0);
    let mut cells = Vec::new();
    for query in 0..30 {
        cells.extend((0..10).map(|position| (query, random.random_range(0..4), position + 1, query % 5, 2)));
    }
    assert!(of(&counts(&cells), Groups::Population).is_connected());
}

#[test]
fn users_without_common_queries_are_named() {
    let mut cells = fixed(0..2, 2, 0);
    cells.push((0, 0, 2, 0, 1));
    cells.extend(fixed(0..3, 2, 3));
    for user in [1, 2] {
        cells.extend(fixed(5..6, 2, user));
        cells.push((5, 1, 1, user, 1));
    }
    let mut both = counts(&cells);
    let found = of(&both, Groups::Users);
    assert_eq!(found.pieces.len(), 2);
    assert!(found.positions_connected() && !found.is_connected());
    assert_eq!((found.pieces[1].groups(), found.pieces[1].positions()), (vec![1, 2], vec![1, 2]));
    let way_out = "to connect them, log queries that these users have in common with the rest, estimate larger groups of \
                   users, or pass features of the documents";
    assert_eq!(
        found.explain(&both.users),
        [
            "the clicks fall into 2 pieces that nothing compares, each with a scale of its own; the largest has positions \
             1–2 of 2 users and 65 % of the impressions",
            "users 2 and 3 share no clicked document with the rest at positions 1–2",
            way_out
        ]
    );
    let mut names = Ids::default();
    ["a", "b\n", "c", "d"].into_iter().for_each(|name| names.push_text(name));
    both.users = names;
    assert!(
        found.explain(&both.users)[1].starts_with(r#"users "b\n" and "c" share no"#),
        "{:?}",
        found.explain(&both.users)
    );
    assert!(of(&both, Groups::Population).is_connected());
    let found = of(&both, Groups::Given(&[0, 0, 1, 1]));
    assert!(found.is_connected());
    let found = of(&both, Groups::Given(&[0, 1, 1, 0]));
    assert!(found.explain(&both.users)[1].starts_with("group 2 shares no"), "{:?}", found.explain(&both.users));
}

#[test]
fn thousands_of_users_make_a_few_lines() {
    let mut cells = fixed(0..1, 3, 0);
    cells.extend([(0, 0, 2, 0, 1), (0, 1, 3, 0, 1)]);
    for user in 1..3000 {
        cells.extend(fixed(user..user + 1, 1 + user % 3, user));
    }
    let counts = counts(&cells);
    let lines = of(&counts, Groups::Users).explain(&counts.users);
    assert_eq!(lines.len(), 1 + 3 + 1);
    assert_eq!(lines[1], "users 2, 3, 4 and 2996 others share no clicked document with the rest at position 1");
    assert_eq!(lines[2], "users 2, 3, 5 and 1997 others share no clicked document with the rest at position 2");
}

#[test]
fn equal_feature_vectors_connect() {
    let counts = counts(&fixed(0..2, 2, 0));
    // Query 1's second document is like query 0's first, but for the sign of 0.
    let alike = data(2, 2, |query, doc| if query == doc { 1.0 } else { [0.0, -0.0][query] });
    let found = Identifiability::of(&Joined::new(&counts, Some(&alike)), Groups::Population, Links::Vectors).unwrap();
    assert!(found.is_connected());
    let unlike = data(2, 2, |query, doc| (2 * query + doc) as f32);
    let found = Identifiability::of(&Joined::new(&counts, Some(&unlike)), Groups::Population, Links::Vectors).unwrap();
    assert!(found.nothing_connects_positions());
    assert!(found.explain(&counts.users)[1].ends_with("or let a regression on the features predict relevance"));
}

#[test]
fn a_regression_connects_positions_whose_features_overlap() {
    let logged = counts(&fixed(0..40, 3, 0));
    let pieces = |counts: &Counts, data: &Dataset| {
        let found =
            Identifiability::of(&Joined::new(counts, Some(data)), Groups::Population, Links::Regression).unwrap();
        found.pieces.iter().map(Piece::positions).collect::<Vec<_>>()
    };
    let overlapping = data(40, 3, |query, doc| query as f32 + 20.0 * doc as f32 + 0.5 * doc as f32);
    assert_eq!(pieces(&logged, &overlapping), [[1, 2, 3]]);
    let apart = data(40, 3, |query, doc| query as f32 + if doc == 2 { 100.0 } else { 0.5 * doc as f32 });
    assert_eq!(pieces(&logged, &apart), [vec![1, 2], vec![3]]);
    // Nine documents are too few, and outliers are no overlap.
    assert_eq!(pieces(&counts(&fixed(0..9, 2, 0)), &overlapping).len(), 2);
    let outlier = data(40, 3, |query, doc| if query == 0 { 0.0 } else { query as f32 + 100.0 * doc as f32 });
    assert_eq!(pieces(&logged, &outlier).len(), 1, "a shared vector of clicked documents is a link");
    let outlier = data(40, 3, |query, doc| if query == 0 { 50.5 + doc as f32 } else { (query + 100 * doc) as f32 });
    assert_eq!(pieces(&logged, &outlier).len(), 3);
}

#[test]
fn users_meet_in_a_regression() {
    let mut cells = fixed(0..40, 3, 0);
    cells.extend(fixed(40..80, 3, 1));
    let counts = counts(&cells);
    let data = data(80, 3, |query, doc| (query + doc) as f32 / 7.0);
    let with =
        |links| Identifiability::of(&Joined::new(&counts, Some(&data)), Groups::Users, links).unwrap().pieces.len();
    assert_eq!(with(Links::Regression), 1);
    // Only where their queries meet, 39 + 2 = 40 + 1, do vectors coincide; those chains reach every position.
    assert_eq!(with(Links::Vectors), 1);
    assert_eq!(of(&counts, Groups::Users).pieces.len(), 6);
}

#[test]
fn documents_and_slots_without_clicks_link_nothing() {
    // Document 0 was seen at both positions, but nobody clicked it.
    let mut cells = vec![(0, 0, 1, 0, 0), (0, 0, 2, 0, 0), (0, 1, 1, 0, 2), (0, 2, 2, 0, 2)];
    assert_eq!(of(&counts(&cells), Groups::Population).pieces.len(), 2);
    // Position 3 has no click: it is no bridge between 1 and 2.
    cells.extend([(0, 1, 3, 0, 0), (0, 2, 3, 0, 0)]);
    let bridged = counts(&cells);
    let found = of(&bridged, Groups::Population);
    assert_eq!((found.pieces.len(), found.silent.as_slice()), (2, &[0, 0, 1][..]));
    assert_eq!(found.explain_silent().unwrap(), "position 3 has no clicks at all: examination there is estimated at 0");
    cells.extend([(0, 1, 2, 0, 1), (0, 1, 1, 1, 0)]);
    let connected = counts(&cells);
    let found = of(&connected, Groups::Users);
    assert!(found.is_connected());
    assert_eq!(
        found.explain_silent().unwrap(),
        "position 3 has no clicks at all, and 1 of 3 pairs of a user and a position have no clicks: examination there is \
         estimated at 0"
    );
    assert!(found.explain(&connected.users).is_empty());
    let nothing = counts(&[(0, 0, 1, 0, 0), (0, 1, 2, 0, 0)]);
    let found = of(&nothing, Groups::Population);
    assert!(!found.is_connected() && found.nothing_connects_positions());
    assert_eq!(found.explain(&nothing.users), ["there are no clicks, so nothing is known about who looks where"]);
    assert!(of(&Counts::default(), Groups::Users).pieces.is_empty());
    assert!(!of(&counts(&[(0, 0, 1, 0, 1)]), Groups::Population).nothing_connects_positions());
}

#[test]
fn groups_must_fit_the_users() {
    let counts = counts(&fixed(0..1, 2, 1));
    let message = |groups: &[u32]| {
        Identifiability::of(&Joined::new(&counts, None), Groups::Given(groups), Links::Documents)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message(&[0]), "each of 2 users should have a group, but 1 have one");
    assert_eq!(message(&[0, 2]), "groups should be numbered from 0 and not be more than the 2 users, but one is 2");
}

#[test]
fn a_million_cells_are_one_pass() {
    let cells: Vec<_> = (0..100_000_u32)
        .flat_map(|query| (0..10).map(move |doc| (query, doc, 1 + (doc + query % 2) % 10, query % 5000, 1)))
        .collect();
    let counts = counts(&cells);
    assert!(of(&counts, Groups::Population).nothing_connects_positions());
    assert_eq!(of(&counts, Groups::Users).pieces.len(), 50_000);
}

/// The pieces by walking: from a slot to every slot that shares a clicked document, until nothing is new.
fn flood_fill(counts: &Counts) -> Vec<Vec<Slot>> {
    let clicks = |same: &dyn Fn(&Cell) -> bool| counts.cells.iter().filter(|c| same(c)).map(|c| c.clicks).sum::<u64>();
    let live = |cell: &Cell| clicks(&|c| (c.user, c.position) == (cell.user, cell.position)) > 0;
    let clicked = |cell: &Cell| clicks(&|c| (c.query, c.doc) == (cell.query, cell.doc)) > 0;
    let slot = |cell: &Cell| Slot { group: cell.user, position: cell.position };
    let cells: Vec<&Cell> = counts.cells.iter().filter(|cell| live(cell)).collect();
    let mut pieces: Vec<Vec<Slot>> = Vec::new();
    for start in &cells {
        if pieces.iter().any(|piece| piece.contains(&slot(start))) {
            continue;
        }
        let mut piece = vec![slot(start)];
        let mut next = 0;
        while next < piece.len() {
            for a in cells.iter().filter(|a| slot(a) == piece[next] && clicked(a)).collect::<Vec<_>>() {
                for b in cells.iter().filter(|b| (b.query, b.doc) == (a.query, a.doc)) {
                    if !piece.contains(&slot(b)) {
                        piece.push(slot(b));
                    }
                }
            }
            next += 1;
        }
        piece.sort_unstable();
        pieces.push(piece);
    }
    pieces.sort_unstable();
    pieces
}

proptest! {
    #[test]
    fn pieces_are_those_of_a_flood_fill(
        cells in prop::collection::vec((0u32..3, 0u32..4, 1u32..5, 0u32..3, 0u64..2), 1..14),
    ) {
        let counts = counts(&cells);
        let found = of(&counts, Groups::Users);
        let mut pieces: Vec<Vec<Slot>> = found.pieces.iter().map(|piece| piece.slots.clone()).collect();
        pieces.sort_unstable();
        prop_assert_eq!(pieces, flood_fill(&counts));
        prop_assert!(found.pieces.is_sorted_by(|a, b| a.impressions >= b.impressions));
        let _ = found.explain(&counts.users);
    }
}
