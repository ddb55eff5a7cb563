//! What the paper reports, on Yahoo! LETOR and Baidu-ULTR: shown beside our numbers, and never mixed with them.

use super::Method;
use crate::evaluate::Measure;
use crate::ranker::ModelForm;

/// Clicks per position of the simulated log on Baidu-ULTR, which the paper says are close to those of its real log.
pub const BAIDU_CLICK_RATES: [f64; 10] = [0.423, 0.158, 0.098, 0.075, 0.063, 0.053, 0.048, 0.044, 0.041, 0.039];

/// What the paper calls a method. Its `prs` is [`Method::PRS_BY_SCORE`]: the numbers are those of the program that was run.
pub fn name(method: Method) -> String {
    match method {
        Method::PRS_BY_SCORE => Method::PRS.to_string(),
        other => other.to_string(),
    }
}

/// A row of the paper's main table, on Yahoo! and on Baidu: nDCG and ERR at 1, 3, 5, 10, and the squared error.
struct MainRow {
    method: Method,
    measures: [[f64; 8]; 2],
    mse: [Option<f64>; 2],
}

const MAIN_TABLE: [MainRow; 7] = [
    MainRow {
        method: Method::Production,
        measures: [
            [0.5681, 0.6064, 0.6426, 0.7031, 0.2770, 0.3771, 0.4031, 0.4199],
            [0.4540, 0.4750, 0.4894, 0.5222, 0.1782, 0.2756, 0.3060, 0.3286],
        ],
        mse: [None, None],
    },
    MainRow {
        method: Method::Ideal,
        measures: [
            [0.6804, 0.6905, 0.7125, 0.7606, 0.3448, 0.4246, 0.4466, 0.4619],
            [0.5138, 0.5300, 0.5437, 0.5758, 0.1887, 0.2882, 0.3187, 0.3408],
        ],
        mse: [None, None],
    },
    MainRow {
        method: Method::NAIVE,
        measures: [
            [0.6335, 0.6468, 0.6714, 0.7261, 0.3161, 0.4012, 0.4237, 0.4400],
            [0.4798, 0.5064, 0.5215, 0.5541, 0.1760, 0.2763, 0.3067, 0.3291],
        ],
        mse: [Some(0.1153), Some(0.1129)],
    },
    MainRow {
        method: Method::IPS_PBM,
        measures: [
            [0.6385, 0.6511, 0.6774, 0.7332, 0.3215, 0.4026, 0.4254, 0.4420],
            [0.4970, 0.5170, 0.5323, 0.5640, 0.1827, 0.2817, 0.3124, 0.3345],
        ],
        mse: [Some(0.2212), Some(0.1716)],
    },
    MainRow {
        method: Method::PRS_BY_SCORE,
        measures: [
            [0.6261, 0.6400, 0.6665, 0.7219, 0.3042, 0.3920, 0.4156, 0.4321],
            [0.4792, 0.5040, 0.5158, 0.5472, 0.1795, 0.2770, 0.3065, 0.3286],
        ],
        mse: [None, None],
    },
    MainRow {
        method: Method::STRAIGHTFORWARD,
        measures: [
            [0.6560, 0.6647, 0.6903, 0.7429, 0.3318, 0.4115, 0.4344, 0.4504],
            [0.5127, 0.5288, 0.5405, 0.5715, 0.1883, 0.2874, 0.3173, 0.3396],
        ],
        mse: [Some(0.2226), Some(0.1014)],
    },
    MainRow {
        method: Method::USER_AWARE,
        measures: [
            [0.6718, 0.6810, 0.7056, 0.7543, 0.3420, 0.4217, 0.4440, 0.4594],
            [0.5183, 0.5318, 0.5464, 0.5744, 0.1910, 0.2892, 0.3200, 0.3418],
        ],
        mse: [Some(0.0593), Some(0.0289)],
    },
];

/// Which of the paper's data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperData {
    /// Yahoo! LETOR set 1.
    Yahoo,
    /// Baidu-ULTR's annotated part.
    Baidu,
}

impl PaperData {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            PaperData::Yahoo => "Yahoo! LETOR set 1",
            PaperData::Baidu => "Baidu-ULTR",
        }
    }
}

/// A measure of the main table.
pub fn main_table(data: PaperData, method: Method, measure: Measure) -> Option<f64> {
    let row = MAIN_TABLE.iter().find(|row| row.method == method)?;
    Measure::paper().into_iter().position(|m| m == measure).map(|index| row.measures[data as usize][index])
}

/// The squared error of the main table.
pub fn main_mse(data: PaperData, method: Method) -> Option<f64> {
    MAIN_TABLE.iter().find(|row| row.method == method)?.mse[data as usize]
}

/// nDCG@5 with 5, 10 or 20 clusters.
pub fn by_clusters(method: Method, clusters: usize) -> Option<f64> {
    let column = [5, 10, 20].iter().position(|&known| known == clusters)?;
    let rows = [
        (Method::Production, [0.6426; 3]),
        (Method::Ideal, [0.7125; 3]),
        (Method::NAIVE, [0.6758, 0.6714, 0.6520]),
        (Method::IPS_PBM, [0.6835, 0.6774, 0.6833]),
        (Method::PRS_BY_SCORE, [0.6721, 0.6665, 0.6594]),
        (Method::STRAIGHTFORWARD, [0.6929, 0.6903, 0.6925]),
        (Method::USER_AWARE, [0.6980, 0.7056, 0.7042]),
    ];
    rows.into_iter().find(|(known, _)| *known == method).map(|(_, values)| values[column])
}

/// nDCG@5 with estimated examination; `cpbm` says whether it is CPBM's.
pub fn with_estimated_examination(method: Method, cpbm: bool, model: &ModelForm) -> Option<f64> {
    let [mlp, linear] = match method {
        Method::STRAIGHTFORWARD if cpbm => [0.6812, 0.6736],
        Method::Ideal => [0.7125, 0.7034],
        Method::NAIVE => [0.6714, 0.6693],
        Method::IPS_PBM => [0.6585, 0.6415],
        Method::PRS_BY_SCORE => [0.6659, 0.6588],
        Method::STRAIGHTFORWARD => [0.6903, 0.6899],
        Method::USER_AWARE => [0.6998, 0.6927],
        _ => return None,
    };
    match model {
        _ if *model == ModelForm::LINEAR => Some(linear),
        _ if *model == ModelForm::mlp() => Some(mlp),
        _ => None,
    }
}
