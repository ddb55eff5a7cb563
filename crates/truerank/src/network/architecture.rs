//! The shape of a network: from an architecture and a number of inputs to layers with places in one flat vector.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::options::option_value;
use crate::{Error, Result};

/// No layer is wider than this; a larger number is a mistake or a damaged file.
const WIDEST: usize = 1 << 20;

/// No network has more parameters than this (4 GiB of them).
const MOST_PARAMETERS: usize = 1 << 30;

/// The form of a network.
///
/// Its text form is `linear`, or `mlp:512,256,128` with the hidden sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// One linear layer, in the paper after layer norm.
    Linear,
    /// Linear layers with ELU between them, and layer norm on the input of each, the last included, in the paper also the first.
    Mlp {
        /// The sizes of the hidden layers.
        hidden: Vec<usize>,
    },
}

option_value!(Architecture: Kind::Text);

impl Architecture {
    /// The multi-layer perceptron of the paper: hidden layers of 512, 256 and 128.
    pub fn mlp() -> Self {
        Architecture::Mlp { hidden: vec![512, 256, 128] }
    }

    /// The multi-layer perceptron for people's own features: one hidden layer of 32.
    pub fn small_mlp() -> Self {
        Architecture::Mlp { hidden: vec![32] }
    }

    /// What people call it: `linear`, `MLP` for the paper's, or its text form.
    pub fn name(&self) -> String {
        match self {
            Architecture::Mlp { .. } if *self == Architecture::mlp() => "MLP".to_string(),
            other => other.to_string(),
        }
    }

    /// The layers for `inputs` features, in order; the last has one output. All normalise what enters them, the first one only
    /// if `normalises_input`.
    pub fn layers(&self, inputs: usize, normalises_input: bool) -> Result<Vec<Layer>> {
        self.check(inputs)?;
        let hidden = match self {
            Architecture::Linear => &[],
            Architecture::Mlp { hidden } => &hidden[..],
        };
        let mut layers = Vec::with_capacity(hidden.len() + 1);
        let (mut inputs, mut start) = (inputs, 0);
        for &outputs in hidden.iter().chain(&[1]) {
            let normalises = normalises_input || !layers.is_empty();
            let layer = Layer { inputs, outputs, normalises, start };
            start = layer.end();
            if start > MOST_PARAMETERS {
                return Err(Error::parameter(format!("{self} has too many parameters: over {MOST_PARAMETERS}")));
            }
            layers.push(layer);
            inputs = outputs;
        }
        Ok(layers)
    }

    fn check(&self, inputs: usize) -> Result<()> {
        if inputs == 0 || inputs > WIDEST {
            return Err(Error::parameter(format!(
                "the number of features should be between 1 and {WIDEST}, but is {inputs}"
            )));
        }
        let Architecture::Mlp { hidden } = self else { return Ok(()) };
        if hidden.is_empty() || hidden.len() > 64 {
            return Err(Error::parameter(format!(
                "an mlp should have between 1 and 64 hidden layers, but has {}; without any it is `linear`",
                hidden.len()
            )));
        }
        match hidden.iter().find(|&&size| size == 0 || size > WIDEST) {
            Some(size) => {
                Err(Error::parameter(format!("a hidden size should be between 1 and {WIDEST}, but is {size}")))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Architecture::Linear => f.write_str("linear"),
            Architecture::Mlp { hidden } => {
                let sizes: Vec<String> = hidden.iter().map(usize::to_string).collect();
                write!(f, "mlp:{}", sizes.join(","))
            }
        }
    }
}

impl FromStr for Architecture {
    type Err = Error;

    /// Reads `linear`, `mlp` (the paper's sizes) or `mlp:64,32`.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::parameter(format!("an architecture is `linear`, `mlp` or like `mlp:512,256,128`, but is `{text}`"))
        };
        let architecture = match text.split_once(':') {
            None if text == "linear" => Architecture::Linear,
            None if text == "mlp" => Architecture::mlp(),
            Some(("mlp", sizes)) => {
                let hidden = sizes.split(',').map(|size| size.trim().parse().map_err(|_| unknown()));
                Architecture::Mlp { hidden: hidden.collect::<Result<_>>()? }
            }
            _ => return Err(unknown()),
        };
        architecture.check(1)?;
        Ok(architecture)
    }
}

/// One layer: layer norm (gain and shift), if it has one, then a linear map (weight and bias), and where its parameters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// How many values enter.
    pub inputs: usize,
    /// How many leave.
    pub outputs: usize,
    /// Whether what enters is normalised first.
    pub normalises: bool,
    start: usize,
}

impl Layer {
    /// The layer norm's gains, one per input; none without layer norm.
    pub fn gain(&self) -> Range<usize> {
        self.start..self.start + self.norm_size()
    }

    /// The layer norm's shifts, likewise.
    pub fn shift(&self) -> Range<usize> {
        self.gain().end..self.gain().end + self.norm_size()
    }

    /// The linear map, `outputs` rows of `inputs`.
    pub fn weight(&self) -> Range<usize> {
        self.shift().end..self.shift().end + self.inputs * self.outputs
    }

    /// The linear map's biases, one per output.
    pub fn bias(&self) -> Range<usize> {
        self.weight().end..self.end()
    }

    fn norm_size(&self) -> usize {
        if self.normalises { self.inputs } else { 0 }
    }

    fn end(&self) -> usize {
        self.start + 2 * self.norm_size() + self.inputs * self.outputs + self.outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_lie_one_after_another() {
        let layers = Architecture::Mlp { hidden: vec![4, 3] }.layers(5, true).unwrap();
        assert_eq!(layers.iter().map(|l| (l.inputs, l.outputs)).collect::<Vec<_>>(), [(5, 4), (4, 3), (3, 1)]);
        assert_eq!(layers[0].bias().end, 2 * 5 + 5 * 4 + 4);
        assert_eq!(layers[1].gain().start, layers[0].bias().end);
        let level = Architecture::Mlp { hidden: vec![4, 3] }.layers(5, false).unwrap();
        assert_eq!((level[0].gain(), level[0].shift(), level[0].weight()), (0..0, 0..0, 0..5 * 4));
        assert_eq!((level[0].bias().end, level[1].gain().len()), (5 * 4 + 4, 4));
    }

    #[test]
    fn text_forms_read_back() {
        for text in ["linear", "mlp:512,256,128", "mlp:8"] {
            assert_eq!(text.parse::<Architecture>().unwrap().to_string(), text);
        }
        assert_eq!("mlp".parse::<Architecture>().unwrap(), Architecture::mlp());
        for text in ["", "tree", "mlp:", "mlp:8,x", "linear:3", "mlp:0"] {
            assert!(text.parse::<Architecture>().is_err(), "{text}");
        }
    }
}
