//! Forests as tensors: a forest enters and the tensors of a ranker's file leave, or the other way.
//!
//! The splits of all trees stand one after another, and so do the leaves. `trees.ends` says where the splits of each tree end; it has
//! one leaf more than splits. `splits.left` and `splits.right` are the numbers of splits within the tree, the root being 0, or where
//! they are negative of leaves: −1 is the first.

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::{Child, Forest, Leaf, Split, Tree};

/// A tensor to be written: a row of numbers.
pub(in crate::ranker) struct Tensor {
    pub(in crate::ranker) name: &'static str,
    pub(in crate::ranker) kind: Dtype,
    pub(in crate::ranker) length: usize,
    pub(in crate::ranker) bytes: Vec<u8>,
}

impl Tensor {
    /// Its name, and the tensor as it is written.
    pub(in crate::ranker) fn view(&self) -> Result<(&'static str, TensorView<'_>), String> {
        let view = TensorView::new(self.kind, vec![self.length], &self.bytes).map_err(|e| e.to_string())?;
        Ok((self.name, view))
    }
}

const ENDS: &str = "trees.ends";
const FEATURE: &str = "splits.feature";
const THRESHOLD: &str = "splits.threshold";
const MISSING_LEFT: &str = "splits.missing_left";
const GAIN: &str = "splits.gain";
const LEFT: &str = "splits.left";
const RIGHT: &str = "splits.right";
const VALUE: &str = "leaves.value";
const ROWS: &str = "leaves.rows";
/// How many tensors there are.
const COUNT: usize = 9;

/// The tensors of a forest.
pub(in crate::ranker) fn tensors(forest: &Forest) -> [Tensor; COUNT] {
    let trees = forest.trees();
    let splits: Vec<&Split> = trees.iter().flat_map(|tree| &tree.splits).collect();
    let leaves: Vec<&Leaf> = trees.iter().flat_map(|tree| &tree.leaves).collect();
    let ends = trees.iter().scan(0_u32, |end, tree| {
        *end += tree.splits.len() as u32;
        Some(*end)
    });
    [
        tensor(ENDS, Dtype::U32, ends.map(u32::to_le_bytes)),
        tensor(FEATURE, Dtype::U32, splits.iter().map(|split| split.feature.to_le_bytes())),
        tensor(THRESHOLD, Dtype::F32, splits.iter().map(|split| split.threshold.to_le_bytes())),
        tensor(MISSING_LEFT, Dtype::BOOL, splits.iter().map(|split| [u8::from(split.missing_left)])),
        tensor(GAIN, Dtype::F32, splits.iter().map(|split| split.gain.to_le_bytes())),
        tensor(LEFT, Dtype::I32, splits.iter().map(|split| written(split.left).to_le_bytes())),
        tensor(RIGHT, Dtype::I32, splits.iter().map(|split| written(split.right).to_le_bytes())),
        tensor(VALUE, Dtype::F32, leaves.iter().map(|leaf| leaf.value.to_le_bytes())),
        tensor(ROWS, Dtype::U32, leaves.iter().map(|leaf| leaf.rows.to_le_bytes())),
    ]
}

fn tensor<const N: usize>(name: &'static str, kind: Dtype, values: impl Iterator<Item = [u8; N]>) -> Tensor {
    let bytes: Vec<u8> = values.flatten().collect();
    Tensor { name, kind, length: bytes.len() / N, bytes }
}

/// The forest of a file's tensors. Everything that is made here is about as large as the file.
pub(in crate::ranker) fn read(tensors: &SafeTensors<'_>, features: usize) -> Result<Forest, String> {
    if tensors.len() != COUNT {
        return Err(format!("should have {COUNT} tensors, as trees have, but has {}", tensors.len()));
    }
    let ends: Vec<usize> =
        column(tensors, ENDS, Dtype::U32, None, u32::from_le_bytes)?.into_iter().map(|end| end as usize).collect();
    let count = ends.last().copied().unwrap_or(0);
    if !ends.is_sorted() {
        return Err(format!("tensor `{ENDS}` should not decrease, but does"));
    }
    let mut splits = read_splits(tensors, count)?.into_iter();
    let mut leaves = read_leaves(tensors, count + ends.len())?.into_iter();
    let mut start = 0;
    let trees = ends.into_iter().map(|end| {
        let own = end - start;
        start = end;
        Tree { splits: splits.by_ref().take(own).collect(), leaves: leaves.by_ref().take(own + 1).collect() }
    });
    Forest::new(features, trees.collect()).map_err(|e| e.to_string())
}

fn read_splits(tensors: &SafeTensors<'_>, count: usize) -> Result<Vec<Split>, String> {
    let features = column(tensors, FEATURE, Dtype::U32, Some(count), u32::from_le_bytes)?;
    let thresholds = column(tensors, THRESHOLD, Dtype::F32, Some(count), f32::from_le_bytes)?;
    let missing = column(tensors, MISSING_LEFT, Dtype::BOOL, Some(count), u8::from_le_bytes)?;
    let gains = column(tensors, GAIN, Dtype::F32, Some(count), f32::from_le_bytes)?;
    let left = column(tensors, LEFT, Dtype::I32, Some(count), i32::from_le_bytes)?;
    let right = column(tensors, RIGHT, Dtype::I32, Some(count), i32::from_le_bytes)?;
    if let Some(value) = missing.iter().find(|&&value| value > 1) {
        return Err(format!("tensor `{MISSING_LEFT}` should be of 0 and 1, but has {value} in it"));
    }
    let split = |number: usize| Split {
        feature: features[number],
        threshold: thresholds[number],
        missing_left: missing[number] == 1,
        gain: gains[number],
        left: child(left[number]),
        right: child(right[number]),
    };
    Ok((0..count).map(split).collect())
}

fn read_leaves(tensors: &SafeTensors<'_>, count: usize) -> Result<Vec<Leaf>, String> {
    let values = column(tensors, VALUE, Dtype::F32, Some(count), f32::from_le_bytes)?;
    let rows = column(tensors, ROWS, Dtype::U32, Some(count), u32::from_le_bytes)?;
    Ok(values.into_iter().zip(rows).map(|(value, rows)| Leaf { value, rows }).collect())
}

/// The numbers of a tensor, which must have this kind and, where it is known, this length.
fn column<T, const N: usize>(
    tensors: &SafeTensors<'_>,
    name: &str,
    kind: Dtype,
    length: Option<usize>,
    number: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("should have a tensor `{name}`, but has none"))?;
    let (found, shape) = (tensor.dtype(), tensor.shape());
    let fits = found == kind && shape.len() == 1 && length.is_none_or(|length| shape[0] == length);
    if !fits {
        let length = length.map_or("any length".to_string(), |length| format!("{length}"));
        return Err(format!("tensor `{name}` should be {kind:?} [{length}], but is {found:?} {shape:?}"));
    }
    Ok(tensor.data().as_chunks::<N>().0.iter().map(|&bytes| number(bytes)).collect())
}

/// The number of a child within its tree.
fn written(child: Child) -> i32 {
    match child {
        Child::Split(number) => number as i32,
        Child::Leaf(number) => -1 - number as i32,
    }
}

fn child(number: i32) -> Child {
    match number {
        0.. => Child::Split(number as u32),
        _ => Child::Leaf((-1 - number) as u32),
    }
}
