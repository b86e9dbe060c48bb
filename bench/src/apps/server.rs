//! A private server as `ipcost app` starts one: as its package's user, in a directory of its own, ended with this program.

use anyhow::{Context, Result};
use ipcost_features::app::ServerAddress;
use ipcost_lab::ProcessBench;
use ipcost_model::{Lasts, ServiceCommand};

use crate::common::{BenchCells, ipcost};
use crate::processes::on_processor;

/// A bench has cells; this one is never measured.
const CELL: &str = "[[cells]]\npattern = \"rr\"\ntransport = \"unix\"\nsize = 64\n";

/// Which of its sockets a server is asked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSocket {
    Unix,
    Tcp,
}

/// A server that is ended when this value is dropped.
pub struct StartedServer {
    _bench: ProcessBench,
    /// The path of its Unix socket.
    pub path: String,
    pub port: String,
}

impl StartedServer {
    /// Starts one on a processor, and waits until it answers.
    pub fn start(kind: &str, processor: usize) -> Result<Self> {
        let mut keeper = on_processor(Some(processor), &ipcost().to_string_lossy());
        keeper.args(["peer", "app", kind, "--service"]);
        let words = [keeper.get_program()].into_iter().chain(keeper.get_args());
        let command = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let service = ServiceCommand { command, lasts: Lasts::Run };
        let mut bench =
            BenchCells::new(CELL, &[])?.bench.with_services([(kind.to_owned(), service)].into())?;
        bench.serve(kind)?;
        let at = |transport| {
            let address = bench.address_of_service(kind, transport).context("the server tells no address")?;
            ServerAddress::of(transport, &address).map_err(anyhow::Error::new)
        };
        let (path, port) = (at("unix")?.to_string(), at("tcp")?.port().context("no port")?.to_string());
        Ok(Self { _bench: bench, path, port })
    }
}
