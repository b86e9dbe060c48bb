//! What system calls are made on, and in which manner.

use crate::named;

named! {
    /// What a call's first descriptor is.
    Object, "object" {
        /// A socket.
        Socket = "socket",
        /// A pipe.
        Pipe = "pipe",
        /// A file in a directory, or a FIFO.
        File = "file",
        /// A file under `/dev`.
        Device = "device",
        /// An event counter (`eventfd(2)`).
        Event = "event",
    }
}

named! {
    /// In which manner a call is made, where that tells what it is for.
    CallMode, "manner" {
        /// Reads the five bytes that precede every record of TLS.
        RecordHeader = "record-header",
        /// Waits for a mutex that another thread holds.
        MutexWait = "mutex-wait",
        /// Waits for a word of memory to change, or for a condition.
        WordWait = "word-wait",
        /// Wakes who waits for a word of memory.
        WordWake = "word-wake",
        /// Waits for a lock on a file, if another has it.
        FileLock = "file-lock",
        /// Waits for a time only: no descriptor is given.
        TimeOnly = "time-only",
        /// Writes to standard error.
        StandardError = "standard-error",
    }
}
