//! What a Unix socket saves a database, a cache or a web server, for the user's own requests.

mod claim;
mod curves;
mod judge;
mod page;
mod record;
mod run;
mod words;

use ipcost_model::Document;
use ipcost_report::page::Page;

use crate::answer::{Answer, AnswerKind};

pub use ipcost_peer::adapters::app::{
    BurstOutcome, GivenAddress, KINDS, Login, NamedServer, ServerAddress, ServerKind, UNKNOWN_OWNER, find,
    find_named,
};

pub use self::judge::judge;
pub use self::page::page;
pub use self::record::{
    APP_SCHEMA, App, AtRate, Burst, Checked, Curve, MeasuredRequest, OtherSide, Others, RanShare, Saving,
    ServerSocket, SideCost,
};
pub(crate) use self::run::no_network;
pub use self::run::{
    AppRequest, BurstRoom, SeenServer, burst, keep_others_out, look, peer_of, ports_to, prepare, to_explain,
};

/// Its line of the registry.
pub(crate) const ANSWER: AnswerKind = AnswerKind::of::<App>(APP_SCHEMA, "app").told_apart_by("/server");

impl Answer for App {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page(self, document)
    }
}
