//! Unix socket names outside the file system (`unix(7)`).

use std::io;

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::system::socket::UnixAddress;

/// Why this system lacks such names.
pub const LACKS: Option<&'static str> = None;

/// A name as a socket's address.
pub fn abstract_address(name: &str) -> io::Result<UnixAddress> {
    Ok(UnixAddress::new_abstract_name(name.as_bytes())?)
}

/// 128 random bits in hexadecimal digits.
pub fn unguessable() -> io::Result<String> {
    let mut bits = [0_u8; 16];
    let mut filled = 0;
    while filled < bits.len() {
        match getrandom(&mut bits[filled..], GetRandomFlags::empty()) {
            Err(Errno::INTR) => {}
            count => filled += count?,
        }
    }
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_cannot_be_guessed() {
        let names: HashSet<String> = (0..1000).map(|_| unguessable().unwrap()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == 32 && name.chars().all(|c| c.is_ascii_hexdigit())));
        // Every digit varies: 1000 draws of 16 miss one with a chance below 10⁻²⁶.
        for digit in 0..32 {
            let seen: HashSet<char> = names.iter().filter_map(|name| name.chars().nth(digit)).collect();
            assert_eq!(seen.len(), 16, "digit {digit}");
        }
    }
}
