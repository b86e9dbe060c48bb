//! What a shell command of an arm changes, as far as the command says it plainly.

use std::path::Path;

/// The files that a command sets, with the value where it is plain.
pub type SetFiles = Vec<(String, Option<String>)>;

/// What a command line is seen to set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Understood {
    /// Files of the kernel.
    pub settings: SetFiles,
    /// The first part that may change something else.
    pub rest: Option<String>,
}

/// Commands that change nothing by themselves.
const HARMLESS: [&str; 7] = [":", "true", "sleep", "echo", "printf", "sync", "test"];
/// Flags of `sysctl` that only say how it writes.
const SYSCTL_FLAGS: [&str; 9] = ["-w", "-q", "-e", "-n", "-qw", "-wq", "-qe", "--write", "--quiet"];

/// Reads a command line: each of its parts is an assignment of `sysctl`, or writes to a file of the kernel, or changes nothing.
pub fn understand(line: &str) -> Understood {
    let mut understood = Understood::default();
    for part in parts(line) {
        match settings_of(&part) {
            Some(settings) => understood.settings.extend(settings),
            None => {
                let words: Vec<&str> = part.iter().map(|token| token.text.as_str()).collect();
                understood.rest.get_or_insert_with(|| words.join(" "));
            }
        }
    }
    // The last value of a file is the one that stays.
    let mut settings: SetFiles = Vec::new();
    for (path, value) in understood.settings {
        settings.retain(|(known, _)| *known != path);
        settings.push((path, value));
    }
    settings.sort();
    Understood { settings, ..understood }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    kind: ArmCommandKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArmCommandKind {
    Word,
    /// A word with something that the shell replaces.
    Replaced,
    /// `>` or `>>`, without a number.
    Output,
    /// What only a shell understands.
    Operator,
}

/// The parts of a line that its `;`, `&&`, `||`, `|` and newlines separate.
fn parts(line: &str) -> Vec<Vec<Token>> {
    let mut parts = vec![Vec::new()];
    for token in tokens(line) {
        match (token.kind, token.text.as_str()) {
            (ArmCommandKind::Operator, ";" | "&&" | "||" | "|" | "\n") => parts.push(Vec::new()),
            _ => parts.last_mut().expect("there is one").push(token),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Words and operators, as the shell separates them (POSIX, 2.3 Token Recognition), without comments and here-documents.
fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word: Option<Token> = None;
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' => tokens.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_with(Token::word);
                word.text.extend(chars.by_ref().take_while(|char| *char != '\''));
            }
            '"' => {
                let word = word.get_or_insert_with(Token::word);
                while let Some(char) = chars.next().filter(|char| *char != '"') {
                    match char {
                        '\\' => word.text.extend(chars.next()),
                        _ => word.add(char),
                    }
                }
            }
            '\\' => word.get_or_insert_with(Token::word).text.extend(chars.next()),
            ';' | '\n' | '&' | '|' | '<' | '>' | '(' | ')' | '#' if char != '#' || word.is_none() => {
                // A number before it is the descriptor's.
                let numbered =
                    word.take_if(|word| char == '>' && word.text.bytes().all(|byte| byte.is_ascii_digit()));
                tokens.extend(word.take());
                let twice = "&|>;".contains(char) && chars.next_if_eq(&char).is_some();
                let text = if twice { format!("{char}{char}") } else { char.to_string() };
                let kind = if char == '>' && numbered.is_none() {
                    ArmCommandKind::Output
                } else {
                    ArmCommandKind::Operator
                };
                tokens.push(Token { text, kind });
            }
            _ => word.get_or_insert_with(Token::word).add(char),
        }
    }
    tokens.extend(word);
    tokens
}

impl Token {
    fn word() -> Self {
        Self { text: String::new(), kind: ArmCommandKind::Word }
    }

    fn add(&mut self, char: char) {
        if matches!(char, '$' | '`' | '*' | '?' | '[' | '~') {
            self.kind = ArmCommandKind::Replaced;
        }
        self.text.push(char);
    }
}

/// What one part sets; `None` if it may change something else.
fn settings_of(part: &[Token]) -> Option<SetFiles> {
    let runs_another =
        |token: &Token| token.kind == ArmCommandKind::Replaced && token.text.contains(['`', '(']);
    if part.iter().any(|token| token.kind == ArmCommandKind::Operator || runs_another(token)) {
        return None;
    }
    let mut settings = SetFiles::new();
    let mut words: Vec<&Token> = Vec::new();
    let mut rest = part.iter();
    while let Some(token) = rest.next() {
        if token.kind != ArmCommandKind::Output {
            words.push(token);
            continue;
        }
        let target = rest.next()?;
        match target.text.as_str() {
            "/dev/null" => {}
            path => settings.push((of_kernel(target).then(|| path.to_owned())?, None)),
        }
    }
    while words.first().is_some_and(|word| word.text == "sudo" || word.text == "-n") {
        words.remove(0);
    }
    let Some((program, arguments)) = words.split_first() else { return Some(settings) };
    match Path::new(&program.text).file_name()?.to_str()? {
        "sysctl" => settings.extend(of_sysctl(arguments)?),
        "tee" => {
            for argument in arguments.iter().filter(|argument| argument.text != "-a") {
                settings.push((of_kernel(argument).then(|| argument.text.clone())?, None));
            }
        }
        name if HARMLESS.contains(&name) => {
            if let ("echo", [(_, value @ None)]) = (name, &mut settings[..]) {
                *value = plain(arguments);
            }
        }
        _ => return None,
    }
    Some(settings)
}

fn of_kernel(path: &Token) -> bool {
    path.kind == ArmCommandKind::Word
        && (path.text.starts_with("/sys/") || path.text.starts_with("/proc/"))
        && Path::new(&path.text).is_file()
}

/// What `echo` prints, if the shell replaces nothing and there are no flags.
fn plain(words: &[&Token]) -> Option<String> {
    let all_plain = words.iter().all(|word| word.kind == ArmCommandKind::Word && !word.text.starts_with('-'));
    (all_plain && !words.is_empty())
        .then(|| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
}

fn of_sysctl(arguments: &[&Token]) -> Option<SetFiles> {
    let mut settings = SetFiles::new();
    for argument in arguments.iter().filter(|argument| !SYSCTL_FLAGS.contains(&argument.text.as_str())) {
        let (name, value) = argument.text.split_once('=')?;
        // A name with slashes may have dots in it.
        let path = if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
        let path = format!("/proc/sys/{path}");
        let plain = argument.kind == ArmCommandKind::Word;
        settings.push((Path::new(&path).is_file().then_some(path)?, plain.then(|| value.to_owned())));
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";

    #[test]
    fn settings_are_seen_in_commands() {
        let one = |value: Option<&str>| vec![(FORWARD.to_owned(), value.map(str::to_owned))];
        for (line, settings) in [
            ("sysctl -w net.ipv4.ip_forward=1", one(Some("1"))),
            ("sudo -n /sbin/sysctl -qw net.ipv4.ip_forward=1;", one(Some("1"))),
            ("sysctl -qw net/ipv4/ip_forward=$X", one(None)),
            ("sysctl -w net.ipv4.ip_forward='0'; sysctl -w net.ipv4.ip_forward=1", one(Some("1"))),
            ("echo 1 > /proc/sys/net/ipv4/ip_forward", one(Some("1"))),
            ("echo 1 >/proc/sys/net/ipv4/ip_forward; true", one(Some("1"))),
            ("echo 1 | sudo tee /proc/sys/net/ipv4/ip_forward >/dev/null && sleep 0.1", one(None)),
            ("true", vec![]),
        ] {
            assert_eq!(understand(line), Understood { settings, rest: None }, "{line}");
        }
    }

    #[test]
    fn a_part_that_may_change_something_else_is_named() {
        for (line, rest) in [
            ("sysctl -w net.ipv4.ip_forward=1; ip link set lo mtu 1500", "ip link set lo mtu 1500"),
            ("sysctl -w net.ipv4.ip_forward=1 && modprobe x", "modprobe x"),
            ("sysctl -p x", "sysctl -p x"),
            ("sysctl -w no.such.thing=1", "sysctl -w no.such.thing=1"),
            ("sysctl -w net.ipv4.ip_forward=$(touch x)", "sysctl -w net.ipv4.ip_forward=$ ( touch x )"),
            ("echo 1 > /etc/hosts", "echo 1 > /etc/hosts"),
            ("echo 1 > /proc/sys/net/ipv4/ip_forward &", "echo 1 > /proc/sys/net/ipv4/ip_forward &"),
            ("echo `touch x`", "echo `touch x`"),
            ("echo \"$(touch x)\"", "echo $(touch x)"),
            ("systemctl restart x", "systemctl restart x"),
            ("echo 1 2> /proc/sys/net/ipv4/ip_forward", "echo 1 > /proc/sys/net/ipv4/ip_forward"),
        ] {
            assert_eq!(understand(line).rest.as_deref(), Some(rest), "{line}");
        }
    }
}
