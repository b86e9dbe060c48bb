//! Starting a process that inherits only the given handles, within a job from its first instruction.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;
use std::thread;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_INTERNAL_ERROR, HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation, TRUE,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessW,
    DeleteProcThreadAttributeList, EXTENDED_STARTUPINFO_PRESENT, InitializeProcThreadAttributeList,
    LPPROC_THREAD_ATTRIBUTE_LIST, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROC_THREAD_ATTRIBUTE_JOB_LIST,
    PROCESS_INFORMATION, ResumeThread, STARTF_USESTDHANDLES, STARTUPINFOEXW, SetProcessAffinityMask,
    UpdateProcThreadAttribute,
};

use super::job::Job;
use super::programs::find;
use super::text::wide;
use super::{checked, is, owned};

/// Standard input, output and error of a child.
pub type Streams = [OwnedHandle; 3];

/// How often to try to start a program if the system gives no reason for a failure, with a pause between attempts.
const ATTEMPTS: u32 = 4;
const AGAIN: Duration = Duration::from_millis(100);

/// Starts a program; returns its handle and process ID.
///
/// # Errors
/// `NotFound` if it does not exist, `InvalidInput` for a batch file; otherwise, if a system call fails.
pub fn launch(
    command: &[String],
    streams: &Streams,
    inherit: &[OwnedHandle],
    cpu: Option<usize>,
    env: &[(String, String)],
    job: &Job,
) -> io::Result<(OwnedHandle, u32)> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let file = find(program).ok_or(io::ErrorKind::NotFound)?;
    refuse_batch_file(&file)?;
    let file = wide(&file)?;
    let mut line = wide(command_line(program, arguments))?;
    let handles: Vec<HANDLE> = streams.iter().chain(inherit).map(AsRawHandle::as_raw_handle).collect();
    for handle in &handles {
        // SAFETY: the handles are open.
        checked(unsafe { SetHandleInformation(*handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) })?;
    }
    let jobs = [job.handle()];
    let mut attributes = Attributes::new()?;
    attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &handles)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_JOB_LIST, &jobs)?;
    let mut startup = STARTUPINFOEXW { lpAttributeList: attributes.list(), ..STARTUPINFOEXW::default() };
    startup.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    startup.StartupInfo.hStdInput = streams[0].as_raw_handle();
    startup.StartupInfo.hStdOutput = streams[1].as_raw_handle();
    startup.StartupInfo.hStdError = streams[2].as_raw_handle();
    // A separate group gets no Ctrl-C: the engine decides when a peer leaves. Suspended, so that it never runs where it
    // should not.
    let flags = EXTENDED_STARTUPINFO_PRESENT
        | CREATE_NEW_PROCESS_GROUP
        | CREATE_SUSPENDED
        | CREATE_UNICODE_ENVIRONMENT;
    let environment = if env.is_empty() { None } else { Some(environment(env)?) };
    let environment = environment.as_ref().map_or(ptr::null(), |block| block.as_ptr());
    let mut made = PROCESS_INFORMATION::default();
    // SAFETY: texts end in NUL, the environment in two, and the line is writable; they, the startup structure, the attributes and the lists that they
    // point to outlive the call.
    let mut create = || unsafe {
        checked(CreateProcessW(
            file.as_ptr(),
            line.as_mut_ptr(),
            ptr::null(),
            ptr::null(),
            TRUE,
            flags,
            environment.cast(),
            ptr::null(),
            (&raw const startup).cast(),
            &mut made,
        ))
    };
    let mut created = create();
    for _ in 1..ATTEMPTS {
        // Wine sometimes answers this when many are started at once, without having started anything.
        if !created.as_ref().is_err_and(|error| is(error, ERROR_INTERNAL_ERROR)) {
            break;
        }
        thread::sleep(AGAIN);
        created = create();
    }
    created?;
    // SAFETY: both handles are ours alone.
    let (process, thread) = unsafe { (owned(made.hProcess)?, owned(made.hThread)?) };
    if let Some(cpu) = cpu {
        // SAFETY: the handle is open.
        checked(unsafe { SetProcessAffinityMask(process.as_raw_handle(), mask_of(cpu)?) })?;
    }
    // SAFETY: the handle is open.
    if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
        return Err(io::Error::last_os_error());
    }
    Ok((process, made.dwProcessId))
}

/// This process's environment with these variables, as a block of texts; a name means the same in any case.
fn environment(more: &[(String, String)]) -> io::Result<Vec<u16>> {
    let replaced = |name: &std::ffi::OsStr| {
        more.iter().any(|(other, _)| name.to_str().is_some_and(|name| name.eq_ignore_ascii_case(other)))
    };
    let mut block = Vec::new();
    for (name, value) in std::env::vars_os().filter(|(name, _)| !replaced(name)) {
        let mut text = name;
        text.push("=");
        text.push(value);
        block.extend(wide(text)?);
    }
    for (name, value) in more {
        block.extend(wide(format!("{name}={value}"))?);
    }
    block.push(0);
    Ok(block)
}

fn mask_of(cpu: usize) -> io::Result<usize> {
    let beyond = || io::Error::new(io::ErrorKind::InvalidInput, format!("there is no processor {cpu}"));
    1_usize.checked_shl(cpu as u32).ok_or_else(beyond)
}

/// A batch file's arguments are read by cmd.exe, whose quoting is unreliable.
fn refuse_batch_file(file: &Path) -> io::Result<()> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if matches!(ending.as_deref(), Some("bat" | "cmd")) {
        let reason = "a batch file cannot be a peer; name the program that it starts";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(())
}

/// A command's words as one line, which the program's C runtime splits again (`CommandLineToArgvW`).
fn command_line(program: &str, arguments: &[String]) -> String {
    // The program's name ends at its closing quotation mark, which no path contains.
    let mut line = format!("\"{program}\"");
    for argument in arguments {
        line.push(' ');
        quote(argument, &mut line);
    }
    line
}

/// Backslashes are special only before a quotation mark, and are doubled there.
fn quote(argument: &str, line: &mut String) {
    let plain = !argument.is_empty() && !argument.contains([' ', '\t', '\n', '\u{b}', '"']);
    if plain {
        return line.push_str(argument);
    }
    line.push('"');
    let mut backslashes = 0;
    for letter in argument.chars() {
        match letter {
            '\\' => backslashes += 1,
            '"' => {
                line.extend(std::iter::repeat_n('\\', backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        line.push(letter);
    }
    line.extend(std::iter::repeat_n('\\', backslashes));
    line.push('"');
}

/// A list of attributes for starting a process; attribute values must outlive it.
struct Attributes<'a> {
    memory: Vec<usize>,
    lives: std::marker::PhantomData<&'a [HANDLE]>,
}

impl<'a> Attributes<'a> {
    const COUNT: u32 = 2;

    fn new() -> io::Result<Self> {
        let mut bytes = 0;
        // SAFETY: without a list, the call returns how many bytes it needs.
        unsafe { InitializeProcThreadAttributeList(ptr::null_mut(), Self::COUNT, 0, &mut bytes) };
        let mut memory = vec![0_usize; bytes.div_ceil(size_of::<usize>())];
        // SAFETY: the memory has as many bytes as the call asked for.
        checked(unsafe {
            InitializeProcThreadAttributeList(memory.as_mut_ptr().cast(), Self::COUNT, 0, &mut bytes)
        })?;
        Ok(Self { memory, lives: std::marker::PhantomData })
    }

    fn list(&mut self) -> LPPROC_THREAD_ATTRIBUTE_LIST {
        self.memory.as_mut_ptr().cast()
    }

    fn set(&mut self, attribute: u32, handles: &'a [HANDLE]) -> io::Result<()> {
        let value: *const c_void = handles.as_ptr().cast();
        // SAFETY: the list is initialised; pointer and length describe the handles, which outlive the list.
        checked(unsafe {
            UpdateProcThreadAttribute(
                self.list(),
                0,
                attribute as usize,
                value,
                size_of_val(handles),
                ptr::null_mut(),
                ptr::null(),
            )
        })
    }
}

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        // SAFETY: the list is initialised.
        unsafe { DeleteProcThreadAttributeList(self.list()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_the_runtime_takes_them_apart() {
        let line = |words: &[&str]| {
            command_line("a b.exe", &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(line(&["plain", r"C:\x\"]), r#""a b.exe" plain C:\x\"#);
        assert_eq!(line(&["", "two words"]), r#""a b.exe" "" "two words""#);
        assert_eq!(line(&[r"ends in \ ", r"with space\"]), r#""a b.exe" "ends in \ " "with space\\""#);
        assert_eq!(line(&[r#"say "hi""#, r#"\"x"#]), r#""a b.exe" "say \"hi\"" "\\\"x""#);
    }

    #[test]
    fn batch_files_are_refused() {
        assert!(refuse_batch_file(Path::new(r"C:\peer.BAT")).is_err());
        assert!(refuse_batch_file(Path::new(r"C:\peer.exe")).is_ok());
    }
}
