//! The causes that are planted: where, what may be said of each, and what each needs.

mod around;
mod needs;
mod own;

use super::judge::{Blame, any, calls};
use needs::Need;

/// Pattern, transport, size and workers.
const WORDS_OF_WORK: usize = 4;

/// A cause, planted in a cell.
#[derive(Debug)]
pub struct Plant {
    /// Its name, which the library knows as well.
    pub name: &'static str,
    /// What happens, in words.
    pub what: &'static str,
    /// The work of the cell: its id up to the number of workers, and its placement if the plant needs one.
    pub work: &'static str,
    pub way: PlantMethod,
    pub accepts: &'static [Blame],
    /// What may be named as well, because it is true.
    pub company: &'static [Blame],
    /// What is true of the cell without it and so may weigh more.
    pub already: &'static [Blame],
    /// What it needs of this machine.
    needs: &'static [Need],
}

/// How a cause gets into a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlantMethod {
    /// Nothing is planted, but the library is there.
    Nothing,
    /// The client does it for every operation.
    Client,
    Server,
    /// Both sides are the Python peer and encrypt what they send.
    Tls,
    /// The end of the cell's id, after its peers.
    Options(&'static str),
    /// The placement of the cell.
    Placement(&'static str),
    /// The placements of two cells that are compared.
    Placements(&'static str, &'static str),
    /// The end of the id of the first of two cells that are compared; the other has none.
    Against(&'static str),
    /// A script in a network namespace of its own, and the end of the id.
    Namespace(&'static str, &'static str),
    /// So many processors for all of it.
    Quota(f64),
    /// So many processes that take a core in bursts.
    Hogs(usize),
}

impl Plant {
    /// The side that does it, if it is one side's own doing.
    pub fn side(&self) -> Option<&'static str> {
        match self.way {
            PlantMethod::Client => Some("client"),
            PlantMethod::Server => Some("server"),
            _ => None,
        }
    }

    /// The peer in which it is planted, if it cannot be chosen.
    pub fn peer(&self) -> Option<&'static str> {
        (self.way == PlantMethod::Tls).then_some("python")
    }

    /// Whether the time without it is measured as well.
    pub fn is_compared(&self) -> bool {
        match self.way {
            PlantMethod::Nothing
            | PlantMethod::Client
            | PlantMethod::Server
            | PlantMethod::Tls
            | PlantMethod::Against(_)
            | PlantMethod::Placements(..) => true,
            PlantMethod::Options(_)
            | PlantMethod::Placement(_)
            | PlantMethod::Namespace(..)
            | PlantMethod::Quota(_)
            | PlantMethod::Hogs(_) => false,
        }
    }

    /// Whether two cells that the user names are compared: all intervals need more epochs then.
    pub fn is_pair(&self) -> bool {
        matches!(self.way, PlantMethod::Against(_) | PlantMethod::Placements(..))
    }

    /// Whether its cell has a placement of its own.
    pub fn has_placement(&self) -> bool {
        self.work.split('/').count() > WORDS_OF_WORK
    }

    /// Whether something is planted at all.
    pub fn is_control(&self) -> bool {
        self.way == PlantMethod::Nothing
    }

    /// What this machine lacks for it, or this peer.
    pub fn lacks(&self, peer: &str) -> Option<String> {
        let of_way: &[Need] = match self.way {
            PlantMethod::Client | PlantMethod::Server => &[Need::Compiler, Need::Strace],
            PlantMethod::Nothing => &[Need::Compiler],
            _ => &[],
        };
        of_way.iter().chain(self.needs).find_map(|need| need.lacks(peer))
    }
}

/// All of them, the controls last.
pub fn all() -> impl Iterator<Item = &'static Plant> {
    own::PLANTS.iter().chain(around::PLANTS)
}

/// A plant in each request of a client, which waits for the answer.
const PLAIN: Plant = Plant {
    name: "",
    what: "",
    work: "rr/unix/64/c1",
    way: PlantMethod::Client,
    accepts: &[],
    company: &[],
    already: &[],
    needs: &[],
};

const SWITCHES: Blame = any("thread-switches");
const READS: Blame = calls(&["read", "recv", "recvfrom"]);
const WRITES: Blame = calls(&["write", "send", "sendto"]);
