//! Writes to the terminal and to files; what, is decided elsewhere.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use ipcost_model::{escaped_but_styles, escaped_lines};
use ipcost_report::json;
use ipcost_report::picture::{DRAWS_PNG, Picture, PictureError};
use ipcost_sys::driven_program;
use ipcost_sys::file_writer::{self, Output};
use serde::Serialize;

/// Lines are easier to read, and fit more screens, if they are no longer.
pub const MOST_ROOM: usize = 100;

/// The columns of text on standard output; unlimited if it is not a terminal.
pub fn room() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(usize::MAX, |(width, _)| width.0.into())
}

pub fn room_on_standard_error() -> usize {
    terminal_size::terminal_size_of(io::stderr()).map_or(MOST_ROOM, |(width, _)| width.0.into())
}

/// Writes to standard output, as [`print_error`] does to standard error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let text = escaped_but_styles(text);
    tolerate_broken_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
        .context("cannot write to standard output")
}

/// Writes to standard error; nothing else does while the program runs. Whatever a text quotes, a terminal obeys only the program's own
/// styles.
pub fn print_error(text: &str) {
    // Where standard error is gone there is no one left to tell.
    let _ = anstream::stderr().lock().write_all(escaped_but_styles(text).as_bytes());
}

/// Writes as JSON with line breaks, as [`write_whole`] does.
pub fn write_pretty(value: &impl Serialize, path: &Path) -> anyhow::Result<()> {
    write_whole(path, |out| {
        serde_json::to_writer_pretty(json::Visible(out), value)?;
        out.write_all(b"\n")
    })
}

/// Writes a text, as [`write_whole`] does; whatever it quotes, a terminal that shows it obeys nothing.
pub fn write_text(text: &str, path: &Path) -> anyhow::Result<()> {
    write_whole(path, |out| out.write_all(escaped_lines(text).as_bytes()))
}

/// Writes a picture to each of the files that were asked for, as [`write_whole`] does.
pub fn write_picture(picture: &Picture, svg: Option<&Path>, png: Option<&Path>) -> anyhow::Result<()> {
    if let Some(path) = svg {
        write_text(&picture.svg(), path)?;
    }
    if let Some(path) = png {
        write_bytes(&picture.png().context("the picture cannot be drawn")?, path)?;
    }
    Ok(())
}

/// Writes what has been rendered already, as [`write_whole`] does.
pub fn write_bytes(bytes: &[u8], path: &Path) -> anyhow::Result<()> {
    write_whole(path, |out| out.write_all(bytes))
}

/// Whether files are to be for this user alone.
static PRIVATE: AtomicBool = AtomicBool::new(false);

/// Keeps the files that are written from now on for root alone, if this is root: they tell of other users' programs what `/proc` may hide.
/// Whether it does.
pub fn keep_private() -> bool {
    let is_root = driven_program::is_root();
    PRIVATE.store(is_root, Ordering::Relaxed);
    is_root
}

/// Writes a file, whole or not at all; `-` is standard output.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    if is_standard_output(path) {
        let mut out = BufWriter::new(io::stdout().lock());
        return tolerate_broken_pipe(write(&mut out).and_then(|()| out.flush()))
            .context("cannot write to standard output");
    }
    let context = || format!("cannot write {}", path.display());
    check_directory(path)?;
    let mut output = Output::open(path).with_context(context)?;
    if PRIVATE.load(Ordering::Relaxed) {
        output.keep_private().with_context(context)?;
    }
    let mut out = BufWriter::new(&mut output);
    write(&mut out).and_then(|()| out.flush()).with_context(context)?;
    drop(out);
    output.finish().with_context(context)
}

/// What is wrong with the files that are to be written, before anything is measured: two are one, or one cannot be made where it is to be.
pub fn check_files<'a>(outputs: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
    let (standard, files): (Vec<&Path>, Vec<&Path>) =
        outputs.into_iter().partition(|path| is_standard_output(path));
    ensure!(standard.len() <= 1, "only one output can go to standard output; give the others a file");
    for (index, file) in files.iter().enumerate() {
        // A device or a pipe, such as /dev/null, takes any number.
        let is_special = file.metadata().is_ok_and(|about| !about.is_file());
        ensure!(
            is_special || !files[..index].contains(file),
            "two outputs would go to {}; give each a file of its own",
            file.display()
        );
        check_directory(file)?;
    }
    Ok(())
}

fn check_directory(file: &Path) -> anyhow::Result<()> {
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.display();
    ensure!(dir.exists(), "cannot write {name}: there is no directory {}; create it first", dir.display());
    ensure!(!file.is_dir(), "cannot write {name}: it is a directory; name a file in it");
    Ok(())
}

/// Refuses PNG, before anything is measured, in a build that draws none; and refuses to write it to a terminal.
pub fn check_png(png: Option<&Path>) -> anyhow::Result<()> {
    ensure!(png.is_none() || DRAWS_PNG, PictureError::NoPng);
    let to_terminal = png.is_some_and(is_standard_output) && io::stdout().is_terminal();
    anyhow::ensure!(
        !to_terminal,
        "a PNG picture is not for a terminal; write it with --png FILE, or pipe it on"
    );
    Ok(())
}

/// Whether a path stands for standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-" || file_writer::descriptor(path) == Some(1)
}

fn tolerate_broken_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
