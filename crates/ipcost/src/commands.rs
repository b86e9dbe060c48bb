//! Every command: what it does, its arguments, what runs it, and examples. To add one is to add it here.

use std::process::ExitCode;

use clap::Subcommand;

use crate::args::*;
use crate::exit::Problem;

/// A command line and what it does.
pub type Examples = &'static [(&'static str, &'static str)];

/// A line is a command's summary, its name, its variant with the arguments, what runs it, and its examples; hidden ones are for the program itself.
macro_rules! commands {
    ($($group:literal: { $(#[doc = $about:literal] $name:ident: $variant:ident($args:ty), $run:expr, $examples:expr;)+ })+
     hidden: { $(#[doc = $hidden_about:literal] $hidden:ident($hidden_args:ty), $hidden_run:expr;)+ }) => {
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[doc = $about] $variant($args),)+)+
            $(#[doc = $hidden_about] #[command(hide = true)] $hidden($hidden_args),)+
        }

        impl Command {
            pub fn run(self) -> Result<ExitCode, Problem> {
                match self {
                    $($(Self::$variant(args) => ($run)(args),)+)+
                    $(Self::$hidden(args) => ($hidden_run)(args),)+
                }
            }
        }

        /// The commands that users see, in the order of their work.
        pub const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($name)),+])),+];

        /// Of the whole program under the empty name.
        pub const EXAMPLES: &[(&str, Examples)] = &[("", OF_THE_PROGRAM), $($((stringify!($name), $examples)),+),+];
    };
}

const OF_THE_PROGRAM: Examples = &[
    ("ipcost", "the default suite: which transport is cheapest here"),
    ("ipcost --transports unix,tcp --sizes 4KiB", "your own load"),
    ("ipcost app redis", "what a Unix socket would save a Redis client"),
];

commands! {
    "Measure": {
        /// Measure transports under your own load, from flags or a job file
        run: Run(Box<RunArgs>), |args: Box<RunArgs>| crate::run::run(*args), &[
            ("ipcost run --transports unix,tcp --patterns rr --sizes 200 --replies 4KiB", "requests of 200 B, replies of 4 KiB"),
            ("ipcost run job.toml --budget 2min --html report.html", "a job file, for longer, as a page"),
        ];
        /// Measure what a Unix socket saves a database, cache or web server
        app: App(Box<AppArgs>), |args: Box<AppArgs>| crate::app::run(*args), &[
            ("ipcost app postgres --request 'SELECT 1'", "a private server, started for this and removed"),
            ("ipcost app redis --unix /run/redis/redis-server.sock --tcp 127.0.0.1:6379", "your own server, on both its sockets"),
        ];
        /// Find the highest rate that each transport carries within a latency limit
        load: Load(Box<LoadArgs>), |args: Box<LoadArgs>| crate::load::run(&args), &[
            ("ipcost load", "up to which rate each transport stays under 1 ms at p99"),
            ("ipcost load --transports unix,tcp --concurrency 8 --limit 200us", "over eight connections"),
        ];
        /// Compare two settings, libraries or builds
        ab: Ab(Box<AbArgs>), |args: Box<AbArgs>| crate::ab::run(*args), &[
            ("ipcost ab --a 'sysctl -w net.core.busy_poll=0' --b 'sysctl -w net.core.busy_poll=50'", "a setting; it is put back afterwards"),
            ("ipcost ab --b-env LD_PRELOAD=libjemalloc.so.2 --patterns rr --client c --server c", "a library, for peers in C"),
        ];
        /// Find where one transport overtakes another: by size, pause, work or core
        sweep: Sweep(SweepArgs), |args| crate::sweep::run(&args), &[
            ("ipcost sweep size --transports unix,tcp --patterns stream", "the size from which the other one costs less"),
            ("ipcost sweep pace", "what calls cost that come once in a while"),
        ];
        /// Repeat published experiments and check their claims
        replicate: Replicate(ReplicateArgs), |args| crate::replicate::run(&args), &[
            ("ipcost replicate", "the experiments that are known"),
            ("ipcost replicate c-stream --html c-stream.html", "one of them, as a page"),
        ];
    }
    "Understand": {
        /// Show which programs talk to each other here, over what and how much
        watch: Watch(WatchArgs), |args| crate::watch::run(&args), &[
            ("ipcost watch", "who talks to whom on this machine"),
            ("ipcost watch --port 6379 --for 10s", "who talks to the server at this port, how much and how often"),
        ];
        /// Show where the time goes, or why two transports differ
        explain: Explain(Box<ExplainArgs>), |args: Box<ExplainArgs>| crate::explain::run(&args), &[
            ("ipcost explain rr/tcp/64/c1/together rr/unix/64/c1/together", "why these two differ"),
            ("ipcost explain job.toml", "the two cells of a job file"),
        ];
        /// Find what distorts results on this machine, and the remedies
        doctor: Doctor(DoctorArgs), |args| crate::doctor::run(&args), &[
            ("ipcost doctor --all", "everything that was examined"),
        ];
        /// Compare two runs, or two sets of runs
        compare: Compare(CompareArgs), |args| crate::compare::run(&args), &[
            ("ipcost compare before after", "two runs, by their names"),
            ("ipcost compare a1.json a2.json a3.json -- b1.json b2.json b3.json", "three of each"),
        ];
        /// Check your own claims about this machine, in CI too
        check: Check(CheckArgs), |args| crate::check::run(&args), &[
            ("ipcost check claims.toml", "exit status 1 if a claim fails"),
        ];
    }
    "Saved runs": {
        /// Show a saved run again, or convert it: HTML, CSV, Markdown, pictures
        show: Show(ShowArgs), |args| crate::show::run(&args), &[
            ("ipcost show", "the last run again"),
            ("ipcost show before --details", "one by its name, with rates and percentiles"),
            ("ipcost show last --html report.html", "the last run as a page"),
            ("ipcost show a.json --markdown -", "a document for a pull request"),
        ];
        /// List saved runs, or show when a cost changed
        list: List(ListArgs), |args| crate::history::list(&args), &[
            ("ipcost list", "what is saved"),
            ("ipcost list --trend rr/unix/64/c1/together", "when that cell's cost changed"),
        ];
        /// Continue a run that was killed
        resume: Resume(ResumeArgs), |args| crate::resume::run(&args), &[
            ("ipcost resume", "the newest run that was killed"),
        ];
        /// Remove saved runs
        prune: Prune(PruneArgs), |args| crate::history::prune(&args), &[
            ("ipcost prune --keep 20", "all but the newest twenty"),
        ];
    }
    "Fleet": {
        /// Combine the results of many hosts
        fleet: Fleet(FleetArgs), |args| crate::fleet::run(&args), &[
            ("ipcost fleet results/documents", "what all these hosts show together"),
        ];
    }
    "For developers": {
        /// Run the built-in peer: the control protocol on standard input
        peer: Peer(PeerArgs), peer, &[
            ("ipcost peer", "what other programs start as their counterpart"),
        ];
        /// Test a peer against the control protocol
        conformance: Conformance(ConformanceArgs), |args| crate::conformance::run(&args), &[
            ("ipcost conformance go", "a built-in peer"),
            ("ipcost conformance mine='./my-server --fast'", "your own"),
        ];
        /// Print the JSON Schema of the output files
        schema: Schema(SchemaArgs), |args| crate::schema::run(&args), &[
            ("ipcost schema document", "what --json writes"),
        ];
        /// Test this program on this machine: error rates, time to a verdict
        selftest: Selftest(SelfTestArgs), |args| crate::selftest::run(&args), &[
            ("ipcost selftest --budget 2min", "how often verdicts are wrong here"),
        ];
        /// Print the manual page
        man: Man(ManArgs), |args| crate::shell::man(&args), &[
            ("ipcost man run", "the page of a command"),
        ];
        /// Print a completion script for your shell
        completions: Completions(CompletionsArgs), |args| crate::shell::completions(&args), &[
            ("ipcost completions bash", "for ~/.local/share/bash-completion/completions/ipcost"),
        ];
        /// Show a command's flags, or transports, peers, options, formats
        help: Help(HelpArgs), |args| crate::shell::help(&args), &[
            ("ipcost help run", "a command"),
            ("ipcost help transports", "what can be compared here"),
        ];
    }
    hidden: {
        /// Watch over a run and clean up should it be killed
        Guard(NoArgs), |_| done(ipcost_lab::guard::run());
        /// Run a shell command, and end it with everything that it has started
        Shell(ShellArgs), shell_command;
        /// Hold a network namespace for peers
        Namespace(NoArgs), |_| done(ipcost_sys::net_namespace::hold());
        /// Take a processor in bursts
        Hog(NoArgs), |_| ipcost_features::selftest::hog();
    }
}

impl Default for Command {
    fn default() -> Self {
        Self::Run(Box::default())
    }
}

fn peer(PeerArgs { name, arguments }: PeerArgs) -> Result<ExitCode, Problem> {
    let well = match name {
        None => ipcost_peer::run(Ok(Box::new(ipcost_peer::Native))),
        Some(name) => ipcost_peer::adapters::run(&name, &arguments),
    };
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn shell_command(ShellArgs { lock, line }: ShellArgs) -> Result<ExitCode, Problem> {
    let status = ipcost_sys::whole_command::run(&line, lock);
    status.map(ExitCode::from).map_err(|error| Problem::failed(error.into()))
}

fn done<E: Into<anyhow::Error>>(result: Result<(), E>) -> Result<ExitCode, Problem> {
    result.map(|()| ExitCode::SUCCESS).map_err(|error| Problem::failed(error.into()))
}
