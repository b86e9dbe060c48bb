//! Whose server may learn a password of the user's: a name in a directory or a port that is free can be taken by any user of the machine.

use std::env;

use ipcost_sys::transport::Connection;
use ipcost_sys::{ListenerOwner, User, driven_program};

use super::Login;
use crate::PeerError;
use crate::adapters::{refused, system};

/// The word for a listener whose owner cannot be seen.
pub const UNKNOWN: &str = "unknown";

/// Who may own the socket that a server listens on.
#[derive(Debug, Clone)]
pub(super) struct Trust {
    /// The accounts that servers of this kind have.
    usual: &'static [&'static str],
    /// Those that the user names.
    named: Vec<String>,
    /// Who listens, and whether it gets a password; not yet known before a connection has been looked at.
    listener: Option<(ListenerOwner, bool)>,
}

impl Trust {
    /// For who asks; a private server knows its secret already.
    pub(super) fn of(login: &Login) -> Self {
        let listener = login.secret.is_some().then_some((ListenerOwner::Elsewhere, true));
        Self { usual: login.usual_owners, named: login.trusted_owners.clone(), listener }
    }

    /// Looks who listens at the other end: once, since every call on each connection would be measured.
    pub(super) fn look(&mut self, connection: &Connection) -> Result<(), PeerError> {
        if self.listener.is_none() {
            let owner = driven_program::listener_owner(connection)
                .map_err(system("cannot find out whose server listens there"))?;
            self.listener = Some((owner, self.is_trusted(owner)));
        }
        Ok(())
    }

    /// That a password may be sent.
    pub(super) fn check(&self) -> Result<(), PeerError> {
        match self.listener {
            Some((_, true)) => Ok(()),
            Some((owner, false)) => Err(self.refusal(owner)),
            None => Err(refused("whose server listens there is not known; no password is sent to it")),
        }
    }

    fn is_trusted(&self, owner: ListenerOwner) -> bool {
        match owner {
            // The user has named another machine's address.
            ListenerOwner::Elsewhere => true,
            ListenerOwner::User(owner) => self.may_own(owner),
            ListenerOwner::Unknown => self.named.iter().any(|name| name == UNKNOWN),
        }
    }

    fn refusal(&self, owner: ListenerOwner) -> PeerError {
        let ListenerOwner::User(owner) = owner else {
            return refused(format!(
                "the system does not tell whose server listens there (another network, a NAT), and it gets no password; if it is your server, give --trust-owner {UNKNOWN}"
            ));
        };
        let name = driven_program::name_of(Some(User { id: owner, group: owner }));
        refused(format!(
            "the server belongs to user {name}, and gets no password: that is neither you, nor root, nor {}; if it is your server, give --trust-owner {name}",
            self.usual.join(" or ")
        ))
    }

    fn may_own(&self, owner: u32) -> bool {
        let own = driven_program::own_user();
        // Who has become root by sudo.
        let before = env::var("SUDO_UID").ok().filter(|_| own == 0).and_then(|number| number.parse().ok());
        let names = self.usual.iter().copied().chain(self.named.iter().map(String::as_str));
        let known = names.filter_map(driven_program::user_number);
        [0, own].into_iter().chain(before).chain(known).any(|known| known == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(named: &[&str]) -> Trust {
        let trusted_owners = named.iter().map(|name| (*name).to_owned()).collect();
        Trust::of(&Login { usual_owners: &["daemon"], trusted_owners, ..Login::default() })
    }

    #[test]
    fn a_password_goes_to_the_user_root_the_usual_account_and_who_is_named() {
        let own = driven_program::own_user();
        let daemon = driven_program::user_number("daemon").unwrap();
        for owner in [0, own, daemon] {
            assert!(trust(&[]).is_trusted(ListenerOwner::User(owner)), "{owner}");
        }
        assert!(trust(&[]).is_trusted(ListenerOwner::Elsewhere));
        let refusal = |named: &[&str], owner| {
            let trust = trust(named);
            (!trust.is_trusted(owner)).then(|| trust.refusal(owner).to_string())
        };
        let stranger = ListenerOwner::User(54_321);
        let error = refusal(&["1", UNKNOWN], stranger).unwrap();
        assert!(error.contains("user 54321") && error.contains("--trust-owner 54321"), "{error}");
        assert_eq!(refusal(&["54321"], stranger), None);
        let error = refusal(&["54321"], ListenerOwner::Unknown).unwrap();
        assert!(error.ends_with("--trust-owner unknown"), "{error}");
        assert_eq!(refusal(&[UNKNOWN], ListenerOwner::Unknown), None);
    }

    #[test]
    fn no_password_goes_to_a_server_that_was_not_looked_at() {
        assert!(trust(&[]).check().is_err());
        assert!(Trust::of(&Login { secret: Some(String::new()), ..Login::default() }).check().is_ok());
    }
}
