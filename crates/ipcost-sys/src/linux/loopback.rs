//! The loopback interface, queried over netlink: unlike `/sys/class/net`, it answers for this program's network
//! namespace, and it needs no other program.

use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

pub use crate::contract::Interface;

/// The loopback interface's number, in every network namespace.
const NUMBER: u32 = 1;
/// Length of `struct nlmsghdr` (`netlink(7)`), bytes.
const MESSAGE_HEADER: usize = 16;
/// Length of `struct ifinfomsg` (`rtnetlink(7)`), bytes.
const INTERFACE_HEADER: usize = 16;
/// Length of `struct rtattr` (`rtnetlink(7)`), bytes.
const ATTRIBUTE_HEADER: usize = 4;

/// The loopback interface; `None` if the kernel does not report it.
pub fn loopback() -> Option<Interface> {
    let flags = SocketFlags::CLOEXEC;
    // Protocol 0 is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None).ok()?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(100))).ok()?;
    send(&socket, &request(), SendFlags::empty()).ok()?;
    let mut answer = [0_u8; 16 * 1024];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty()).ok()?;
    parse(answer.get(..length)?)
}

/// `RTM_GETLINK` for the loopback interface.
fn request() -> Vec<u8> {
    let mut message = Vec::new();
    message.extend(((MESSAGE_HEADER + INTERFACE_HEADER) as u32).to_ne_bytes());
    message.extend(libc::RTM_GETLINK.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // sequence number, sender; family, type, interface, flags, mask
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(NUMBER.to_ne_bytes());
    message.extend([0; 8]);
    message
}

/// `RTM_NEWLINK`: two headers, then attributes, each padded to four bytes.
fn parse(message: &[u8]) -> Option<Interface> {
    let short = |bytes: &[u8], at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let long = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if short(message, 4)? != libc::RTM_NEWLINK {
        return None;
    }
    let flags = long(message, MESSAGE_HEADER + 8)?;
    let mut interface = Interface { up: flags & libc::IFF_UP as u32 != 0, mtu: None, queue: None };
    let mut rest = message.get(MESSAGE_HEADER + INTERFACE_HEADER..)?;
    while let (Some(length), Some(kind)) = (short(rest, 0), short(rest, 2)) {
        let length = usize::from(length);
        let Some(value) = rest.get(ATTRIBUTE_HEADER..length) else { break };
        match kind {
            libc::IFLA_MTU => interface.mtu = long(value, 0),
            libc::IFLA_QDISC => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                interface.queue = Some(String::from_utf8_lossy(name).into_owned());
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(interface)
}

/// Reads bytes as such an answer.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let _ = parse(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((ATTRIBUTE_HEADER + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn answer(flags: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut message = vec![0; MESSAGE_HEADER + INTERFACE_HEADER];
        message[4..6].copy_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
        message[MESSAGE_HEADER + 8..][..4].copy_from_slice(&flags.to_ne_bytes());
        message.extend(attributes.concat());
        message
    }

    #[test]
    fn an_answer_is_taken_apart() {
        let attributes = [
            attribute(libc::IFLA_IFNAME, b"lo\0"),
            attribute(libc::IFLA_MTU, &1500_u32.to_ne_bytes()),
            attribute(libc::IFLA_QDISC, b"netem\0"),
        ];
        let up = parse(&answer(libc::IFF_UP as u32, &attributes)).unwrap();
        assert_eq!(up, Interface { up: true, mtu: Some(1500), queue: Some("netem".into()) });
        let down = parse(&answer(0, &[])).unwrap();
        assert_eq!(down, Interface { up: false, mtu: None, queue: None });
        let mut error = answer(0, &[]);
        error[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!((parse(&error), parse(&[])), (None, None));
    }

    #[test]
    fn this_machine_answers() {
        assert!(loopback().is_some_and(|interface| interface.mtu.is_some() && interface.queue.is_some()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(flags in any::<u32>(), tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&tail);
            let _ = parse(&answer(flags, &[tail]));
        }
    }
}
