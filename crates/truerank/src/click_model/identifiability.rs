//! What no amount of clicks on these lists tells: lists and a model enter, free directions of its parameters leave.
//!
//! Parameters are told apart where the probabilities of transitions change with them. A direction in which none does, to first
//! order, is free: the null space of the Jacobian. It is taken at parameters drawn at random, as it is the same at almost all.
//! Documents of different queries meet only in the parameters of users, so each query first settles what its own documents can
//! explain: with `A` the slopes in users' parameters and `B` those in its γ and σ, what is left of `A` outside the span of `B`
//! says something about users. The sum of its squares over queries has the free directions of users as its null space.

use rand::RngExt;

use super::browsing::{Browsing, PageView};
use super::{ClickLog, ClickModelKind};
use crate::random::stream;

/// Queries and lists of each that are looked at, those with most lists first: they tell most.
const QUERIES: usize = 100;
const LISTS: usize = 8;

/// The step of differences, and what counts as no change: differences are exact to their square.
const STEP: f64 = 1e-4;
const NOTHING: f64 = 1e-6;

/// Directions that clicks on some lists leave open.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeDirections {
    /// How users' parameters and documents may move together: the part of users' parameters, as
    /// [`ClickModelKind::parameter_names`] lists them, one vector of length 1 for each direction.
    pub of_users: Vec<Vec<f64>>,
    /// γ and σ that are open even if users are known, in the queries that were looked at.
    pub of_documents: usize,
    /// Queries that were looked at.
    pub queries: usize,
}

impl FreeDirections {
    /// Those of a model on the lists of a log; a fixed share of them, where there are many.
    pub fn new(kind: ClickModelKind, log: &ClickLog<'_>) -> Self {
        let transitions = log.transitions;
        let mut queries: Vec<Vec<List>> = Vec::new();
        for lists in transitions.lists.chunk_by(|a, b| a.query == b.query) {
            let list = |list| transitions.of(list).iter().map(|shown| (shown.position, shown.doc)).collect();
            queries.push(lists.iter().take(LISTS).map(list).collect());
        }
        queries.sort_by_key(|lists| std::cmp::Reverse(lists.len()));
        queries.truncate(QUERIES);
        FreeDirections::of_lists(kind, &queries)
    }

    /// Those of a model on these lists, by query.
    pub(super) fn of_lists(kind: ClickModelKind, queries: &[Vec<List>]) -> Self {
        let positions = queries.iter().flatten().flatten().map(|(position, _)| *position as usize).max().unwrap_or(0);
        let mut browsing = Browsing::constant(kind, positions, 0.0);
        let mut random = stream(1, "identifiability", 0);
        browsing.values.iter_mut().for_each(|value| *value = random.random_range(0.3..0.8));
        let width = browsing.values.len();
        let (mut squares, mut of_documents) = (vec![0.0; width * width], 0);
        for (number, lists) in queries.iter().enumerate() {
            let query = Query::new(lists, browsing.clone(), number as u64);
            of_documents += query.add_squares(&mut squares);
        }
        FreeDirections { of_users: null_space(squares, width), of_documents, queries: queries.len() }
    }

    /// How many there are beyond those that no log at all tells.
    pub fn beyond(&self, kind: ClickModelKind) -> usize {
        let always = match kind {
            ClickModelKind::Pbm | ClickModelKind::Ubm | ClickModelKind::Additive => 1,
            // An affine map of γ, and of each position's three parameters only two sums.
            ClickModelKind::Trust => 2 + self.of_users.first().map_or(0, |row| row.len() / 3),
            // After the last position nobody goes on.
            ClickModelKind::Dcm => 1,
            _ => 0,
        };
        self.of_users.len().saturating_sub(always)
    }

    /// A sentence for those who fit this model; `None` where everything is told that a log can tell.
    pub fn explain(&self, kind: ClickModelKind) -> Option<String> {
        if self.beyond(kind) == 0 {
            return None;
        }
        let width = self.of_users[0].len();
        let share = |place: usize| self.of_users.iter().map(|direction| direction[place].powi(2)).sum::<f64>();
        let names = kind.parameter_names(positions_of(kind, width)).into_iter().enumerate();
        let open: Vec<String> = names.filter(|(place, _)| share(*place) > 0.1).map(|(_, name)| name).collect();
        let few = if open.len() > 6 {
            format!("{} and {} more", open[..5].join(", "), open.len() - 5)
        } else {
            open.join(", ")
        };
        Some(format!(
            "the lists of this log leave {} of {kind} open ({} looked at): {few} can be traded for relevance; show documents at several \
             positions, or believe what the prior says",
            if self.of_users.len() == 1 {
                "a direction".to_string()
            } else {
                format!("{} directions", self.of_users.len())
            },
            if self.queries == 1 { "1 query".to_string() } else { format!("{} queries", self.queries) },
        ))
    }
}

/// A list by positions and documents.
pub(super) type List = Vec<(u32, u32)>;

fn positions_of(kind: ClickModelKind, width: usize) -> usize {
    (1..=width.max(1)).find(|&positions| kind.parameter_count(positions) == width).unwrap_or(width)
}

/// The lists of a query at some parameters.
struct Query<'a> {
    lists: &'a [List],
    docs: Vec<u32>,
    browsing: Browsing,
    /// γ of each document, then σ where the model has it.
    values: Vec<f64>,
}

impl<'a> Query<'a> {
    fn new(lists: &'a [List], browsing: Browsing, number: u64) -> Self {
        let mut docs: Vec<u32> = lists.iter().flatten().map(|(_, doc)| *doc).collect();
        docs.sort_unstable();
        docs.dedup();
        let each = if browsing.kind.has_satisfaction() { 2 } else { 1 };
        let mut random = stream(2, "identifiability", number);
        let values = (0..each * docs.len()).map(|_| random.random_range(0.2..0.7)).collect();
        Query { lists, docs, browsing, values }
    }

    /// The probabilities of all transitions.
    fn probabilities(&self, browsing: &Browsing, values: &[f64]) -> Vec<f64> {
        let mut all = Vec::new();
        for list in self.lists {
            let places: Vec<usize> =
                list.iter().map(|(_, doc)| self.docs.partition_point(|other| other < doc)).collect();
            let positions: Vec<u32> = list.iter().map(|(position, _)| *position).collect();
            let attraction: Vec<f64> = places.iter().map(|&place| values[place]).collect();
            let satisfaction: Vec<f64> =
                places.iter().filter_map(|&place| values.get(self.docs.len() + place).copied()).collect();
            let page = PageView { positions: &positions, attraction: &attraction, satisfaction: &satisfaction };
            for from in 0..page.len() {
                let mut none = 1.0;
                for (exposed, &gamma) in browsing.exposed_after(&page, from).iter().zip(&attraction[from..]) {
                    let click = exposed.click(gamma);
                    all.push(none * click);
                    none *= 1.0 - click;
                }
            }
        }
        all
    }

    /// Slopes in one parameter of users, or one value of documents, by central differences.
    fn slope(&self, of_users: bool, place: usize) -> Vec<f64> {
        let at = |step: f64| {
            let (mut browsing, mut values) = (self.browsing.clone(), self.values.clone());
            let moved = if of_users { &mut browsing.values[place] } else { &mut values[place] };
            *moved += step;
            self.probabilities(&browsing, &values)
        };
        at(STEP).iter().zip(at(-STEP)).map(|(above, below)| (above - below) / (2.0 * STEP)).collect()
    }

    /// Adds what documents cannot explain of users' slopes; returns how many values of documents are open.
    fn add_squares(&self, squares: &mut [f64]) -> usize {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for place in 0..self.values.len() {
            let mut slope = self.slope(false, place);
            if let Some(length) = outside(&mut slope, &basis) {
                slope.iter_mut().for_each(|value| *value /= length);
                basis.push(slope);
            }
        }
        let width = self.browsing.values.len();
        let left = |place: usize| {
            let mut slope = self.slope(true, place);
            let told = outside(&mut slope, &basis).is_some();
            if told { slope } else { vec![0.0; slope.len()] }
        };
        let left: Vec<Vec<f64>> = (0..width).map(left).collect();
        for (row, a) in left.iter().enumerate() {
            for (column, b) in left.iter().enumerate() {
                squares[row * width + column] += dot(a, b);
            }
        }
        self.values.len() - basis.len()
    }
}

/// Takes off what the basis explains; the length of what is left, or `None` where it is next to nothing.
fn outside(slope: &mut [f64], basis: &[Vec<f64>]) -> Option<f64> {
    let before = dot(slope, slope).sqrt();
    // Twice: the second turn takes off what rounding left.
    for direction in basis.iter().chain(basis) {
        let along = dot(slope, direction);
        slope.iter_mut().zip(direction).for_each(|(value, direction)| *value -= along * direction);
    }
    let after = dot(slope, slope).sqrt();
    (after > NOTHING * before.max(NOTHING)).then_some(after)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The eigenvectors of a symmetric matrix whose eigenvalues are next to nothing, by Jacobi's rotations.
fn null_space(mut matrix: Vec<f64>, width: usize) -> Vec<Vec<f64>> {
    let mut vectors: Vec<f64> = (0..width * width).map(|at| if at % (width + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let largest = (0..width).map(|at| matrix[at * (width + 1)]).fold(0.0, f64::max);
    for _ in 0..60 {
        let mut rotated = false;
        for row in 0..width {
            for column in row + 1..width {
                rotated |= rotate(&mut matrix, &mut vectors, width, (row, column), largest);
            }
        }
        if !rotated {
            break;
        }
    }
    let is_free = |at: &usize| matrix[at * (width + 1)] <= NOTHING * NOTHING * 100.0 * largest.max(NOTHING);
    let vector = |at: usize| (0..width).map(|row| vectors[row * width + at]).collect();
    (0..width).filter(is_free).map(vector).collect()
}

/// Makes the entry at (p, q) 0; returns whether it was not.
fn rotate(matrix: &mut [f64], vectors: &mut [f64], width: usize, (p, q): (usize, usize), largest: f64) -> bool {
    let entry = matrix[p * width + q];
    if entry.abs() <= 1e-18 * largest.max(f64::MIN_POSITIVE) {
        return false;
    }
    let ratio = (matrix[q * width + q] - matrix[p * width + p]) / (2.0 * entry);
    let tangent = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    let turn = |values: &mut [f64], one: usize, other: usize| {
        let (a, b) = (values[one], values[other]);
        (values[one], values[other]) = (cosine * a - sine * b, sine * a + cosine * b);
    };
    for at in 0..width {
        turn(matrix, at * width + p, at * width + q);
        turn(vectors, at * width + p, at * width + q);
    }
    for at in 0..width {
        turn(matrix, p * width + at, q * width + at);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERIES: u32 = 6;

    /// Lists of five documents: as they are, and what else each query shows.
    fn lists(more: impl Fn(u32) -> Vec<Vec<u32>>) -> Vec<Vec<List>> {
        let list = |docs: Vec<u32>| -> List { (1..).zip(docs).collect() };
        (0..QUERIES).map(|query| std::iter::once((0..5).collect()).chain(more(query)).map(list).collect()).collect()
    }

    fn free(kind: ClickModelKind, queries: &[Vec<List>]) -> (usize, usize) {
        let found = FreeDirections::of_lists(kind, queries);
        // The method sheet counts slopes and shifts of `trust`, and not λ after the last position.
        let not_counted = match kind {
            ClickModelKind::Trust => 5,
            ClickModelKind::Dcm => 1,
            _ => 0,
        };
        (found.of_users.len() - not_counted, found.of_documents)
    }

    /// Directions of users' parameters, and of documents alone.
    #[test]
    fn free_directions_are_those_of_the_method_sheet() {
        use ClickModelKind::{Ccm, Dbn, Dcm, Pbm, Sdbn, Trust, Ubm};
        let fixed = lists(|_| Vec::new());
        let swapped = lists(|query| if query == 0 { vec![vec![1, 0, 2, 3, 4]] } else { Vec::new() });
        let rotated = lists(|_| vec![vec![1, 2, 3, 4, 0]]);
        let last = QUERIES as usize;
        let table = [
            (Pbm, [(5, 0), (4, 0), (1, 0)]),
            (Trust, [(10, 0), (8, 0), (2, 0)]),
            (Ubm, [(5, 0), (4, 0), (1, 0)]),
            (Sdbn, [(0, last), (0, last), (0, 0)]),
            (Dcm, [(0, 0), (0, 0), (0, 0)]),
            (Dbn, [(1, last), (0, last), (0, 0)]),
            (Ccm, [(0, 0), (0, 0), (0, 0)]),
        ];
        for (kind, expected) in table {
            let found = [&fixed, &swapped, &rotated].map(|lists| free(kind, lists));
            assert_eq!(found, expected, "{kind}");
        }
    }

    #[test]
    fn what_is_open_is_said() {
        let fixed = lists(|_| Vec::new());
        let words = |kind: ClickModelKind, lists: &[Vec<List>]| FreeDirections::of_lists(kind, lists).explain(kind);
        let of_dbn = words(ClickModelKind::Dbn, &fixed).unwrap();
        assert!(
            of_dbn.contains("leave a direction of dbn open (6 queries looked at): continuation can be"),
            "{of_dbn}"
        );
        assert!(words(ClickModelKind::Pbm, &fixed).unwrap().contains("leave 5 directions of pbm open"));
        assert_eq!(words(ClickModelKind::Dcm, &fixed), None);
        assert_eq!(words(ClickModelKind::Pbm, &lists(|_| vec![vec![1, 2, 3, 4, 0]])), None);
    }
}
