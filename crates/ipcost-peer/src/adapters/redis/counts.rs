//! Counters and usage of a redis-server, which is asked only between batches.

use ipcost_model::Usage;
use ipcost_sys::driven_program;

use super::control::ControlConnection;
use super::key::RedisKey;
use crate::PeerError;
use crate::adapters::refused;

/// All counters at one time.
#[derive(Debug, Clone, Copy, Default)]
pub struct RedisCounts {
    pub value: u64,
    /// Calls of `INCR`, and their time according to redis, microseconds.
    calls: u64,
    usec: u64,
    /// Times from the server, and switches from the kernel.
    usage: Usage,
    /// The process's own clock; 0 if the process is not visible.
    cpu_ns: u64,
}

impl RedisCounts {
    /// Before a batch; requests that cost the server something come first.
    pub fn at_begin(
        control: &mut ControlConnection,
        key: &RedisKey,
        process: Option<u32>,
    ) -> Result<Self, PeerError> {
        let mut counts = Self::default();
        counts.ask_value(control, key)?;
        counts.ask_commands(control)?;
        counts.ask_usage(control)?;
        counts.read_process(process);
        Ok(counts)
    }

    /// After a batch; requests that cost the server something come last.
    pub fn at_end(
        control: &mut ControlConnection,
        key: &RedisKey,
        process: Option<u32>,
    ) -> Result<Self, PeerError> {
        let mut counts = Self::default();
        counts.read_process(process);
        counts.ask_usage(control)?;
        counts.ask_commands(control)?;
        counts.ask_value(control, key)?;
        Ok(counts)
    }

    fn ask_value(&mut self, control: &mut ControlConnection, key: &RedisKey) -> Result<(), PeerError> {
        let value = control.ask_text(&["GET", &key.padded])?.parse();
        let gone =
            |_| refused(format!("the key {} is gone from the redis server at {}", key.name, control.server));
        self.value = value.map_err(gone)?;
        Ok(())
    }

    /// From a line such as `cmdstat_incr:calls=20,usec=31,usec_per_call=1.55,…`, which is missing before the first
    /// call.
    fn ask_commands(&mut self, control: &mut ControlConnection) -> Result<(), PeerError> {
        let line = control.ask_info("commandstats", "cmdstat_incr")?.unwrap_or_default();
        let number = |name: &str| {
            let value = line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse().ok()).unwrap_or_default()
        };
        (self.calls, self.usec) = (number("calls"), number("usec"));
        Ok(())
    }

    /// All threads, in microseconds, from getrusage(2).
    fn ask_usage(&mut self, control: &mut ControlConnection) -> Result<(), PeerError> {
        let mut seconds = |name: &str| -> Result<u64, PeerError> {
            let value = control.ask_info("cpu", name)?.and_then(|value| value.parse::<f64>().ok());
            let missing = || {
                refused(format!("the redis server at {} does not tell {name} in INFO cpu", control.server))
            };
            Ok((value.ok_or_else(missing)? * 1e9).round() as u64)
        };
        (self.usage.user_ns, self.usage.sys_ns) = (seconds("used_cpu_user")?, seconds("used_cpu_sys")?);
        Ok(())
    }

    /// Its clock counts nanoseconds, and reading it costs the server nothing: a request costs it some 30
    /// microseconds.
    fn read_process(&mut self, process: Option<u32>) {
        if let Some((cpu_ns, switches)) = process.and_then(driven_program::used_by) {
            self.cpu_ns = cpu_ns;
            self.usage.voluntary_switches = switches.voluntary_switches;
            self.usage.involuntary_switches = switches.involuntary_switches;
        }
    }

    /// Usage since then, by its clock, split into user and system in the server's proportions.
    pub fn used_since(&self, before: &Self) -> Usage {
        let used = self.usage - before.usage;
        match (before.cpu_ns, self.cpu_ns) {
            (0, _) | (_, 0) => used,
            (before, after) => used.scaled_to(after.saturating_sub(before)),
        }
    }

    /// Microseconds per call, as redis counts them; a given server's statistics may have been reset in between.
    pub fn usec_per_call_since(&self, before: &Self) -> Option<f64> {
        let (calls, usec) = (self.calls.checked_sub(before.calls)?, self.usec.checked_sub(before.usec)?);
        (calls > 0).then(|| usec as f64 / calls as f64)
    }
}
