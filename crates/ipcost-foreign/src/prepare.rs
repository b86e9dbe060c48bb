//! Makes a built-in peer ready to run: writes, compiles if needed, and checks it.

use std::env;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ipcost_sys::file_writer::create_private;
use ipcost_sys::programs;
use tempfile::TempDir;

use crate::Unavailable;
use crate::cache::Cache;
use crate::manifest::{Manifest, fingerprint};
use crate::sources::{self, Directory};
use crate::table::{BuiltIn, Language};
use crate::tools::{self, Toolchain, last_lines};

/// How often to move a broken directory out of the way before giving up.
const ATTEMPTS: usize = 5;
/// Settings that make Go build this module as pinned in its `go.sum`, whatever the user's environment says. The
/// system decides where to get other modules from; Windows alone needs any.
const GO_ENVIRONMENT: [(&str, &str); 5] = [
    ("CGO_ENABLED", "0"),
    ("GO111MODULE", "on"),
    ("GOFLAGS", ""),
    ("GOTOOLCHAIN", "local"),
    ("GOWORK", "off"),
];

/// How a peer is built and started on this machine.
#[derive(Debug)]
struct Recipe {
    directories: Vec<&'static Directory>,
    /// The compiler's or interpreter's version.
    version: String,
    /// The command that builds it, run in its own directory.
    build: Option<Vec<String>>,
    environment: Vec<(&'static str, &'static str)>,
    /// The interpreter with its arguments; empty if the program runs by itself.
    interpreter: Vec<String>,
    /// The program, below the peer's place.
    program: String,
}

impl BuiltIn {
    /// Makes it ready, and returns its command. Reports slow steps to `tell`.
    pub fn prepare(&self, cache: &Cache, tell: &mut dyn FnMut(&str)) -> Result<Vec<String>, Unavailable> {
        self.programs.iter().try_for_each(|(name, package)| tools::program(name, package))?;
        let arguments = self.arguments.iter().map(|argument| (*argument).to_owned());
        if let Some(Language::Program(name)) = self.language {
            return Ok(vec![self.program(name)?.display().to_string()]);
        }
        let Some(recipe) = self.recipe()? else {
            let own = env::current_exe()
                .map_err(|error| format!("cannot find the path of this program: {error}"))?;
            let own = [own.display().to_string(), "peer".to_owned(), self.directory.to_owned()];
            return Ok(own.into_iter().chain(arguments).collect());
        };
        let place = cache.place(&format!("{}-{}", self.directory, recipe.fingerprint()));
        cache.hold();
        cache.note_use(&place);
        if !recipe.is_intact(&place) {
            if recipe.build.is_some() {
                tell(&format!("building the peer {}; it is kept in {}", self.name, place.display()));
            }
            let failed = |error: io::Error| format!("cannot be kept in {}: {error}", place.display());
            let workshop = cache.workshop().map_err(failed)?;
            recipe.carry_out(self.directory, workshop.path())?;
            put(workshop, &place, cache, || recipe.is_intact(&place)).map_err(failed)?;
            cache.prune(&place);
        }
        let program = place.join(&recipe.program).display().to_string();
        Ok(recipe.interpreter.into_iter().chain([program]).chain(arguments).collect())
    }

    /// Whether this machine can make it ready; builds and keeps nothing.
    pub fn probe(&self) -> Result<(), Unavailable> {
        self.programs.iter().try_for_each(|(name, package)| tools::program(name, package))?;
        if let Some(Language::Program(name)) = self.language {
            return self.program(name).map(drop);
        }
        self.recipe().map(drop)
    }

    /// Where its program is: next to this one, or in `PATH`.
    fn program(&self, name: &str) -> Result<PathBuf, Unavailable> {
        let beside = env::current_exe().map(|own| own.with_file_name(format!("{name}{EXE_SUFFIX}")));
        if let Some(found) = beside.ok().filter(|path| path.is_file()) {
            return Ok(found);
        }
        let within = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&within)
            .map(|dir| dir.join(format!("{name}{EXE_SUFFIX}")))
            .find(|path| path.is_file());
        found.ok_or_else(|| {
            let packages = match self.packages {
                [] => String::new(),
                names => format!("apt-get install {} and ", names.join(" ")),
            };
            let directory = self.directory;
            let way = format!("in the sources of ipcost, {packages}cargo install --path extra/{directory}");
            Unavailable::from(format!("{name} is not installed; {way}"))
        })
    }

    /// Its recipe; `None` for an adapter, which is part of this program.
    fn recipe(&self) -> Result<Option<Recipe>, Unavailable> {
        let Some(language) = self.language else { return Ok(None) };
        let names = [&[self.directory], self.beside].concat();
        let directories: Vec<_> = names.iter().filter_map(|name| sources::directory(name)).collect();
        let own = directories.first().filter(|_| directories.len() == names.len());
        let own = own.ok_or_else(|| "its sources are not in this program".to_owned())?;
        let built = format!("ipcost-peer-{}{EXE_SUFFIX}", self.directory);
        let beside = |file: &str| format!("{}/{file}", self.directory);
        let recipe =
            |tool: Toolchain, build: Option<Vec<String>>, runs_itself: bool, program: String| Recipe {
                directories: directories.clone(),
                version: tool.version,
                build,
                environment: Vec::new(),
                interpreter: if runs_itself { Vec::new() } else { tool.command },
                program,
            };
        Ok(Some(match language {
            // It is either there or not: nothing is built here.
            Language::Program(_) => return Ok(None),
            Language::C => {
                let tool = tools::c_compiler()?;
                let mut build = words(&tool.command, &["-std=c11", "-O2", "-pthread", "-o"]);
                build.push(format!("../{built}"));
                // Files further down are for other programs.
                let is_c = |path: &&str| path.ends_with(".c") && !path.contains('/');
                build.extend(own.files.iter().map(|file| file.path).filter(is_c).map(str::to_owned));
                build.extend(c_support(own));
                build.extend(programs::C_LIBRARIES.iter().map(|library| (*library).to_owned()));
                recipe(tool, Some(build), true, built)
            }
            Language::Go => {
                let tool = tools::go()?;
                let output = format!("../{built}");
                let build =
                    words(&tool.command, &["build", "-trimpath", "-buildvcs=false", "-o", &output, "."]);
                let environment = GO_ENVIRONMENT.iter().chain(programs::GO_MODULES).copied().collect();
                Recipe { environment, ..recipe(tool, Some(build), true, built) }
            }
            Language::Python { start } => {
                let mut tool = tools::python()?;
                // Bytecode is tied to the sources' content, which is checked here, not to their times.
                let compile = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."];
                let build = words(&tool.command, &compile);
                tool.command.push("-B".to_owned());
                recipe(tool, Some(build), false, beside(start))
            }
            Language::Ruby { start, ways, package } => {
                recipe(tools::ruby(ways, package)?, None, false, beside(start))
            }
        }))
    }
}

fn words(command: &[String], more: &[&str]) -> Vec<String> {
    command.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect()
}

/// Flags for a C compiler, so that the sources find bundled replacements for POSIX parts that this system lacks.
fn c_support(own: &Directory) -> Vec<String> {
    let Some(name) = programs::C_SUPPORT else { return Vec::new() };
    let of_it = |path: &&str| Path::new(path).starts_with(name);
    let (headers, sources): (Vec<&str>, Vec<&str>) =
        own.files.iter().map(|file| file.path).filter(of_it).partition(|path| path.ends_with(".h"));
    if headers.is_empty() {
        return Vec::new();
    }
    let first = [&format!("-I{name}"), "-include", "posix.h"].map(str::to_owned);
    first.into_iter().chain(sources.into_iter().map(str::to_owned)).collect()
}

impl Recipe {
    /// A hash that changes with anything that affects the build.
    fn fingerprint(&self) -> String {
        let mut parts: Vec<&[u8]> = vec![self.version.as_bytes()];
        for directory in &self.directories {
            parts.push(directory.name.as_bytes());
            for file in directory.files {
                parts.extend([file.path.as_bytes(), file.bytes]);
            }
        }
        parts.extend(self.build.iter().flatten().map(String::as_bytes));
        for (name, value) in &self.environment {
            parts.extend([name.as_bytes(), value.as_bytes()]);
        }
        fingerprint(parts.into_iter())
    }

    /// Whether a place holds exactly what was installed, including the embedded sources.
    fn is_intact(&self, place: &Path) -> bool {
        let Ok(Some(manifest)) = Manifest::read(place) else { return false };
        let all_sources = self.directories.iter().all(|directory| {
            directory
                .files
                .iter()
                .all(|file| manifest.has(&format!("{}/{}", directory.name, file.path), file.bytes))
        });
        all_sources && Manifest::of(place).is_ok_and(|found| found == manifest)
    }

    fn carry_out(&self, own: &str, place: &Path) -> Result<(), Unavailable> {
        self.write_sources(place).map_err(|error| format!("cannot write {}: {error}", place.display()))?;
        if let Some(build) = &self.build {
            self.run_build(build, &place.join(own))?;
        }
        if self.interpreter.is_empty() {
            self.try_program(place)?;
        }
        let manifest = Manifest::of(place).and_then(|manifest| manifest.write(place));
        Ok(manifest.map_err(|error| format!("cannot write {}: {error}", place.display()))?)
    }

    fn write_sources(&self, place: &Path) -> io::Result<()> {
        for directory in &self.directories {
            for file in directory.files {
                let path = place.join(directory.name).join(file.path);
                fs::create_dir_all(path.parent().unwrap_or(place))?;
                create_private(&path)?.write_all(file.bytes)?;
            }
        }
        Ok(())
    }

    fn run_build(&self, build: &[String], dir: &Path) -> Result<(), Unavailable> {
        let output = programs::output(&build[0], &build[1..], &self.environment, Some(dir));
        let output = output.map_err(|error| format!("{} cannot be started: {error}", build[0]))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("it cannot be built: {} ({}): {}", build[0], output.status, last_lines(&output)).into())
    }

    /// Runs the built program without input: it introduces itself and exits.
    fn try_program(&self, place: &Path) -> Result<(), Unavailable> {
        let program = place.join(&self.program);
        let output = programs::output::<&str>(&program, &[], &[], None).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "; is the file system mounted noexec? XDG_CACHE_HOME sets another place"
                }
                _ => "",
            };
            format!("what was built cannot be started: {}: {error}{hint}", program.display())
        })?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("what was built does not run ({}): {}", output.status, last_lines(&output)).into())
    }
}

/// Moves a finished directory into place. If another program was faster, uses its result; replaces a broken one.
fn put(workshop: TempDir, place: &Path, cache: &Cache, intact: impl Fn() -> bool) -> io::Result<()> {
    let mut last = io::Error::other("other programs keep replacing it");
    for _ in 0..ATTEMPTS {
        match fs::rename(workshop.path(), place) {
            Ok(()) => {
                // It has left the directory that would be removed.
                let _ = workshop.keep();
                return Ok(());
            }
            Err(error) if fs::symlink_metadata(place).is_err() => return Err(error),
            Err(_) if intact() => return Ok(()),
            Err(error) => last = error,
        }
        let aside = cache.workshop()?;
        match fs::rename(place, aside.path().join("broken")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests;
