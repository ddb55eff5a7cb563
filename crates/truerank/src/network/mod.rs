//! Small feed-forward networks: rows of features enter, one score per row leaves, and gradients come back.
//!
//! Every network is a chain of layers; each layer normalises its input and multiplies it by a matrix. In the paper the first layer
//! does so, too. [`Network::keeping_level`] has none there: layer norm over a document's own features forgets how high they all are, and
//! features that say much say it in that. Raw features may be brought to one scale before ([`Scaling`]). The work is cut into
//! tiles that do not depend on the number of threads, and every sum across tiles runs in tile order: on one machine, the
//! same seed gives the same bytes whatever the number of threads.
//!
//! ```
//! use truerank::network::{Architecture, Network, Optimizer, Workspace};
//!
//! let mut network = Network::new(Architecture::Mlp { hidden: vec![8] }, 3, 1)?;
//! let features = [0.1, 0.5, 0.9, 3.0, 2.0, 1.0];
//! let mut workspace = Workspace::new(&network);
//! let before = workspace.forward(&network, &features, &[0, 1]).to_vec();
//!
//! // One step of gradient descent on the loss "score of row 0 minus score of row 1".
//! let mut gradient = vec![0.0; network.parameters().len()];
//! workspace.backward(&network, &[1.0, -1.0], &mut gradient);
//! let mut optimizer = Optimizer::AdaGrad.start(gradient.len());
//! optimizer.step(network.parameters_mut(), &gradient, 0.01, 0.0);
//! let after = network.score(&features);
//! assert!(after[0] - after[1] < before[0] - before[1]);
//! # Ok::<(), truerank::Error>(())
//! ```
//!
//! Layer norm's gain and shift are folded into the linear map that follows, so one pass over activations is left per layer
//! and direction. The bytes of a trained network may differ between kinds of CPU, whose kernels add in other orders. A
//! [`Scaling`] is applied a row at a time where the first layer reads the row, in training as in scoring, so that no
//! scaled copy of the matrix exists. It is no parameter; nothing trains it.

mod architecture;
mod elementwise;
mod folded;
mod matrix;
mod model;
mod optimizer;
mod ranks;
mod scaling;
mod workspace;

pub use architecture::{Architecture, Layer};
pub(crate) use elementwise::{NORM_EPSILON, lane_dot, lane_dot3, row_statistics};
pub use model::Network;
pub use optimizer::{Optimizer, OptimizerState, clip_norm};
pub(crate) use ranks::{not_finite, rank_scaling};
pub use scaling::{CurveScaling, LinearScaling, Scaling};
pub use workspace::Workspace;
