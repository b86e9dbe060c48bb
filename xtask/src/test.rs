//! Tests: those that run anywhere, and those that take a whole system.

use std::time::Duration;

use anyhow::Result;

use crate::dist;
use crate::programs::{Which, built, run_all, time_left};
use crate::shell;
use crate::steps::{self, Step};
use crate::tools::{CARGO_DEB, Package, ensure_maturin, ensure_packages, ensure_rust_target, program};

/// System programs that tests run.
const PACKAGES: &[Package] = &[
    program("cc", &["gcc", "libc6-dev"], "linking, and the C peer"),
    program("ip", &["iproute2"], "tests in network namespaces"),
    program("unshare", &["util-linux"], "tests in network namespaces"),
    program("go", &["golang-go"], "the Go peer"),
    program("python3", &["python3"], "the Python peer"),
    program("ruby", &["ruby"], "the Ruby peers"),
    Package {
        what: "the gems celluloid-io and parallel",
        check: "ruby -e 'require \"celluloid/io\"; require \"parallel\"'",
        names: &["ruby-celluloid-io", "ruby-parallel"],
        needed_for: "the Celluloid peer",
    },
    program("redis-server", &["redis-server"], "the peer that drives it"),
    program("socat", &["socat"], "the peer that drives it"),
    program("pkg-config", &["pkg-config"], "finding libraries"),
    Package {
        what: "libzmq and libnng",
        check: "pkg-config --exists libzmq && test -e /usr/include/nng/nng.h",
        names: &["libzmq3-dev", "libnng-dev"],
        needed_for: "the peers that talk through them",
    },
    program("strace", &["strace"], "comparing system calls"),
    program("git", &["git"], "a bisection of a toy repository"),
    program("bash", &["bash"], "loading the completions"),
    program("groff", &["groff"], "formatting the manual"),
    program("prlimit", &["util-linux"], "limiting descriptors, private mounts and users"),
];

/// What the tests of a whole system run besides.
const SYSTEM_PACKAGES: &[Package] = &[
    program("chromium", &["chromium"], "the HTML report as a browser shows it"),
    program("nft", &["nftables"], "a firewall in a network namespace"),
    program("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64"], "building for Windows"),
    Package {
        what: "Wine",
        check: "test -x /usr/lib/wine/wine64 || command -v wine",
        names: &["wine64"],
        needed_for: "running what was built for Windows",
    },
];

const PYTHON_ENVIRONMENTS: Package = Package {
    what: "Python's virtual environments",
    check: "python3 -c 'import ensurepip'",
    names: &["python3-venv"],
    needed_for: "programs that read tables, the check for ReFrame, the manifests for Kubernetes, and maturin",
};

/// What makes packages, and the systems in which tests install them.
const PACKAGING: &[Package] = &[
    program("aarch64-linux-gnu-gcc", &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"], "packages for ARM"),
    program("qemu-aarch64", &["qemu-user"], "running what was built for ARM"),
    program("mmdebstrap", &["mmdebstrap"], "systems without compilers"),
    program("lintian", &["lintian"], "examining Debian's package"),
    PYTHON_ENVIRONMENTS,
];

/// Servers that `ipcost app` measures: its tests leave out those that cannot be installed, and name them.
const SERVERS: &[Package] = &[
    Package {
        what: "PostgreSQL's server",
        check: "ls /usr/lib/postgresql/*/bin/postgres || command -v postgres",
        names: &["postgresql"],
        needed_for: "ipcost app postgres",
    },
    Package {
        what: "MariaDB's server",
        check: "test -x /usr/sbin/mariadbd || command -v mariadbd",
        // Without the service, which would be started.
        names: &["mariadb-server-core"],
        needed_for: "ipcost app mariadb",
    },
    Package {
        what: "memcached",
        check: "command -v memcached",
        names: &["memcached"],
        needed_for: "ipcost app memcached",
    },
    Package {
        what: "nginx",
        check: "test -x /usr/sbin/nginx || command -v nginx",
        names: &["nginx-light"],
        needed_for: "ipcost app http",
    },
    Package {
        what: "PHP-FPM",
        check: "ls /usr/sbin/php-fpm*",
        names: &["php-fpm"],
        needed_for: "ipcost app fastcgi",
    },
    program("h2o", &["h2o"], "experiments with a proxy"),
    program("ab", &["apache2-utils"], "experiments with web servers"),
    program("sysbench", &["sysbench"], "experiments with MariaDB"),
];

/// Engines that run a job on many machines: the tests of those that cannot be installed say so, and end.
const ENGINES: &[Package] = &[
    program("ansible-playbook", &["ansible-core"], "the role for Ansible"),
    Package {
        what: "sshd",
        check: "test -x /usr/sbin/sshd",
        names: &["openssh-server", "openssh-client"],
        needed_for: "the hosts of the role for Ansible",
    },
    program("pgrep", &["procps"], "the hosts of the role for Ansible"),
    Package {
        what: "Slurm",
        check: "test -x /usr/sbin/slurmctld && test -x /usr/sbin/slurmd && command -v sbatch",
        names: &["slurm-wlm"],
        needed_for: "the scripts for Slurm",
    },
    Package {
        what: "munged",
        check: "test -x /usr/sbin/munged",
        names: &["munge"],
        needed_for: "the scripts for Slurm",
    },
    program("podman", &["podman", "runc"], "the image for Kubernetes"),
    program("kubectl", &["kubernetes-client"], "collecting the documents of Kubernetes"),
    PYTHON_ENVIRONMENTS,
];

/// Tests that take a browser, network namespaces, real servers, collectors, sanitizers or control groups, by module.
const SYSTEM: &[&str] = &[
    "app::",
    "app_tools::",
    "collectors_tools::",
    "connections::",
    "deploy_ansible::",
    "deploy_kubernetes::",
    "deploy_reframe::",
    "deploy_slurm::",
    "explain::",
    "faults_changed::",
    "faults_system::",
    "gallery_browser::",
    "html::",
    "load::",
    "network::",
    "private_servers::",
    "replicate::",
    "sanitizers::",
];

/// Tests of what is built for Windows.
const OF_WINDOWS: &[&str] = &["windows::", "windows_peers::"];

/// Tests of packages, which run once those are made; `deploy_packages` among them.
const OF_PACKAGES: &str = "packages::";

const STEPS: &[Step] = &[
    Step { name: "install what is missing", run: || ensure_packages(PACKAGES) },
    Step { name: "build the program and the tests", run: build },
    Step { name: "unit tests, thousands of simulated campaigns among them", run: unit_tests },
    Step { name: "tests that run the program as a user does", run: user_tests },
];

const SYSTEM_STEPS: &[Step] = &[
    Step { name: "install what is missing", run: install_system },
    Step { name: "build the program and the tests", run: build },
    Step { name: "tests of a whole system", run: || run_all(&built()?, Which::Only(SYSTEM)) },
    Step { name: "TLS", run: tls },
    Step { name: "Windows, under Wine", run: windows },
    Step { name: "packages: packed twice, and used in bare systems", run: packages },
    // Last: it builds the program once more.
    Step { name: "Parquet, read by DuckDB and Polars", run: parquet },
];

/// Runs the tests that run anywhere.
///
/// # Errors
/// The first failure.
pub fn run() -> Result<()> {
    steps::run("test: about three minutes to build the first time, then at most eight", STEPS)
}

/// Runs the tests that take a whole system.
///
/// # Errors
/// The first failure.
pub fn run_system() -> Result<()> {
    steps::run(
        "test --system: about ten minutes, half of them for packages; some tests take root, and say so where they do not have it",
        SYSTEM_STEPS,
    )
}

fn install_system() -> Result<()> {
    ensure_packages(PACKAGES)?;
    ensure_packages(SYSTEM_PACKAGES)?;
    for optional in [SERVERS, ENGINES] {
        if let Err(error) = ensure_packages(optional) {
            println!("{error}");
        }
    }
    ensure_rust_target("x86_64-pc-windows-gnu")
}

/// Packages for Linux, packed twice, then installed and used in bare systems. That a second build is the same to the byte
/// takes as long again: `cargo xtask dist --twice`.
fn packages() -> Result<()> {
    // By what this takes on two slow cores, with its tools to be installed.
    const ALL: Duration = Duration::from_secs(480);
    const WITHOUT_ARM: Duration = Duration::from_secs(360);
    let mut parts = vec!["x86_64", "deb", "npm", "crates"];
    if is_too_late(WITHOUT_ARM) {
        return Ok(());
    }
    let left = time_left();
    if left < ALL {
        eprintln!("xtask: none for ARM, with {} s before the deadline", left.as_secs());
    } else {
        parts.extend(["aarch64", "homebrew"]);
    }
    ensure_packages(PACKAGING)?;
    for target in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"] {
        ensure_rust_target(target)?;
    }
    ensure_maturin()?;
    CARGO_DEB.ensure()?;
    let options = dist::Options::read(&parts)?;
    dist::run(&options)?;
    dist::compare_with(&options, &options)?;
    run_all(&built()?, Which::Only(&[OF_PACKAGES]))
}

fn build() -> Result<()> {
    built().map(drop)
}

fn unit_tests() -> Result<()> {
    let mut programs = built()?;
    programs.retain(|program| program.is_unit);
    run_all(&programs, Which::All)
}

fn user_tests() -> Result<()> {
    let mut programs = built()?;
    programs.retain(|program| !program.is_unit);
    run_all(&programs, Which::Except(&[SYSTEM, OF_WINDOWS, &[OF_PACKAGES]].concat()))
}

/// The program built for Windows and run by Wine: that build takes most of it.
fn windows() -> Result<()> {
    // By what this takes on two slow cores.
    const ALL: Duration = Duration::from_secs(240);
    if is_too_late(ALL) {
        return Ok(());
    }
    run_all(&built()?, Which::Only(OF_WINDOWS))
}

/// Whether less than this is left before the deadline; said, so that nothing is left out in silence.
fn is_too_late(takes: Duration) -> bool {
    let left = time_left();
    let is = left < takes;
    if is {
        eprintln!(
            "xtask: LEFT OUT, with {} s before the deadline; without one: cargo xtask test --system",
            left.as_secs()
        );
    }
    is
}

fn tls() -> Result<()> {
    // Nothing is measured here, and a build that is not optimised takes half as long.
    let plain = ["--config", "profile.dev.package.ipcost-sys.opt-level=0"];
    let test = ["cargo", "test", "-p", "ipcost-sys", "--features", "tls", "--quiet", "--lib"];
    shell::run(&[&test[..], &plain, &["transport"]].concat())
}

/// The output that is a feature of the build: no other step builds what it needs.
fn parquet() -> Result<()> {
    // By what this takes on two slow cores.
    const ALL: Duration = Duration::from_secs(300);
    if is_too_late(ALL) {
        return Ok(());
    }
    let feature = ["--features", "parquet"];
    let test = ["cargo", "test", "--quiet"];
    let lint = ["cargo", "clippy", "--quiet", "-p", "ipcost-report", "-p", "ipcost", "--all-targets"];
    shell::run(&[&lint[..], &feature, &["--", "--deny", "warnings"]].concat())?;
    shell::run(&[&test[..], &["-p", "ipcost-report"], &feature, &["--lib", "dataset"]].concat())?;
    shell::run(&[&test[..], &["-p", "ipcost"], &feature, &["--test", "it", "parquet::"]].concat())
}
