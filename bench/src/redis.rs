//! A private redis-server.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::processes::{RunningChild, free_port, on_processor, wait_for};
use xtask::shell::path_text;

/// A redis-server on a port of loopback and on a path, without persistence.
pub struct PlainRedis {
    _server: RunningChild,
    path: String,
    port: String,
}

impl PlainRedis {
    /// Starts one in an empty directory, and waits until it answers.
    pub fn start(dir: &Path, processor: Option<usize>) -> Result<Self> {
        let path = path_text(&dir.join("redis"))?.to_owned();
        let port = free_port()?.to_string();
        let mut command = on_processor(processor, "redis-server");
        command
            .args(["--port", &port, "--bind", "127.0.0.1", "--unixsocket", &path])
            .args(["--save", "", "--appendonly", "no", "--dir", path_text(dir)?])
            .stdout(Stdio::null());
        let redis = Self { _server: RunningChild::start(&mut command)?, path, port };
        wait_for(|| redis.ask(&["PING"]).is_ok_and(|reply| reply.trim() == "PONG"))?;
        Ok(redis)
    }

    /// The path of its socket.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn port(&self) -> &str {
        &self.port
    }

    /// The reply to a command.
    pub fn ask(&self, words: &[&str]) -> Result<String> {
        let output = Command::new("redis-cli").args(["-s", &self.path]).args(words).output()?;
        ensure!(output.status.success(), "redis-cli: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }
}
