//! Tests: those that run anywhere, and those that take a whole system.

use anyhow::Result;

use crate::dist;
use crate::pool::{PooledTest, TestStage, built, run_all};
use crate::steps::{self, TaskStep};
use crate::tally::TestTally;
use crate::tools::{
    CARGO_DEB, Package, ensure_maturin, ensure_packages_for_tests, ensure_rust_target, program,
};

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
    program("jq", &["jq"], "what collectors take"),
    program("git", &["git"], "a bisection of a toy repository"),
    program("bash", &["bash"], "loading the completions"),
    program("zsh", &["zsh"], "reading the completions"),
    program("fish", &["fish"], "reading the completions"),
    program("groff", &["groff"], "formatting the manual"),
    program("prlimit", &["util-linux"], "limiting descriptors, private mounts and users"),
];

/// What the tests of a whole system run besides.
const SYSTEM_PACKAGES: &[Package] = &[
    program("chromium", &["chromium"], "the HTML report as a browser shows it"),
    program("nft", &["nftables"], "a firewall in a network namespace"),
    program("sockperf", &["sockperf"], "round trips at a rate"),
    program("bindfs", &["bindfs"], "a mount that never answers"),
    program("cyclictest", &["rt-tests"], "how late a program that sleeps is woken"),
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
    program("npm", &["npm"], "installing the package for npm"),
    PYTHON_ENVIRONMENTS,
];

/// Servers that `ipcost app` measures.
const SERVERS: &[Package] = &[
    Package {
        what: "PostgreSQL's server",
        check: "ls /usr/lib/postgresql/*/bin/postgres || command -v postgres",
        names: &["postgresql"],
        needed_for: "ipcost app postgres",
    },
    Package {
        what: "MariaDB's server",
        // The other program is called by mariadb-install-db, which makes the database of a test.
        check: "{ test -x /usr/sbin/mariadbd || command -v mariadbd; } && command -v my_print_defaults",
        // Without the service, which would be started.
        names: &["mariadb-server-core", "mariadb-client-core"],
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

/// Engines that run a job on many machines.
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

/// Tests that take a browser, network namespaces, real servers, collectors, sanitizers, control groups or a build, by module.
const SYSTEM: &[&str] = &[
    "additions::", "app::", "app_tools::", "collectors_tools::", "connections::", "deploy_ansible::",
    "deploy_kubernetes::", "deploy_reframe::", "deploy_slurm::", "explain::", "faults_changed::",
    "faults_system::", "html::", "load::", "network::", "other_users::", "pace_tools::", "private_servers::",
    "replicate::", "sanitizers::", "watch::", "watch_bounds::", "watch_servers::", "watch_slow::",
];

/// Tests of what is built for Windows.
const OF_WINDOWS: &[&str] = &["windows::", "windows_peers::"];

/// Tests of packages, which run once those are made.
const OF_PACKAGES: &[&str] = &["deploy_packages::", "packages::"];

/// Tests at once for each core: most wait most of the time.
pub const AT_ONCE: usize = 3;
/// Those of a whole system, which start browsers, servers and traced programs.
const AT_ONCE_OF_SYSTEM: usize = 2;

/// All packages, each a name that `--allow-missing` takes.
const ALL_PACKAGES: &[&[Package]] = &[PACKAGES, SYSTEM_PACKAGES, PACKAGING, SERVERS, ENGINES];

/// Runs the tests that run anywhere; of what this machine lacks, these names may be missing, separated by commas.
pub fn run(may_be_missing: &str) -> Result<()> {
    let tally = TestTally::new(may_be_missing, ALL_PACKAGES)?;
    let steps = [
        TaskStep { name: "install what is missing", run: &|| ensure_packages_for_tests(PACKAGES, &tally) },
        TaskStep { name: "build the program and the tests", run: &|| built().map(drop) },
        TaskStep {
            name: "tests of all parts, simulated campaigns among them, and tests that run the program as a user does",
            run: &|| {
                let anywhere = |test: &PooledTest| !test.is_in(&[SYSTEM, OF_WINDOWS, OF_PACKAGES].concat());
                run_all(chosen(anywhere)?, AT_ONCE, &tally)
            },
        },
    ];
    let result = steps::run("test: about seven minutes to build the first time, then twelve", &steps);
    tally.print();
    result
}

/// Runs the tests that take a whole system; of what this machine lacks, these names may be missing, separated by commas.
pub fn run_system(may_be_missing: &str) -> Result<()> {
    let tally = TestTally::new(may_be_missing, ALL_PACKAGES)?;
    let only = |modules: &[&str], at_once| run_all(chosen(|test| test.is_in(modules))?, at_once, &tally);
    let steps = [
        TaskStep { name: "install what is missing", run: &|| install_system(&tally) },
        TaskStep { name: "build the program and the tests", run: &|| built().map(drop) },
        TaskStep { name: "tests of a whole system", run: &|| only(SYSTEM, AT_ONCE_OF_SYSTEM) },
        TaskStep { name: "Windows, under Wine", run: &|| only(OF_WINDOWS, AT_ONCE_OF_SYSTEM) },
        TaskStep { name: "packages, packed twice", run: &|| packages(&tally) },
        TaskStep { name: "packages, used in bare systems", run: &|| only(OF_PACKAGES, AT_ONCE_OF_SYSTEM) },
    ];
    let result = steps::run(
        "test --system: about forty minutes, half of them for Windows and for packages; some tests take root, and fail where they do not have it",
        &steps,
    );
    tally.print();
    result
}

/// Runs what takes too long for each change: simulations at ten times the campaigns, thousands of connections, other people's tools
/// beside ours.
pub fn run_nightly(may_be_missing: &str) -> Result<()> {
    let tally = TestTally::new(may_be_missing, ALL_PACKAGES)?.nightly();
    let steps = [
        TaskStep { name: "install what is missing", run: &|| install_system(&tally) },
        TaskStep { name: "build the program and the tests", run: &|| built().map(drop) },
        TaskStep {
            name: "tests of every night, and those of all parts with ten times the campaigns",
            run: &|| {
                let mut tests = built()?;
                tests.retain(|test| test.when == TestStage::Nightly || !test.is_of_users);
                run_all(tests, AT_ONCE_OF_SYSTEM, &tally)
            },
        },
    ];
    let result = steps::run("test --nightly: what takes too long for each change", &steps);
    tally.print();
    result
}

/// The tests that fit, but those of every night.
fn chosen(fits: impl Fn(&PooledTest) -> bool) -> Result<Vec<PooledTest>> {
    let mut tests = built()?;
    tests.retain(|test| test.when != TestStage::Nightly && fits(test));
    Ok(tests)
}

fn install_system(tally: &TestTally) -> Result<()> {
    for packages in [PACKAGES, SYSTEM_PACKAGES, SERVERS, ENGINES] {
        ensure_packages_for_tests(packages, tally)?;
    }
    ensure_rust_target("x86_64-pc-windows-gnu")
}

/// Packages for Linux, packed twice. That a second build is the same to the byte takes as long again: `cargo xtask dist --twice`.
fn packages(tally: &TestTally) -> Result<()> {
    ensure_packages_for_tests(PACKAGING, tally)?;
    for target in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"] {
        ensure_rust_target(target)?;
    }
    ensure_maturin()?;
    CARGO_DEB.ensure()?;
    let options = dist::DistOptions::read(&["x86_64", "aarch64", "deb", "npm", "crates", "homebrew"])?;
    dist::run(&options)?;
    dist::compare_with(&options, &options)
}
