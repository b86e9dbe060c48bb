//! The packages that `cargo xtask dist` makes, in systems without compilers and without a network: the current Debian, and one
//! whose library of C is older than that of any machine on which this was built.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{missing, one_by_one, text};

const VERSION: &str = env!("CARGO_PKG_VERSION");
pub const LINUX: &str = "x86_64-unknown-linux-musl";
const ARM: &str = "aarch64-unknown-linux-musl";
/// What a released program may take, stripped.
const MOST: u64 = 12_000_000;
const CURRENT: &str = "trixie";
/// The oldest Debian that is still kept where the others are: glibc 2.31.
const OLD: &str = "bullseye";

/// Where the packages lie: in `target/packages`, next to the directory of the program under test.
fn packages() -> PathBuf {
    let dir = Path::new(env!("CARGO_BIN_EXE_ipcost")).parent().unwrap().with_file_name("packages");
    assert!(
        dir.join("SHA256SUMS").exists(),
        "no packages in {}: cargo xtask test --system makes them",
        dir.display()
    );
    dir
}

/// The name of a package that ends in this.
fn named(end: &str) -> String {
    let names =
        fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
    let [name] = found.as_slice() else { panic!("{end}: {found:?}") };
    name.clone()
}

fn run(words: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| panic!("{words:?}: {error}"));
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    output
}

fn says(words: &[&str]) -> String {
    text(&run(words, Path::new("/")).stdout)
}

/// The systems that there are packages for. A run with little time left makes none for ARM.
fn targets() -> Vec<&'static str> {
    let is_there = |target: &&str| packages().join(format!("ipcost-{VERSION}-{target}.tar.gz")).exists();
    let found: Vec<&str> = [LINUX, ARM].into_iter().filter(is_there).collect();
    assert!(found.contains(&LINUX));
    if !found.contains(&ARM) {
        missing("arm-packages", "they are not in target/packages");
    }
    found
}

fn is_root() -> bool {
    says(&["id", "-u"]).trim() == "0"
}

pub fn unpacked(target: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let folder = format!("ipcost-{VERSION}-{target}");
    let tarball = packages().join(format!("{folder}.tar.gz"));
    run(&["tar", "xzf", tarball.to_str().unwrap()], dir.path());
    let folder = dir.path().join(folder);
    (dir, folder)
}

/// A system as new, with Python and nothing that compiles; made once, and never written to.
fn system(suite: &str) -> PathBuf {
    let _making = one_by_one(suite);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("system-{suite}"));
    if !dir.join("complete").exists() {
        let _ = fs::remove_dir_all(&dir);
        let path = dir.to_str().unwrap();
        run(&["mmdebstrap", "--variant=apt", "--include=python3,python3-venv", suite, path], Path::new("/"));
        fs::write(dir.join("complete"), "").unwrap();
    }
    dir
}

/// Runs a script as root of a new system that has the packages in `/packages`, a loopback and no other network; what it writes
/// is gone afterwards. `None` where that takes root.
fn in_system(suite: &str, script: &str) -> Option<String> {
    if !is_root() {
        missing("root", &format!("{suite}: a system in a directory takes root"));
        return None;
    }
    const ENTER: &str = r#"
        ip link set lo up
        mount -t tmpfs tmpfs "$PLACE"
        cd "$PLACE"
        mkdir upper work root
        mount -t overlay overlay -o "lowerdir=$SYSTEM,upperdir=upper,workdir=work" root
        mount -t proc proc root/proc
        mount --rbind /sys root/sys
        mount --rbind /dev root/dev
        mount -t tmpfs tmpfs root/dev/shm
        mkdir root/packages
        mount --bind "$PACKAGES" root/packages
        exec chroot root /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec "$SCRIPT"
    "#;
    let place = TempDir::new().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER]);
    command.env("PLACE", place.path()).env("SYSTEM", system(suite)).env("PACKAGES", packages());
    let output = command.env("SCRIPT", script).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{suite}: {}{}", text(&output.stdout), text(&output.stderr));
    Some(text(&output.stdout))
}

/// What a user does with a program that has just been installed; ends with `used`.
const USE: &str = r#"
    for tool in cc gcc go cargo; do if command -v $tool; then echo "there is a $tool"; exit 1; fi; done
    ipcost --version
    ipcost --epochs 1 --json /tmp/document.json
    ipcost report last --html /tmp/report.html
    grep -q '</html>' /tmp/report.html
    ipcost doctor
    ipcost run --transports unix --patterns rr --epochs 1 --client python --server python
    for peer in c go; do
        if ipcost run --transports unix --patterns rr --epochs 1 --server $peer 2>&1; then exit 1; fi
    done
    echo used
"#;

fn assert_used(said: &str, installed: &str) {
    assert!(said.ends_with("used\n"), "{said}");
    for words in [
        format!("ipcost {VERSION} ("),
        format!(", {LINUX}, "),
        "round trip".to_owned(),
        format!("installed: {installed}"),
        "apt-get install gcc".to_owned(),
        "apt-get install golang-go".to_owned(),
    ] {
        assert!(said.contains(&words), "no {words:?} in\n{said}");
    }
}

#[test]
fn the_sums_are_right_and_nothing_is_missing() {
    let dir = packages();
    run(&["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], &dir);
    let sums = fs::read_to_string(dir.join("SHA256SUMS")).unwrap();
    for target in targets() {
        let arch = if target == LINUX { "amd64" } else { "arm64" };
        for name in [format!("{target}.tar.gz"), format!("{target}.cdx.json"), format!("_{arch}.deb")] {
            assert!(sums.contains(&name), "{name}\n{sums}");
        }
    }
    for crate_name in ["ipcost", "ipcost-stats", "ipcost-sys"] {
        assert!(sums.contains(&format!("crates/{crate_name}-{VERSION}.crate")), "{crate_name}\n{sums}");
    }
}

#[test]
fn tarballs_hold_a_small_program_that_needs_nothing_and_all_that_belongs_to_it() {
    for target in targets() {
        let (_dir, folder) = unpacked(target);
        let program = fs::metadata(folder.join("ipcost")).unwrap();
        assert!(program.len() < MOST, "{target}: {} bytes", program.len());
        assert_eq!(program.permissions().mode() & 0o777, 0o755);
        let headers =
            says(&["readelf", "--program-headers", "--dynamic", folder.join("ipcost").to_str().unwrap()]);
        assert!(!headers.contains("INTERP") && !headers.contains("NEEDED"), "{target}: {headers}");
        for (name, words) in [
            ("man/ipcost.1", ".TH IPCOST 1"),
            ("completions/ipcost.bash", "complete -F _ipcost"),
            ("completions/_ipcost", "#compdef ipcost"),
            ("completions/ipcost.fish", "complete -c ipcost"),
            ("README.md", "# ipcost"),
            ("CHANGELOG.md", "# Changelog"),
            ("LICENSE-MIT", "Permission is hereby granted"),
            ("LICENSE-APACHE", "Apache License"),
            ("LICENSES-THIRD-PARTY", "serde "),
        ] {
            let said =
                fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(said.contains(words), "{target}: no {words:?} in {name}");
        }
    }
}

/// Neither the home of the user who built it nor the directory of the sources.
#[test]
fn no_package_names_a_path_of_the_machine_that_built_it() {
    let (_dir, folder) = unpacked(LINUX);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let cargo = format!("{}/.cargo", std::env::var("HOME").unwrap());
    let named = |bytes: &[u8], path: &str| bytes.windows(path.len()).any(|window| window == path.as_bytes());
    let sbom = packages().join(format!("ipcost-{VERSION}-{LINUX}.cdx.json"));
    for file in [folder.join("ipcost"), sbom] {
        let bytes = fs::read(&file).unwrap();
        for path in [sources.to_str().unwrap(), cargo.as_str()] {
            assert!(!named(&bytes, path), "{}: {path}", file.display());
        }
    }
}

#[test]
fn components_are_listed_as_cyclonedx() {
    for target in targets() {
        let file = packages().join(format!("ipcost-{VERSION}-{target}.cdx.json"));
        let sbom: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        assert_eq!(sbom["bomFormat"], "CycloneDX");
        assert_eq!(sbom["metadata"]["component"]["name"], "ipcost");
        let components = sbom["components"].as_array().unwrap();
        for name in ["clap", "rustix", "rustls"] {
            assert!(components.iter().any(|component| component["name"] == name), "{target}: {name}");
        }
    }
}

#[test]
fn debian_installs_its_package_in_every_release_and_removes_it() {
    let deb = named("_amd64.deb");
    for suite in [CURRENT, OLD] {
        let script = format!(
            r#"apt-get install --yes /packages/{deb} >&2
            ls /usr/share/man/man1/ipcost.1.gz /usr/share/bash-completion/completions/ipcost \
                /usr/share/zsh/vendor-completions/_ipcost /usr/share/fish/vendor_completions.d/ipcost.fish
            {USE}
            apt-get remove --yes ipcost >&2
            test ! -e /usr/bin/ipcost"#
        );
        let Some(said) = in_system(suite, &script) else { return };
        assert_used(&said, "Debian package");
    }
}

#[test]
fn a_tarball_is_copied_and_runs_where_the_library_of_c_is_old() {
    let script = format!(
        r#"cd /tmp
        tar xzf /packages/ipcost-{VERSION}-{LINUX}.tar.gz
        cp ipcost-{VERSION}-{LINUX}/ipcost /usr/local/bin
        {USE}"#
    );
    let Some(said) = in_system(OLD, &script) else { return };
    assert_used(&said, "a copied binary");
}

#[test]
fn a_wheel_is_installed_into_a_new_virtual_environment() {
    let wheel = named("musllinux_1_1_x86_64.whl");
    for suite in [CURRENT, OLD] {
        let script = format!(
            r#"python3 -m venv /opt/own >&2
            /opt/own/bin/pip install --no-index /packages/{wheel} >&2
            /opt/own/bin/python -m ipcost --version
            test "$(/opt/own/bin/python -m ipcost --version)" = "$(/opt/own/bin/ipcost --version)"
            if /opt/own/bin/python -m ipcost --no-such-flag 2>/dev/null; then exit 1; else test $? = 2; fi
            ls /opt/own/lib/python3*/site-packages/ipcost-{VERSION}.dist-info/sboms/ipcost.cyclonedx.json
            PATH=/opt/own/bin:$PATH
            {USE}
            pip uninstall --yes ipcost >&2
            test ! -e /opt/own/bin/ipcost"#
        );
        let Some(said) = in_system(suite, &script) else { return };
        assert_used(&said, "pip");
    }
}

#[test]
fn lintian_finds_no_error() {
    let deb = packages().join(named("_amd64.deb"));
    let words = ["lintian", "--allow-root", "--fail-on", "error", deb.to_str().unwrap()];
    run(&words, Path::new("/"));
}

/// The lines of shell in a section of docs/install.md.
fn lines(section: &str) -> Vec<&'static str> {
    const PAGE: &str = include_str!("../../../../docs/install.md");
    let (_, after) =
        PAGE.split_once(&format!("\n## {section}\n")).unwrap_or_else(|| panic!("no section {section}"));
    let found: Vec<&str> = after
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    assert!(!found.is_empty(), "{section}");
    found
}

#[test]
fn the_lines_of_the_page_on_installing_work() {
    run(&["sh", "-ec", &lines("Verification").join("\n")], &packages());
    // Without a network there is no uv.
    let python: Vec<&str> = lines("Python").into_iter().filter(|line| !line.starts_with("uv ")).collect();
    for (suite, lines, installed) in [
        (CURRENT, lines("Debian and Ubuntu"), "ipcost"),
        (OLD, lines("Tarball"), "~/.local/bin/ipcost"),
        (OLD, python, "~/ipcost-venv/bin/ipcost"),
    ] {
        let lines = lines.join("\n");
        let Some(said) = in_system(suite, &format!("cd /packages\n{lines}\n{installed} --version")) else {
            return;
        };
        assert!(said.contains(&format!("ipcost {VERSION} (")), "{lines}\n{said}");
    }
}

/// Npm takes the package with the binary for this processor, and leaves out the other.
#[test]
fn npm_installs_a_program_that_starts_the_binary() {
    if Command::new("npm").arg("--version").output().is_err() {
        missing("npm", "it cannot be started");
        return;
    }
    let (dir, packages) = (TempDir::new().unwrap(), packages());
    let of = |name: &str| packages.join(format!("npm-{name}-{VERSION}.tgz")).to_str().unwrap().to_owned();
    let (binary, starter) = (of("ipcost-linux-x64"), of("ipcost"));
    run(&["npm", "install", "--offline", "--no-audit", "--no-fund", &binary, &starter], dir.path());
    let program = dir.path().join("node_modules/.bin/ipcost");
    let line = text(&run(&[program.to_str().unwrap(), "--version"], dir.path()).stdout);
    assert!(line.starts_with(&format!("ipcost {VERSION} (")), "{line}");
    let refused = Command::new(program).arg("--no-such-flag").output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

/// Under an emulator. Its own peers are programs for ARM, too, which the kernel starts by the emulator where a user may ask for
/// that: in a namespace of the test's own.
#[test]
fn the_binary_for_arm_runs_over_pipes() {
    if !targets().contains(&ARM) {
        return;
    }
    let (dir, folder) = unpacked(ARM);
    let program = folder.join("ipcost");
    let line = says(&["qemu-aarch64", program.to_str().unwrap(), "--version"]);
    assert!(line.contains(ARM), "{line}");
    let doctor = says(&["qemu-aarch64", program.to_str().unwrap(), "doctor", "--window", "100ms"]);
    assert!(doctor.contains("installed: "), "{doctor}");
    const RUN: &str = r#"
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc || { echo no emulated programs here; exit 0; }
        magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
        mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
        printf '%s' ":arm64:M::$magic:$mask:$(command -v qemu-aarch64):F" > /proc/sys/fs/binfmt_misc/register
        "$PROGRAM" run --transports pipe --patterns rr,stream --epochs 1 --json "$DOCUMENT"
    "#;
    let document = dir.path().join("document.json");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", RUN]);
    command.env("PROGRAM", &program).env("DOCUMENT", &document).env("IPCOST_DATA_DIR", dir.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    if said.contains("no emulated programs here") {
        missing("emulation", &said);
        return;
    }
    let document: Value = serde_json::from_slice(&fs::read(document).unwrap()).unwrap();
    assert_eq!(document["tool"]["target"], ARM);
    for cell in document["cells"].as_array().unwrap() {
        assert!(cell["ops"].as_u64().unwrap() > 0, "{cell}");
    }
}
