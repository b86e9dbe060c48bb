//! The program built for Windows, run there or under Wine.
//!
//! On Windows it is the program that cargo has built for these tests. Elsewhere it is built for Windows with MinGW-w64
//! and run by Wine, in a place of its own. Debian's Wine lacks a library of Windows 10 that the runtimes of Rust and Go
//! take random numbers from, so a small one with that one function is put there.
use std::env::consts::OS;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use crate::common::{Place, one_by_one, text};

/// What the program is built for.
pub const TARGET: &str = "x86_64-pc-windows-gnu";
/// The C compiler for it.
pub const MINGW: &str = "x86_64-w64-mingw32-gcc";
/// Where Debian keeps Wine for those who do not want it in their PATH.
const WINE: &str = "/usr/lib/wine/wine64";
const PREFIX: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/wine");

/// `ProcessPrng` fills a buffer and says so.
const RANDOM: &str = r"
#define _CRT_RAND_S
#include <stdlib.h>
#include <windows.h>

BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    for (SIZE_T place = 0; place < length; place++) {
        unsigned int number;
        if (rand_s(&number) != 0)
            return FALSE;
        buffer[place] = (BYTE)number;
    }
    return TRUE;
}
";

/// Whether this is Windows itself.
pub fn is_windows() -> bool {
    OS == "windows"
}

/// The program; built the first time that it is asked for.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| if is_windows() { env!("CARGO_BIN_EXE_ipcost").into() } else { build() })
}

fn build() -> PathBuf {
    let _building = one_by_one("wine");
    // Where these tests were built, too: what the compiler itself runs is there already.
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "ipcost", "--target", TARGET]);
    cargo.args(["--config=profile.dev.debug=false", "--target-dir"]).arg(dir);
    // What is set for tests of this system, such as a linker's flags, is not meant for another.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    run(&mut cargo);
    let program = dir.join(TARGET).join("debug").join("ipcost.exe");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("random.c");
    std::fs::write(&source, RANDOM).unwrap();
    // Makes Wine's place; two programs at once would get into each other's way.
    run(wine().args(["wineboot", "--init"]));
    let library = Path::new(PREFIX).join("drive_c/windows/system32/bcryptprimitives.dll");
    run(Command::new(MINGW).arg("-shared").arg("-o").arg(library).arg(source));
    keep_up();
    program
}

/// Keeps Wine's server and its services up until these tests end. The first program that runs starts them, and they keep
/// its standard error open: anyone who reads that to its end would wait for all programs of all other tests.
fn keep_up() {
    static SHELL: OnceLock<Child> = OnceLock::new();
    SHELL.get_or_init(|| {
        // It ends when its input does, which is when these tests do.
        let mut shell = wine();
        shell.arg("cmd").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        // Its first words come when all is up.
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        shell
    });
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
}

/// Wine, with a place of its own that is kept from one test to the next.
fn wine() -> Command {
    let wine = if Path::new(WINE).exists() { WINE } else { "wine" };
    let mut command = Command::new(wine);
    command.env("WINEPREFIX", PREFIX).env("WINEDEBUG", "-all");
    // Neither .NET nor a browser is needed, or asked for.
    command.env("WINEDLLOVERRIDES", "mscoree,mshtml=").env_remove("DISPLAY");
    command
}

/// Asserts that a peer passed its examination, and gives what was said.
///
/// Wine's server keeps the socket of a killed program open at times, where an operation was pending on it: the connection
/// stays established, and the other side cannot know. What is examined by killing a peer is therefore left to Windows.
#[track_caller]
pub fn assert_passed(output: &Output) -> String {
    let said = text(&output.stdout);
    let failed = |line: &&str| line.starts_with("FAILED") && (is_windows() || !line.contains("-dies: "));
    let failures: Vec<&str> = said.lines().filter(failed).collect();
    assert!(failures.is_empty(), "{failures:#?}{}", text(&output.stderr));
    assert!(said.lines().last().is_some_and(|line| line.contains(" failed, ")), "{said}");
    assert_eq!(output.status.success(), said.contains(" 0 failed"), "{said}");
    said
}

/// A path as a program of Windows names it; Wine has the root of this system as a drive.
pub fn windows_path(path: &Path) -> String {
    let path = path.to_str().unwrap();
    if is_windows() { path.to_owned() } else { format!("Z:{}", path.replace('/', "\\")) }
}

/// The program as `place` runs it.
pub fn command(place: &Place, args: &[&str]) -> Command {
    let native = place.command(args);
    let program = program();
    let mut command = if is_windows() { Command::new(program) } else { wine() };
    if !is_windows() {
        command.arg(program);
    }
    command.args(native.get_args()).current_dir(place.files.path());
    // Wine keeps files of its own where TMPDIR says.
    for (name, value) in native.get_envs().filter(|(name, _)| *name != "TMPDIR") {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let data = windows_path(place.data.path());
    let tmp = windows_path(place.tmp.path());
    command.env("IPCOST_DATA_DIR", data).env("TEMP", &tmp).env("TMP", &tmp);
    command
}
