//! What the system says of itself (`uname(2)`).

/// What the system says of itself; what it keeps in files is read elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Its name in the network.
    pub name: String,
    /// The kernel's release.
    pub kernel: String,
    /// The kernel's version, with what it was built with.
    pub version: String,
    /// The processor's model name, where no file has it.
    pub cpu: Option<String>,
    /// Memory, bytes, where no file has it.
    pub memory_bytes: Option<u64>,
    /// The version of Wine, where that stands in the place of Windows.
    pub wine: Option<String>,
}

/// Asks it.
pub fn read() -> Machine {
    let uname = rustix::system::uname();
    Machine {
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        version: uname.version().to_string_lossy().into_owned(),
        ..Machine::default()
    }
}
