//! What plants need of a machine.

use std::net::UdpSocket;
use std::path::Path;

use ipcost_sys::quota::Quota;

use crate::causes::libraries::{certificate, files};
use xtask::shell::{path_text, succeeds};

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Something that not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A C compiler, for the library of plants.
    Compiler,
    /// `strace`, without which no call has a name.
    Strace,
    Python,
    /// Files on a device, where the target directory is.
    Storage,
    Namespaces,
    Firewall,
    /// Quotas of processor time.
    Quotas,
    Cores,
    /// Huge pages on request.
    HugePages,
    NameServerPort,
    /// A certificate, made by `openssl`.
    Certificate,
    /// A peer in which threads need not share descriptors.
    NotPython,
}

impl Need {
    /// What is missing, in words; `None` if nothing is.
    pub fn lacks(self, peer: &str) -> Option<String> {
        let (is_there, reason) = match self {
            Self::Compiler => {
                (succeeds(&["cc", "--version"]), "cc is not installed: apt-get install gcc libc6-dev")
            }
            Self::Strace => (succeeds(&["strace", "-V"]), "strace is not installed: apt-get install strace"),
            Self::Python => {
                (succeeds(&["python3", "--version"]), "python3 is not installed: apt-get install python3")
            }
            Self::Storage => (has_storage(), "the target directory is not on a device that reads directly"),
            Self::Namespaces => {
                (succeeds(&["unshare", "--net", "true"]), "no network namespaces: run as root")
            }
            Self::Firewall => {
                (succeeds(&["nft", "--version"]), "nft is not installed: apt-get install nftables")
            }
            Self::Quotas => (Quota::impose(1.0).is_ok(), "no quotas: run as root, with control groups"),
            Self::Cores => (has_cores(), "the program may use one core only"),
            Self::HugePages => (has_huge_pages(), "huge pages are switched off"),
            Self::NameServerPort => {
                (UdpSocket::bind("127.0.0.1:53").is_ok(), "port 53 is taken, or takes root")
            }
            Self::Certificate => {
                (certificate().is_ok(), "openssl makes no certificate: apt-get install openssl")
            }
            Self::NotPython => (peer != "python", "threads of Python always share descriptors"),
        };
        (!is_there).then(|| reason.to_owned())
    }
}

/// File systems in memory refuse to read directly.
fn has_storage() -> bool {
    let Ok(cold) = files().map(|files| files.join("cold")) else { return false };
    let reads = |cold: &Path| Some(format!("if={}", path_text(cold).ok()?));
    reads(&cold).is_some_and(|from| {
        succeeds(&["dd", &from, "of=/dev/null", "bs=4096", "count=1", "iflag=direct", "status=none"])
    })
}

fn has_cores() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
}

fn has_huge_pages() -> bool {
    std::fs::read_to_string(HUGE_PAGES).is_ok_and(|text| !text.contains("[never]"))
}
