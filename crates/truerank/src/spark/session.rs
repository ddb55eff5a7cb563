//! A session on a Spark Connect server: plans enter, all that they give leaves, however long they take.
//!
//! A server ends each stream of responses after a while (two minutes, by default) though the work goes on, and expects to be
//! asked for the rest. So the end of a stream means nothing; a result is complete when the server says so. The client's own
//! streams take the one for the other: a step of more than two minutes seemed done, and the next one read what was not there
//! yet. Here every stream is read to the word that it is complete.

use std::collections::HashMap;
use std::io::Cursor;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use spark_connect_core::{
    ChannelBuilder, ExecutePlanResponseReattachableIterator as Operation, RetryPolicy, RetryPolicyState,
    SparkConnectClient, SparkError, block_on,
};
use spark_connect_proto::command::CommandType;
use spark_connect_proto::execute_plan_response::ResponseType;
use spark_connect_proto::plan::OpType;
use spark_connect_proto::relation::RelType;
use spark_connect_proto::write_operation::{SaveMode, SaveType};
use spark_connect_proto::{
    Command, CreateDataFrameViewCommand, ExecutePlanRequest, Plan, Read, Relation, Sql, UserContext, WriteOperation,
    read,
};

/// Errors of the client are large.
type Result<T> = std::result::Result<T, Box<SparkError>>;

/// The number of gRPC's "not available": whoever is asked may answer later.
const UNAVAILABLE: i32 = 14;

/// What a server says of work that it has not heard of.
const UNKNOWN: [&str; 2] = ["OPERATION_NOT_FOUND", "SESSION_NOT_FOUND"];

/// What it says of work that it has heard of.
const KNOWN: &str = "OPERATION_ALREADY_EXISTS";

pub(super) struct Session {
    client: SparkConnectClient,
}

impl Session {
    pub fn open(url: &str) -> Result<Self> {
        let client = block_on(SparkConnectClient::connect(&ChannelBuilder::parse(url)?))?;
        Ok(Session { client })
    }

    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        Ok(block_on(self.client.set_config(key, value))?)
    }

    /// The rows of a relation.
    pub fn collect(&self, relation: Relation) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        self.run(OpType::Root(relation), |response| {
            if let ResponseType::ArrowBatch(batch) = response {
                let failed = |e: arrow_schema::ArrowError| SparkError::connect_msg(format!("damaged rows: {e}"));
                for batch in StreamReader::try_new(Cursor::new(batch.data), None).map_err(failed)? {
                    batches.push(batch.map_err(failed)?);
                }
            }
            Ok(())
        })?;
        Ok(batches)
    }

    /// Gives a relation a name.
    pub fn name(&self, relation: Relation, name: &str) -> Result<()> {
        let view = CreateDataFrameViewCommand {
            input: Some(relation),
            name: name.to_string(),
            is_global: false,
            replace: true,
        };
        self.command(CommandType::CreateDataframeView(view))
    }

    /// Writes a relation's rows to a folder of Parquet files.
    pub fn save(&self, relation: Relation, url: &str) -> Result<()> {
        self.command(CommandType::WriteOperation(WriteOperation {
            input: Some(relation),
            source: Some("parquet".to_string()),
            save_type: Some(SaveType::Path(url.to_string())),
            mode: SaveMode::Overwrite as i32,
            ..WriteOperation::default()
        }))
    }

    /// Stops what still runs, and forgets the session.
    pub fn close(&self) -> Result<()> {
        block_on(self.client.interrupt_all())?;
        Ok(block_on(self.client.release_session())?)
    }

    fn command(&self, command: CommandType) -> Result<()> {
        self.run(OpType::Command(Command { command_type: Some(command) }), |_| Ok(()))
    }

    /// Has a plan done, and hands over its responses, until the server says that these were all.
    fn run(&self, plan: OpType, mut take: impl FnMut(ResponseType) -> Result<()>) -> Result<()> {
        let operation = Operation::new(self.request(plan));
        let begin = || Ok(block_on(self.client.execute_plan(operation.request().clone()))?);
        let resume =
            || Ok(block_on(async { self.client.reattach_execute(operation.create_reattach_request().await).await })?);
        let is_fresh = || block_on(operation.last_response_id()).is_none();
        let mut patience = Patience::new();
        let mut stream = patience.open(false, is_fresh, begin, resume)?;
        while !block_on(operation.is_completed()) {
            match block_on(stream.message()) {
                Ok(Some(response)) => {
                    patience = Patience::new();
                    block_on(operation.set_last_response_id(&response));
                    response.response_type.map_or(Ok(()), &mut take)?;
                }
                Err(status) if !RetryPolicy::default().can_retry(&status) => {
                    return Err(Box::new(SparkError::from_grpc_status(status)));
                }
                Ok(None) | Err(_) => stream = patience.open(true, is_fresh, begin, resume)?,
            }
        }
        // What the server has kept of the result it drops later in any case.
        let _ = block_on(async { self.client.release_execute(operation.create_release_request(true).await).await });
        Ok(())
    }

    fn request(&self, plan: OpType) -> ExecutePlanRequest {
        let user_id = self.client.user_id().unwrap_or_default().to_string();
        ExecutePlanRequest {
            session_id: self.client.session_id().to_string(),
            user_context: Some(UserContext { user_id, ..UserContext::default() }),
            plan: Some(Plan { op_type: Some(plan) }),
            ..ExecutePlanRequest::default()
        }
    }
}

/// How long a server is asked again.
struct Patience(RetryPolicyState);

impl Patience {
    fn new() -> Self {
        Patience(RetryPolicyState::new(RetryPolicy::default()))
    }

    /// A stream of responses of work that the server may have heard of or not, whatever was lost on the way. Work of which there
    /// were responses is never begun again.
    fn open<S>(
        &mut self,
        mut is_known: bool,
        is_fresh: impl Fn() -> bool,
        begin: impl Fn() -> Result<S>,
        resume: impl Fn() -> Result<S>,
    ) -> Result<S> {
        loop {
            let error = match if is_known { resume() } else { begin() } {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            let says = |sign: &str| error.to_string().contains(sign);
            let is_mistaken = match is_known {
                true => is_fresh() && UNKNOWN.into_iter().any(says),
                false => says(KNOWN),
            };
            if !is_mistaken && error.grpc_code() != Some(UNAVAILABLE) {
                return Err(error);
            }
            is_known ^= is_mistaken;
            match self.0.next_attempt(None) {
                Some(milliseconds) => std::thread::sleep(Duration::from_millis(milliseconds)),
                None => return Err(error),
            }
        }
    }
}

/// What a query gives.
pub(super) fn query(text: &str) -> Relation {
    relation(RelType::Sql(Sql { query: text.to_string(), ..Sql::default() }))
}

/// What files hold.
pub(super) fn files(format: &str, url: &str, schema: &str, options: &[(&str, &str)]) -> Relation {
    let options: HashMap<String, String> =
        options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let source = read::DataSource {
        format: Some(format.to_string()),
        schema: (!schema.is_empty()).then(|| schema.to_string()),
        options,
        paths: vec![url.to_string()],
        ..read::DataSource::default()
    };
    relation(RelType::Read(Read { is_streaming: false, read_type: Some(read::ReadType::DataSource(source)) }))
}

fn relation(kind: RelType) -> Relation {
    Relation { common: None, rel_type: Some(kind) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn said(message: &str) -> Box<SparkError> {
        Box::new(SparkError::connect_msg(message))
    }

    #[test]
    fn work_that_was_heard_of_is_taken_up_and_other_work_is_begun() {
        let begun = Cell::new(0);
        let begin = || {
            begun.set(begun.get() + 1);
            if begun.get() == 1 { Err(said("[INVALID_HANDLE.OPERATION_ALREADY_EXISTS]")) } else { Ok("new") }
        };
        assert_eq!(Patience::new().open(false, || true, begin, || Ok("old")).unwrap(), "old");
        let unknown = || Err(said("[INVALID_HANDLE.OPERATION_NOT_FOUND]"));
        assert_eq!(Patience::new().open(true, || true, begin, unknown).unwrap(), "new");
        assert!(Patience::new().open(true, || false, begin, unknown).is_err());
        assert_eq!(begun.get(), 2);
    }
}
