//! Every reader of the library: files that it reads well, and what is done with what it read.
//!
//! Reading alone is not enough: what a reader lets pass is used as programs use it, so that a number that nobody checked
//! is found by whoever indexes with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;
use truerank::counts::{
    CountOptions, Counts, CountsView, LogSource, Need, SplitBy, StoredCounts, count_log, open_counts,
};
use truerank::data::{self, Dataset, DatasetFormat, Generator, Preset, Splits};
use truerank::evaluate::{ClickPrediction, Evaluator, Measure, Resampling};
use truerank::experiment::{Method, Question, Run, Settings, Source, Store, WorldFacts};
use truerank::files::Room;
use truerank::ids::Ids;
use truerank::log::{self, ClickList, Columns, EventOptions, LogFormat, OnBadRow, ReadOptions, Time};
use truerank::memory::Memory;
use truerank::network::{Architecture, Network, Scaling};
use truerank::progress::Silent;
use truerank::propensity::{Contexts, Details, Evidence, Examination, Propensities, UserClusters};
use truerank::ranker::{Child, Forest, Leaf, Model, ModelForm, Ranker, Split, TrainingRecord, Tree};
use truerank::relevance::{Estimator, PairRatio, PredictedRelevance, Relevance, estimate, pair_weights};
use truerank::simulate::{ShownLists, Simulation};
use truerank::{Error, Result};

/// Reads and uses a file.
type Read = Box<dyn Fn(&Path, u64) -> Result<()> + Send + Sync>;

/// Files that a reader reads, one of which is changed.
pub struct Reader {
    pub name: String,
    /// The files beside the one that is changed.
    pub others: Vec<(String, Vec<u8>)>,
    /// The name of the one that is changed.
    pub target: String,
    pub seeds: Vec<Vec<u8>>,
    /// How often it has its turn, beside the others: slow readers less often.
    pub turns: usize,
    /// Reads the file, in its folder, and uses it; the number may choose how. The first seed is read well.
    pub read: Read,
}

fn reader(
    name: &str,
    target: &str,
    seeds: Vec<Vec<u8>>,
    read: impl Fn(&Path, u64) -> Result<()> + Send + Sync + 'static,
) -> Reader {
    Reader {
        name: name.to_string(),
        others: Vec::new(),
        target: target.to_string(),
        seeds: seeds.into_iter().map(unsealed).collect(),
        turns: 10,
        read: Box::new(read),
    }
}

/// The file as if another program had written it: a seal would end most cases before they are read.
fn unsealed(mut bytes: Vec<u8>) -> Vec<u8> {
    for (from, to) in [("truerank.seal", "truerank.none"), ("seal:", "none:"), ("parquet-rs", "parquet-xy")] {
        let places: Vec<usize> = memchr::memmem::find_iter(&bytes, from).collect();
        places.into_iter().for_each(|at| bytes[at..at + from.len()].copy_from_slice(to.as_bytes()));
    }
    bytes
}

/// All readers. Their seeds are written into `folder` first.
pub fn all(folder: &Path) -> Vec<Reader> {
    let sample = Arc::new(Sample::new(folder));
    let mut readers = logs(&sample);
    readers.extend(event_logs());
    readers.extend(data_sets(&sample));
    readers.extend(counts(&sample));
    readers.extend(artefacts(&sample));
    readers.extend(experiments(&sample));
    readers.extend(options());
    readers
}

/// Good artefacts of one small log.
struct Sample {
    folder: PathBuf,
    data: Splits,
    counts: Counts,
    propensities: Propensities,
    relevance: Relevance,
}

impl Sample {
    fn new(folder: &Path) -> Self {
        let data = Generator::preset(Preset::Tiny).generate().unwrap();
        let few: Vec<usize> = (0..4).collect();
        let data = Splits {
            train: data.train.select(&few),
            validation: data.validation.select(&few),
            test: data.test.select(&few),
        };
        let simulation = Simulation::new().sessions(40).etas(vec![0.5, 1.0]).query_sparsity(1.0);
        let lists = [ShownLists::top(&data.train, &vec![0.0; data.train.len()], 4).unwrap()];
        let simulator = simulation.prepare(&data.train, &lists).unwrap();
        let log = simulator.log();
        let (mut counts, _) = count_log(&log, &CountOptions::new().patterns(true).transitions(true)).unwrap();
        counts.contexts = Ids::Integers(vec![3, 17]);
        let lists = counts.transitions.iter_mut().flat_map(|all| &mut all.lists);
        (0..).zip(lists).for_each(|(number, list)| list.context = number % 2);
        let propensities = simulator.propensities();
        let relevance = estimate(&counts, &propensities, Estimator::UserAware).unwrap();
        log::write_log(&log, &folder.join("log.parquet")).unwrap();
        counts.write(&folder.join("counts")).unwrap();
        Sample { folder: folder.to_path_buf(), data, counts, propensities, relevance }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap()
    }

    /// The bytes that `write` writes.
    fn written(&self, name: &str, write: impl FnOnce(&Path) -> Result<()>) -> Vec<u8> {
        write(&self.folder.join(name)).unwrap();
        self.bytes(name)
    }

    /// A Parquet file of ours, and the same without compression, whose bytes are values.
    fn tables(&self, name: &str) -> Vec<Vec<u8>> {
        let ours = self.bytes(name);
        vec![plain(&self.folder.join(name)), ours]
    }
}

/// The same table with plain values and no compression, so that one changed byte is one changed value.
fn plain(path: &Path) -> Vec<u8> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let metadata = builder.metadata().file_metadata().key_value_metadata().cloned();
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN)
        .set_key_value_metadata(metadata)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, builder.schema().clone(), Some(properties)).unwrap();
    builder.build().unwrap().for_each(|batch| writer.write(&batch.unwrap()).unwrap());
    writer.close().unwrap();
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Reads a log as commands do, with bad rows refused or left out.
fn read_log(path: &Path, how: u64, options: &ReadOptions) -> Result<()> {
    let on_bad_row = if how.is_multiple_of(2) { OnBadRow::Error } else { OnBadRow::Skip };
    let log = LogSource::files([path], options.clone().on_bad_row(on_bad_row));
    match how / 2 % 16 {
        1 => log.count(&CountOptions::new().patterns(true).transitions(true), &Silent).map(drop),
        2 => log.split(SplitBy::Time, 0.5, 1, &Silent).map(drop),
        3 => log.features(&["position".to_string()], None, 4).map(drop),
        _ => log.read().map(drop),
    }
}

fn logs(sample: &Sample) -> Vec<Reader> {
    let csv = "session,user,query,doc,position,click,time\n1,u,q,a,1,0,2024-03-01T10:00:00Z\n1,u,q,\"b,\"\"c\",2,1,2024-03-01\n\
               2,7,\"two\nlines\",a,1,true,1709290000\n2,7,\"two\nlines\",3,3,0,1709290001000\n";
    let tsv = csv.replace(',', "\t");
    let pages = "session,user,query,docs,clicks\n1,u,q,a|b|c,0|1|0\n2,u,q,c|a,1|0\n3,v,p,x|y|z,0|0|1\n";
    let lines = "{\"session\":1,\"user\":\"u\",\"query\":\"q\",\"doc\":7,\"position\":1,\"click\":true,\"x\":[{\"}\":1}]}\n\
                 {\"session\":\"s\",\"user\":2,\"query\":\"\\u00e9\\\"]\",\"doc\":\"d\",\"position\":2.0,\"click\":0,\"time\":1709290000}\n";
    let array = format!("[{}]\n", lines.trim().replace('\n', ",\n"));
    let lists = "{\"user\":\"u\",\"query\":\"q\",\"docs\":[\"a\",\"b\"],\"clicks\":[0,1],\"positions\":[1,3]}\n\
                 {\"user\":\"u\",\"query\":\"p\",\"docs\":\"[1, 2, 3]\",\"clicks\":[0,0,1],\"positions\":[1,2,4]}\n";
    let (all, gz, zst) = (texts(&[csv, &tsv]), gzip(csv.as_bytes()), zstd(csv.as_bytes()));
    let plain_options = |path: &Path, how: u64| read_log(path, how, &ReadOptions::new());
    let condition: truerank::log::ClickWhen = "position<=2".parse().unwrap();
    let headless = ReadOptions::new()
        .header(["session", "user", "query", "doc", "position", "click", "time"].map(String::from).to_vec());
    vec![
        reader("csv", "log.csv", all.clone(), plain_options),
        reader("csv without header", "log.csv", texts(&[csv.split_once('\n').unwrap().1]), move |path, how| {
            read_log(path, how, &headless)
        }),
        reader("csv with a condition", "log.csv", all, move |path, how| {
            read_log(path, how, &ReadOptions::new().click_when(condition.clone()).since("2024-03-01".parse().unwrap()))
        }),
        reader("tsv", "log.tsv", texts(&[&tsv]), plain_options),
        reader("csv.gz", "log.csv.gz", vec![gz], plain_options),
        reader("csv.zst", "log.csv.zst", vec![zst], plain_options),
        reader("json lines", "log.jsonl", texts(&[lines, lists]), plain_options),
        reader("json array", "log.json", texts(&[&array, "[]", lines]), plain_options),
        reader("pages in csv", "log.csv", texts(&[pages]), |path, how| {
            let clicks = [ClickList::Flags, ClickList::Docs, ClickList::Positions][how as usize % 3];
            read_log(path, how, &ReadOptions::new().list_separator('|').clicks(clicks))
        }),
        reader("pages in json", "log.jsonl", texts(&[lists, lines]), plain_options),
        reader("parquet log", "log.parquet", sample.tables("log.parquet"), plain_options),
    ]
}

fn event_logs() -> Vec<Reader> {
    let events =
        "session,query,doc,position,event,time\n1,q,a,1,shown,1\n1,q,b,2,shown,2\n1,q,b,2,click,3\n2,p,a,1,shown,4\n";
    let yandex = "1\t0\tQ\t8\t0\t10\t11\t12\n1\t5\tC\t11\n2\t7\tQ\t9\t1\t13\t10\n2\t8\tC\t13\n";
    let queries = "{\"query_id\":\"a\",\"user_query\":\"shoes\",\"client_id\":\"u\",\"query_response_hit_ids\":[\"1\",2,\"3\"]}\n\
                   {\"index\":{\"_index\":\"ubi_queries\"}}\n{\"_source\":{\"query_id\":\"b\",\"user_query\":\"hats\"}}\n";
    let actions = "{\"action_name\":\"click\",\"query_id\":\"a\",\"event_attributes\":{\"object\":{\"object_id\":2},\"position\":{\"ordinal\":1}}}\n\
                   {\"action_name\":\"impression\",\"query_id\":\"b\",\"event_attributes\":{\"object\":{\"object_id\":\"9\"},\"position\":{\"ordinal\":\"0\"}}}\n";
    let ubi = |path: &Path| {
        let folder = path.parent().unwrap();
        let [queries, actions] = ["queries.jsonl", "events.jsonl"].map(|name| folder.join(name));
        LogSource::Ubi(vec![queries], vec![actions], log::UbiOptions::new()).read().map(drop)
    };
    let options = EventOptions::new()
        .event_column("event".into())
        .query_event(vec!["shown".into()])
        .click_event(vec!["click".into()]);
    let options = ReadOptions::new().events(options);
    vec![
        reader("events", "log.csv", texts(&[events]), move |path, how| read_log(path, how, &options)),
        reader("yandex", "log.txt", texts(&[yandex]), |path, how| {
            read_log(path, how, &ReadOptions::new().format(LogFormat::Yandex))
        }),
        Reader {
            others: vec![("events.jsonl".into(), actions.into())],
            ..reader("ubi queries", "queries.jsonl", texts(&[queries]), move |path, _| ubi(path))
        },
        Reader {
            others: vec![("queries.jsonl".into(), queries.into())],
            ..reader("ubi events", "events.jsonl", texts(&[actions]), move |path, _| ubi(path))
        },
    ]
}

/// Evaluates a ranking of a data set.
fn use_data(data: Dataset) -> Result<()> {
    let scores: Vec<f32> = (0..data.len()).map(|row| data.row(row).iter().sum()).collect();
    let _ = Evaluator::default().evaluate(&data, &scores);
    let _ = data.select(&(0..data.query_count()).rev().collect::<Vec<_>>());
    Ok(())
}

fn data_sets(sample: &Sample) -> Vec<Reader> {
    let letor = "2 qid:1 1:0.5 2:-1e3 46:1 # doc7 a\n0 qid:1 2:3 # b\n\n1 qid:q2 1:.25 # x\n4 qid:q2 3:nan # y\n";
    let bare = "2 1:0.5 2:-1\n0 2:3\n1 1:1\n";
    let test = sample.folder.join("test.parquet");
    data::write_dataset(&sample.data.test, &test).unwrap();
    let few = |path: &Path, how: u64| {
        let options = data::ReadOptions::new().zero_based(how % 2 == 1);
        use_data(data::read_dataset(path, &options)?)
    };
    let mut readers = vec![
        reader("svmlight", "rank.txt", texts(&[letor, bare]), few),
        reader("svmlight.gz", "rank.txt.gz", vec![gzip(letor.as_bytes())], few),
        reader("parquet data", "test.parquet", sample.tables("test.parquet"), few),
        Reader {
            others: vec![("rank.txt".into(), bare.into())],
            ..reader("query file", "rank.txt.query", texts(&["2\n1\n", "1\n1\n1\n"]), |path, _| {
                use_data(data::read_dataset(&path.with_extension(""), &data::ReadOptions::new())?)
            })
        },
    ];
    readers.extend(ultra());
    readers.extend(splits(sample));
    readers
}

/// One reader for each kind of file in an ULTRA folder.
fn ultra() -> Vec<Reader> {
    let files = |part: &str| {
        [("feature", "d1 1:0.5 2:1\nd2 2:3\nd3 1:1\n"), ("init_list", "q1 0 1\nq2 2\n"), ("labels", "q1 0 4\nq2 1\n")]
            .map(|(ending, text)| (format!("{part}/{part}.{ending}"), text.replace('q', &part[..2])))
    };
    let mut all: Vec<(String, String)> = ["train", "valid", "test"].into_iter().flat_map(files).collect();
    all.push(("settings.json".into(), "{\"feature_size\": 2, \"removed_feature_ids\": [1]}".into()));
    let changed = ["train/train.feature", "valid/valid.init_list", "test/test.labels", "settings.json"];
    let one = |target: &&str| {
        let others =
            all.iter().filter(|(name, _)| name != target).cloned().map(|(name, text)| (name, text.into_bytes()));
        let seed = &all.iter().find(|(name, _)| name == target).unwrap().1;
        let depth = target.matches('/').count();
        let read = move |path: &Path, _: u64| {
            let folder = path.ancestors().nth(1 + depth).unwrap();
            let Splits { train, validation, test } = data::read_splits(folder, &data::ReadOptions::new())?;
            [train, validation, test].into_iter().try_for_each(use_data)
        };
        Reader { others: others.collect(), ..reader(&format!("ultra {target}"), target, texts(&[seed]), read) }
    };
    changed.iter().map(one).collect()
}

fn splits(sample: &Sample) -> Vec<Reader> {
    let folder = sample.folder.join("splits");
    data::write_splits(&sample.data, &folder, DatasetFormat::Parquet).unwrap();
    let names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let file = |name: &String| (name.clone(), std::fs::read(folder.join(name)).unwrap());
    let target = names.iter().find(|name| name.starts_with("vali")).unwrap();
    let read = |path: &Path, _: u64| {
        use_data(data::read_splits(path.parent().unwrap(), &data::ReadOptions::new())?.validation)
    };
    let seeds = vec![plain(&folder.join(target)), file(target).1];
    let others = names.iter().filter(|name| *name != target).map(file).collect();
    vec![Reader { others, ..reader("parquet parts", target, seeds, read) }]
}

/// What is done with counts.
fn use_counts(counts: &Counts, propensities: &Propensities) {
    for estimator in [Estimator::UserAware, Estimator::Naive] {
        let _ = estimate(counts, propensities, estimator);
    }
    PairRatio::ALL.into_iter().for_each(|ratio| drop(pair_weights(counts, propensities, ratio)));
    let _ = counts.split_pages(0.5, 1);
    let _ = counts.split_queries(0.5, 1);
    use_blocks(counts);
}

/// Looks up all that transitions name.
fn use_blocks(counts: &dyn CountsView) {
    for block in counts.blocks() {
        let Some(transitions) = counts.transitions(&block).unwrap() else { continue };
        for (list, rows) in transitions.by_list() {
            counts.queries().name(list.query as usize);
            counts.contexts().name(list.context as usize);
            transitions.of(list).iter().for_each(|listed| _ = counts.docs().name(listed.doc as usize));
            rows.iter().for_each(|row| _ = counts.users().name(row.user as usize));
        }
    }
}

fn counts(sample: &Arc<Sample>) -> Vec<Reader> {
    let tables = ["cells", "sessions", "patterns", "lists", "transitions", "pages"];
    let names: Vec<String> = tables.iter().map(|name| format!("{name}.parquet")).chain(["meta.json".into()]).collect();
    let one = |target: &String| {
        let name = format!("counts/{target}");
        let seeds = if target == "meta.json" { vec![sample.bytes(&name)] } else { sample.tables(&name) };
        let others = names.iter().filter(|name| *name != target);
        let others = others.map(|name| (name.to_string(), sample.bytes(&format!("counts/{name}"))));
        let used = sample.clone();
        let read = move |path: &Path, how: u64| {
            let folder = path.parent().unwrap();
            match how % 8 {
                1 => StoredCounts::open(folder, &Room::new(Memory::new(1 << 20))).map(|counts| use_blocks(&counts)),
                2 => open_counts(folder, &Room::new(Memory::new(1 << 30)), Need::Estimation).map(drop),
                _ => Counts::read(folder).map(|counts| use_counts(&counts, &used.propensities)),
            }
        };
        Reader { others: others.collect(), ..reader(&name, target, seeds, read) }
    };
    let mut readers: Vec<Reader> = names.iter().map(one).collect();
    readers.push(changed_counts(sample));
    readers
}

/// Counts in which numbers were changed before they were written: damage that no decoder sees.
fn changed_counts(sample: &Arc<Sample>) -> Reader {
    let sample = sample.clone();
    // Each four bytes of the input change one number.
    let seeds = vec![Vec::new(), vec![0, 3, 1, 0], (0..12).collect()];
    let changed = reader("counts of other numbers", "changes", seeds, move |path, _| {
        let changes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        let mut counts = sample.counts.clone();
        changes.chunks_exact(4).take(20).for_each(|change| change_counts(&mut counts, change));
        let folder = path.with_file_name("counts");
        counts.write(&folder)?;
        use_counts(&Counts::read(&folder)?, &sample.propensities);
        Ok(())
    });
    Reader { turns: 1, ..changed }
}

fn change_counts(counts: &mut Counts, change: &[u8]) {
    let number = [0, 1, 2, 5, 100_000, 100_001, u32::MAX >> 1, u32::MAX][change[2] as usize % 8];
    let large = [0, 1, 2, 7, 1 << 20, 1 << 59, u64::MAX >> 8, u64::MAX >> 6][change[2] as usize % 8];
    let (docs, queries, users) = (counts.docs.len() as u32, counts.queries.len() as u32, counts.users.len() as u32);
    fn at<'a, T>(rows: &'a mut [T], change: &[u8]) -> &'a mut T {
        let row = (change[1] as usize * 7 + change[3] as usize) % rows.len();
        &mut rows[row]
    }
    let (pages, patterns) = (counts.pages.as_mut().unwrap(), counts.patterns.as_mut().unwrap());
    let transitions = counts.transitions.as_mut().unwrap();
    let lists = transitions.lists.len() as u32;
    match change[0] % 25 {
        0 => at(&mut counts.cells, change).position = number,
        1 => at(&mut counts.cells, change).impressions = large,
        2 => at(&mut counts.cells, change).clicks = large,
        3 => at(&mut counts.cells, change).doc = number % docs,
        4 => at(&mut counts.cells, change).user = number % users,
        5 => at(&mut counts.sessions, change).sessions = large,
        6 => at(&mut counts.sessions, change).query = number % queries,
        7 => at(&mut pages.shown, change).position = number,
        8 => at(&mut pages.shown, change).doc = number % docs,
        9 => at(&mut pages.pages, change).query = number % queries,
        10 => at(&mut pages.pages, change).user = number % users,
        11 => at(&mut patterns.shown, change).position = number,
        12 => at(&mut patterns.shown, change).doc = number % docs,
        13 => at(&mut patterns.patterns, change).sessions = large,
        14 => at(&mut patterns.patterns, change).query = number % queries,
        15 => at(&mut patterns.patterns, change).user = number % users,
        16 => at(&mut transitions.shown, change).position = number,
        17 => at(&mut transitions.shown, change).doc = number % docs,
        18 => at(&mut transitions.lists, change).query = number % queries,
        19 => at(&mut transitions.rows, change).list = number % lists,
        20 => at(&mut transitions.rows, change).user = number % users,
        21 => at(&mut transitions.rows, change).from = number,
        22 => at(&mut transitions.rows, change).sessions = large,
        23 => at(&mut transitions.lists, change).context = number % 2,
        _ => counts.cells.truncate(1 + change[1] as usize),
    }
}

fn artefacts(sample: &Arc<Sample>) -> Vec<Reader> {
    let mut readers = propensities(sample);
    readers.extend([relevance(sample), ranker(sample)]);
    let features = texts(&["user,age,pro\n7,31,0\nada,28.5,1\n"]);
    readers.push(reader("user features", "users.csv", features, |path, _| Contexts::read(path).map(drop)));
    readers
}

/// Of JSON and of Parquet.
fn propensities(sample: &Arc<Sample>) -> Vec<Reader> {
    let positions = sample.propensities.positions();
    let plain = sample.written("p.json", |path| sample.propensities.write(path));
    let detailed = Propensities {
        users: Ids::numbered(2),
        by_user: vec![0.5; 2 * positions],
        details: Details {
            population: Evidence { standard_errors: vec![0.01; positions], ..Evidence::default() },
            clusters: Some(UserClusters { of_user: vec![1, 0], examination: vec![0.3; 2 * positions] }),
            harvested: Some(vec![0.5; positions]),
            notes: vec!["a note".into()],
            ..Details::default()
        },
        ..sample.propensities.clone()
    };
    detailed.write(&sample.folder.join("p.parquet")).unwrap();
    let detailed = sample.written("p.json", |path| detailed.write(path));
    let used = [sample.clone(), sample.clone()];
    let read_and_use = |used: Arc<Sample>| {
        move |path: &Path, _: u64| {
            let read = Propensities::read(path)?;
            use_counts(&used.counts, &read);
            if let Ok(examination) = Examination::new(&read, &used.counts) {
                let sum: f64 = used.counts.cells.iter().map(|cell| examination.of(cell.user, cell.position)).sum();
                assert!(!sum.is_nan());
            }
            (0..read.users.len()).for_each(|user| drop(read.level_and_shape(read.of_user(user))));
            read.write(&path.with_file_name("again.json"))
        }
    };
    let [json, table] = used.map(read_and_use);
    vec![
        reader("propensities", "p.json", vec![plain, detailed], json),
        reader("propensities as a table", "p.parquet", sample.tables("p.parquet"), table),
    ]
}

fn relevance(sample: &Arc<Sample>) -> Reader {
    sample.relevance.write(&sample.folder.join("r.parquet")).unwrap();
    let used = sample.clone();
    reader("relevance", "r.parquet", sample.tables("r.parquet"), move |path, _| {
        let read = Relevance::read(path)?;
        let _ = read.for_ranker(10);
        let predicted = PredictedRelevance::from(&read);
        let _ =
            ClickPrediction::of(&used.counts, &used.propensities, &predicted, None, &Resampling::new().resamples(2));
        Ok(())
    })
}

fn ranker(sample: &Arc<Sample>) -> Reader {
    let features = sample.data.test.feature_count();
    let network = |hidden: &[usize]| match hidden {
        [] => Network::new(Architecture::Linear, features, 1).unwrap(),
        _ => Network::new(Architecture::Mlp { hidden: hidden.to_vec() }, features, 1).unwrap(),
    };
    let scaling = || Scaling::linear(vec![1.0; features], vec![0.5; features]).unwrap();
    let curve = Scaling::curve(2, [0.0, 1.0].repeat(features), [-1.0, 1.0].repeat(features)).unwrap();
    let level = |architecture| Network::keeping_level(architecture, features, 1).unwrap();
    let models = [
        Model::Network(network(&[])),
        Model::Network(network(&[3, 2]).scaled(scaling()).unwrap()),
        Model::Network(level(Architecture::Mlp { hidden: vec![3] }).scaled(scaling()).unwrap()),
        Model::Network(level(Architecture::Linear).scaled(curve).unwrap()),
        Model::Weights { weights: vec![0.5; features], bias: 1.0 },
        Model::Trees(Forest::new(features, vec![tree(1), Tree::constant(0.5, 9), tree(6)]).unwrap()),
        Model::Trees(Forest::new(features, vec![]).unwrap()),
    ];
    let seeds = models.map(|model| Ranker { model, record: TrainingRecord::default() }.to_bytes().unwrap());
    let used = sample.clone();
    reader("ranker", "ranker.safetensors", seeds.to_vec(), move |path, _| {
        let ranker = Ranker::load(path)?;
        let names: Vec<String> = (1..=ranker.feature_count()).map(|number| format!("f{number}")).collect();
        ranker.to_bytes().unwrap();
        let _ = (ranker.to_lightgbm(&names), ranker.to_xgboost(Some(&names)), ranker.to_elasticsearch("x", &names));
        ranker.score(&used.data.test).map(drop)
    })
}

/// A tree of so many splits, each right below the one before.
fn tree(splits: u32) -> Tree {
    let split = |number: u32| Split {
        feature: number % 2,
        threshold: number as f32,
        missing_left: number.is_multiple_of(2),
        gain: 1.0,
        left: Child::Leaf(number),
        right: if number + 1 == splits { Child::Leaf(splits) } else { Child::Split(number + 1) },
    };
    let leaf = |number: u32| Leaf { value: number as f32 / 4.0, rows: number };
    Tree { splits: (0..splits).map(split).collect(), leaves: (0..=splits).map(leaf).collect() }
}

fn experiments(sample: &Sample) -> Vec<Reader> {
    let folder = sample.folder.join("experiment");
    let questions = vec![Question::Rq1];
    let models = vec!["linear".parse().unwrap()];
    let settings = Settings { questions, seeds: vec![1, 2], models, ..Settings::default() };
    let mut settings = settings.for_data(&sample.data).unwrap();
    let store = Store::create(&folder, &mut settings).unwrap();
    let shown = [Method::Production, Method::STRAIGHTFORWARD, Method::USER_AWARE];
    let runs: Vec<Run> = settings.runs().into_iter().filter(|run| shown.contains(&run.method)).collect();
    let values = |measure| truerank::experiment::MeasureValues { measure, values: vec![0.5, 0.25] };
    for run in &runs {
        let outcome = truerank::experiment::Outcome {
            measures: Measure::paper().into_iter().map(values).collect(),
            accuracy: Some(truerank::experiment::Accuracy {
                bias: Some(0.01),
                mse: 0.1,
                by_query: vec![0.1],
                confusion: vec![vec![1, 2], vec![0, 4]],
            }),
            beta: Some(0.5),
            left_out: Default::default(),
            judged_on: Default::default(),
            record: TrainingRecord::default(),
        };
        store.keep_run(run, &outcome).unwrap();
        let facts = WorldFacts { sessions: 10, users: 2, queries: 3, documents: 4, click_rates: vec![0.5, 0.25] };
        store.keep_world(run.world, &facts).unwrap();
        store.keep_examination(run.world, Source::Known, &sample.propensities, None).unwrap();
    }
    let mut files = Vec::new();
    collect(&folder, "", &mut files);
    let is_run = |name: &str| name.ends_with(".json.zst");
    let run = files.iter().map(|(name, _)| name.clone()).find(|name| is_run(name)).unwrap();
    let world = files.iter().map(|(name, _)| name.clone()).find(|name| name.ends_with("log.json")).unwrap();
    let examination = files.iter().map(|(name, _)| name.clone()).find(|name| name.ends_with("known.json")).unwrap();
    let one = |name: &str, target: String| {
        let seed = files.iter().find(|(name, _)| *name == target).unwrap().1.clone();
        // Files are told compressed or not by their first bytes.
        let seed = if is_run(&target) { zstd::decode_all(&seed[..]).unwrap() } else { seed };
        let depth = target.matches('/').count();
        let read = move |path: &Path, _: u64| {
            let folder = path.ancestors().nth(1 + depth).unwrap();
            let (store, settings) = Store::open(folder)?;
            let _ = truerank::experiment::Results::read(&store, settings)?.report();
            Ok(())
        };
        let others = files.iter().filter(|(name, _)| *name != target).cloned().collect();
        Reader { others, turns: 1, ..reader(name, &target, vec![seed], read) }
    };
    vec![
        one("experiment run", run),
        one("experiment log", world),
        one("experiment examination", examination),
        one("experiment settings", "experiment.toml".to_string()),
        reader("settings", "settings.toml", texts(&[&Settings::default().to_toml().unwrap()]), |path, _| {
            Settings::read(path).map(drop)
        }),
    ]
}

/// All files below a folder, by their names in it.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(std::result::Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        match entry.path().is_dir() {
            true => collect(&entry.path(), &format!("{name}/"), files),
            false => files.push((name, std::fs::read(entry.path()).unwrap())),
        }
    }
}

/// Everything that is typed as an option.
fn options() -> Vec<Reader> {
    let seeds = [
        "dwell_time>0",
        "action=click|cart",
        "a!=''",
        "2024-03-01T10:00:00+02:00",
        "1709290000",
        "16GiB",
        "0.5MB",
        "ndcg@5",
        "ERR@10",
        "mlp:256,128",
        "linear",
        "adagrad",
        "session=user+task",
        "doc=",
        "logs/*.csv",
        "auto",
        "10",
        "user-aware",
        "em",
        "rq1",
        "prs",
    ];
    vec![reader("options", "option.txt", texts(&seeds), |path, _| {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        parse_all(&String::from_utf8_lossy(&bytes));
        Ok(())
    })]
}

fn parse_all(text: &str) {
    fn parse<T: std::str::FromStr>(text: &str) {
        drop(text.parse::<T>());
    }
    parse::<log::ClickWhen>(text);
    if let Ok(time) = text.parse::<Time>() {
        let _ = time.to_string();
    }
    if let Ok(memory) = Memory::parse(text) {
        let _ = memory.to_string();
    }
    if let Ok(measure) = text.parse::<Measure>() {
        assert_eq!(measure.to_string().parse::<Measure>().ok(), Some(measure));
    }
    if let Ok(architecture) = text.parse::<Architecture>() {
        let _ = architecture.layers(10, text.len().is_multiple_of(2));
    }
    parse::<ModelForm>(text);
    parse::<truerank::ranker::Minimiser>(text);
    parse::<truerank::network::Optimizer>(text);
    parse::<truerank::evaluate::EmptyQueries>(text);
    parse::<truerank::evaluate::ClickMeasure>(text);
    parse::<truerank::propensity::ClusterCount>(text);
    parse::<truerank::propensity::Grouping>(text);
    parse::<truerank::propensity::RelevanceForm>(text);
    parse::<truerank::propensity::RelevancePrior>(text);
    parse::<truerank::propensity::ShrinkUsers>(text);
    parse::<truerank::propensity::Weighting>(text);
    parse::<Question>(text);
    parse::<Source>(text);
    parse::<Method>(text);
    parse::<Preset>(text);
    parse::<PairRatio>(text);
    parse::<truerank::relevance::Smoothing>(text);
    parse::<Estimator>(text);
    parse::<truerank::relevance::PriorKind>(text);
    parse::<truerank::relevance::Shrink>(text);
    parse::<truerank::sql::Dialect>(text);
    parse::<LogFormat>(text);
    parse::<ClickList>(text);
    let _ = Columns::default().map_text(text);
    let _ = log::split_mapping(text);
}
