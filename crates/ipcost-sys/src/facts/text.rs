//! Formats in which the kernel writes settings.

use std::str::FromStr;

use crate::system::kernel_files;

/// The first line of a file, trimmed; `None` if unreadable or empty.
pub fn line(path: &str) -> Option<String> {
    first_line(&kernel_files::read_to_string(path).ok()?)
}

/// A file with one number.
pub fn number<T: FromStr>(path: &str) -> Option<T> {
    line(path)?.parse().ok()
}

/// A file with exactly `N` numbers, such as `tcp_rmem`.
pub fn numbers<const N: usize>(path: &str) -> Option<[u64; N]> {
    exactly(&line(path)?)
}

/// The value of `name:` in a file of such lines, such as `/proc/meminfo`.
pub fn field(path: &str, name: &str) -> Option<String> {
    value_of(&kernel_files::read_to_string(path).ok()?, name)
}

pub fn first_line(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

pub fn exactly<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

pub fn value_of(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// How many items a kernel list such as `0-3,8` has.
pub fn listed(text: &str) -> Option<u64> {
    let count = |range: &str| match range.split_once('-') {
        Some((first, last)) => {
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        }
        None => range.parse::<u64>().ok().map(|_| 1),
    };
    text.trim().split(',').try_fold(0_u64, |sum, range| sum.checked_add(count(range.trim())?))
}

/// Kibibytes as `/proc/meminfo` writes them, in bytes.
pub fn kibibytes(value: &str) -> Option<u64> {
    value.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Reads a text as each of these; the first line as a name as well.
pub(crate) fn read_text(text: &str) {
    let name = first_line(text).unwrap_or_default();
    let _ = (listed(text), kibibytes(text), exactly::<3>(text), value_of(text, &name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_counted() {
        assert_eq!((listed("0-3,8\n"), listed("0"), listed("5,7-7")), (Some(5), Some(1), Some(2)));
        for rubbish in ["", "3-1", "a", "0-", "1,,2", "0-18446744073709551615", "-4"] {
            assert_eq!(listed(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn values_are_found() {
        let meminfo = "MemTotal:       24684084 kB\nSwapFree:  12 kB\n";
        assert_eq!(value_of(meminfo, "MemTotal").as_deref().and_then(kibibytes), Some(25_276_502_016));
        assert_eq!((value_of(meminfo, "Mem"), kibibytes("x kB"), kibibytes("")), (None, None, None));
        assert_eq!(kibibytes("18446744073709551615 kB"), None);
        assert_eq!(exactly("4096\t131072\t6291456\n"), Some([4_096, 131_072, 6_291_456]));
        assert_eq!((exactly::<2>("1 2 3"), exactly::<2>("1"), exactly::<2>("1 x")), (None, None, None));
        assert_eq!((first_line(" a \nb"), first_line("\nb"), first_line("")), (Some("a".into()), None, None));
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in any::<String>(), name in any::<String>()) {
            let _ = (listed(&text), value_of(&text, &name), kibibytes(&text));
            let _ = (exactly::<3>(&text), first_line(&text));
        }
    }
}
