//! Rankers and labels in the forms of other tools: ONNX, the plugins of Elasticsearch and OpenSearch, LightGBM and XGBoost.

mod labels;
mod linear_model;
mod onnx;
mod protobuf;

pub use labels::{LabelForm, LabelSummary, Labels, TrainingLabels, Trees, is_label_file};
