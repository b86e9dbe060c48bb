//! A real browser without a window, driven over a pipe by the DevTools protocol.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the browser may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// One browser with one page.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What it told without being asked.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts Debian's Chromium, which `cargo xtask test` installs; it reaches no network.
    pub fn start() -> Self {
        let profile = TempDir::new().unwrap();
        let data = format!("--user-data-dir={}", profile.path().display());
        // Chromium speaks on descriptors 3 and 4; a shell can put them there.
        let mut process = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .args(["--remote-debugging-pipe", &data, "--window-size=1100,1000", "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = listen(process.stdout.take().unwrap());
        let mut browser =
            Self { process, to, from, session: None, last: 0, events: vec![], _profile: profile };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": page, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        // Counted in processor time, so that a busy machine does not bear on it.
        browser.call("Performance.enable", json!({"timeDomain": "threadTicks"}));
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks, and waits for the answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.hear(deadline, method);
            if answer["id"] == json!(self.last) {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn hear(&self, deadline: Instant, what: &str) -> Value {
        match self.from.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("the browser left {what} unanswered"),
            Err(RecvTimeoutError::Disconnected) => {
                panic!("the browser is gone; is the package chromium installed?")
            }
        }
    }

    /// Waits for something that it tells unasked.
    pub fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(&fits) {
            let event = self.hear(deadline, "an event");
            self.events.push(event);
        }
    }

    /// Opens a file, and waits until it is drawn.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        self.wait_for(|event| event["method"] == "Page.loadEventFired");
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// The processor time that the page's main thread has taken so far.
    pub fn busy(&mut self) -> Duration {
        let metrics = self.call("Performance.getMetrics", json!({}))["metrics"].clone();
        let of_tasks = |metric: &&Value| metric["name"] == "TaskDuration";
        let found = metrics.as_array().unwrap().iter().find(of_tasks).unwrap();
        Duration::from_secs_f64(found["value"].as_f64().unwrap())
    }

    /// The value of an expression in the page, awaited.
    #[track_caller]
    pub fn run(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true}),
        );
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].clone()
    }

    /// Whatever the page complained about since it was opened: exceptions, violations, lines of the console.
    pub fn complaints(&self) -> Vec<String> {
        let kinds = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let told = self.events.iter().filter(|event| kinds.iter().any(|kind| event["method"] == **kind));
        told.map(|event| event["params"].to_string()).collect()
    }

    /// What the page asked for since it was opened, by address.
    pub fn requests(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own end takes its helpers with it; a kill would leave them.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.process.wait();
    }
}

/// Messages as they come, each ended by a zero byte.
fn listen(from: ChildStdout) -> Receiver<Value> {
    let (to, messages) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(from).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { return };
            if to.send(message).is_err() {
                return;
            }
        }
    });
    messages
}
