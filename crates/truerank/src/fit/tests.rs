//! How much work a fit does twice: none.

use super::{Fit, FitData, FitLog};
use crate::counts::{CountOptions, Counts, LogSource, SplitBy, count_log};
use crate::data::{Generator, JOINS, Preset, Splits};
use crate::doctor::Doctor;
use crate::progress::Silent;
use crate::ranker::ModelForm;
use crate::relevance::SUMS;
use crate::simulate::{ShownLists, Simulation};

fn log() -> (Splits, Counts) {
    let data = Generator::preset(Preset::Tiny).generate().unwrap();
    let lists = [ShownLists::top(&data.train, &vec![0.0; data.train.len()], 10).unwrap()];
    let simulator = Simulation::new().sessions(4000).shuffle(0.3).prepare(&data.train, &lists).unwrap();
    let counts = count_log(&simulator.log(), &CountOptions::new()).unwrap().0;
    (data, counts)
}

#[test]
fn each_part_of_the_log_is_joined_with_the_features_once_and_summed_once() {
    let (data, counts) = log();
    let fit = Fit::new().model(ModelForm::LinearRaw).steps(5).doctor(Doctor::new().permutations(19));
    for data in [FitData::of_documents(data.train.clone()), FitData::of_splits(data)] {
        let parts = FitLog::from(LogSource::from(counts.clone()).split(SplitBy::Queries, 0.3, 1, &Silent).unwrap());
        let before = (JOINS.get(), SUMS.get());
        let outcome = fit.run(&parts, Some(&data), &Silent).unwrap();
        assert!(outcome.judged.is_some());
        assert_eq!(JOINS.get() - before.0, 2, "the part to learn from, and the one held out");
        // The third is that of the sample on which the doctor compares estimators.
        assert_eq!(SUMS.get() - before.1, 3);
    }
}
