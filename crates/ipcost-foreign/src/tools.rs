//! Compilers, interpreters and servers of this machine; an error about a missing one names its Debian package.

use std::env;
use std::io;
use std::process::Output;

use ipcost_sys::programs;

use crate::Unavailable;

/// A compiler or an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Its command: the program, then its arguments.
    pub command: Vec<String>,
    /// Its version output; a change triggers a rebuild.
    pub version: String,
}

/// Ways to start Ruby, with the libraries that must then be found.
pub type RubyWay = (&'static [&'static str], &'static [&'static str]);

/// The C compiler: the one that `CC` names, or the system's usual one.
pub fn c_compiler() -> Result<Toolchain, Unavailable> {
    let named = env::var("CC").ok().filter(|words| !words.trim().is_empty());
    let command = match &named {
        Some(words) => shlex::split(words)
            .ok_or_else(|| Unavailable::from(format!("CC has an unfinished quotation: {words}")))?,
        None => vec![programs::C_COMPILER.to_owned()],
    };
    match run(&command, &["--version"]) {
        // Not every compiler knows --version; a different one of the same name then goes unnoticed.
        Ok(output) => Ok(Toolchain { command, version: first_line(&output.stdout) }),
        Err(error) => Err(match named {
            Some(words) => format!("the C compiler that CC names cannot be started: {words}: {error}").into(),
            None => absent(programs::C_COMPILER, &error, "gcc libc6-dev"),
        }),
    }
}

pub fn go() -> Result<Toolchain, Unavailable> {
    let command = vec!["go".to_owned()];
    let output = run(&command, &["version"]).map_err(|error| absent("go", &error, "golang-go"))?;
    if !output.status.success() {
        return Err(format!("go version fails: {}", last_lines(&output)).into());
    }
    Ok(Toolchain { version: first_line(&output.stdout), command })
}

/// The Python interpreter, past any wrapper script.
pub fn python() -> Result<Toolchain, Unavailable> {
    const ASK: &str = "import sys; print(sys.executable); print(' '.join(sys.version.split())); \
                       sys.exit(sys.version_info < (3, 9))";
    let output =
        run(&["python3".to_owned()], &["-c", ASK]).map_err(|error| absent("python3", &error, "python3"))?;
    let lines = output_lines(&output);
    match <[String; 2]>::try_from(lines) {
        Ok([executable, version]) if output.status.success() => {
            Ok(Toolchain { command: vec![executable], version })
        }
        Ok([_, version]) => Err(format!("python3 is {version}; it takes 3.9 or newer").into()),
        Err(_) => Err(format!("python3 does not run: {}", last_lines(&output)).into()),
    }
}

/// The Ruby interpreter, in the first of these ways that finds the libraries; `package` provides them.
pub fn ruby(ways: &[RubyWay], package: &str) -> Result<Toolchain, Unavailable> {
    let mut lacks = String::new();
    for (flags, libraries) in ways {
        let script = format!(
            "begin; %w[rbconfig {}].each {{ |name| require name }}; rescue LoadError => e; abort e.message; end; \
             puts RbConfig.ruby, RUBY_DESCRIPTION; exit!",
            libraries.join(" ")
        );
        let words = [flags, ["-e", "$stdout.sync = true", "-e", &script].as_slice()].concat();
        let output = run(&["ruby".to_owned()], &words).map_err(|error| absent("ruby", &error, package))?;
        match <[String; 2]>::try_from(output_lines(&output)) {
            Ok([executable, version]) => {
                let flags = flags.iter().map(|flag| (*flag).to_owned());
                return Ok(Toolchain {
                    command: std::iter::once(executable).chain(flags).collect(),
                    version,
                });
            }
            Err(_) => lacks = last_lines(&output),
        }
    }
    Err(lacking(format!("ruby says: {lacks}"), package))
}

/// Makes sure that a program can be found.
pub fn program(name: &str, package: &str) -> Result<(), Unavailable> {
    if programs::is_there(name) {
        return Ok(());
    }
    Err(lacking(format!("{name} is not installed"), package))
}

/// The end of a program's output, in one line.
pub fn last_lines(output: &Output) -> String {
    const LINES: usize = 5;
    const LENGTH: usize = 600;
    let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    let whole = if last.is_empty() { output.status.to_string() } else { last };
    let excess = whole.chars().count().saturating_sub(LENGTH);
    whole.chars().skip(excess).collect()
}

fn run(command: &[String], words: &[&str]) -> io::Result<Output> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).chain(words.iter().copied()).collect();
    programs::output(program, &words, &[], None)
}

fn absent(name: &str, error: &io::Error, package: &str) -> Unavailable {
    match error.kind() {
        io::ErrorKind::NotFound => lacking(format!("{name} is not installed"), package),
        _ => format!("{name} cannot be started: {error}").into(),
    }
}

fn lacking(reason: String, package: &str) -> Unavailable {
    Unavailable { reason, package: Some(package.to_owned()) }
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().to_owned()
}

fn output_lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let missing = program("no-such-server", "some-package").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "no-such-server is not installed; on Debian: apt-get install some-package"
        );
        program("sh", "dash").unwrap();
        let absent = absent("cc", &io::ErrorKind::NotFound.into(), "gcc");
        assert_eq!(absent.to_string(), "cc is not installed; on Debian: apt-get install gcc");
    }

    #[test]
    fn only_the_end_of_a_complaint_is_shown() {
        let output = run(&["sh".into()], &["-c", "for i in 1 2 3 4 5 6 7; do echo line $i >&2; echo; done"]);
        assert_eq!(last_lines(&output.unwrap()), "line 3; line 4; line 5; line 6; line 7");
        let silent = run(&["sh".into()], &["-c", "exit 3"]).unwrap();
        assert_eq!(last_lines(&silent), "exit status: 3");
    }
}
