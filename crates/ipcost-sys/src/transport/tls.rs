//! `tls-tcp` and `tls-unix`: TLS 1.3 over another transport, by rustls. Only builds with the feature `tls` have them.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};

use super::{Client, Connection, Provision, Rendezvous, Server, Transport, tcp, unix};
use crate::SysError;

pub const TCP: Tls = Tls {
    beneath: &tcp::TCP,
    capabilities: &Capabilities {
        name: "tls-tcp",
        summary: "TLS 1.3 (rustls) over TCP over 127.0.0.1",
        connects: true,
        option_groups: &[
            OptionGroup::Socket,
            OptionGroup::Listener,
            OptionGroup::Tcp,
            OptionGroup::Lasting,
            OptionGroup::SourceAddresses,
            OptionGroup::Tls,
        ],
        trouble_counters: &["ListenOverflows", "ListenDrops", "TCPTimeouts"],
        ..Capabilities::PLAIN
    },
};

/// TLS over a Unix socket.
pub const UNIX: Tls = Tls {
    beneath: &unix::UNIX,
    capabilities: &Capabilities {
        name: "tls-unix",
        summary: "TLS 1.3 (rustls) over a Unix stream socket bound to a path",
        connects: true,
        option_groups: &[OptionGroup::Socket, OptionGroup::Listener, OptionGroup::Tls],
        ..Capabilities::PLAIN
    },
};

/// The transport beneath, and TLS itself.
pub struct Tls {
    beneath: &'static dyn Transport,
    capabilities: &'static Capabilities,
}

impl Transport for Tls {
    fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }

    fn probe(&self) -> Result<(), SysError> {
        sessions::probe()?;
        self.beneath.probe()
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        self.beneath.capacity_bytes(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        self.beneath.provision(place)
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        sessions::serve(self.beneath.serve(address, cell)?)
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        sessions::reach(address, cell, |address| self.beneath.reach(address, cell, worker))
    }
}

/// Encrypts a connection from here on, as a client that trusts anyone who answers; it shakes hands when it first moves something.
pub fn encrypt(connection: &mut Connection) -> Result<(), SysError> {
    sessions::encrypt(connection)
}

#[cfg(not(feature = "tls"))]
mod sessions {
    //! Stubs for a build without TLS.

    use super::*;

    const NONE: SysError =
        SysError::Unsupported("this program was built without TLS; build it with --features tls");

    pub fn probe() -> Result<(), SysError> {
        Err(NONE)
    }

    pub fn serve(_beneath: Box<dyn Server>) -> Result<Box<dyn Server>, SysError> {
        Err(NONE)
    }

    pub fn encrypt(_connection: &mut Connection) -> Result<(), SysError> {
        Err(NONE)
    }

    pub fn reach(
        _address: &Address,
        _cell: &Cell,
        _beneath: impl FnOnce(&Address) -> Result<Box<dyn Client>, SysError>,
    ) -> Result<Box<dyn Client>, SysError> {
        Err(NONE)
    }
}

#[cfg(feature = "tls")]
mod sessions {
    //! Sessions by rustls. The server generates a certificate; the client gets it with the address, and trusts only it.

    use std::error::Error;
    use std::io::{self, IoSlice, Read, Write};
    use std::ops::DerefMut;
    use std::sync::{Arc, OnceLock};

    use rustls::client::Resumption;
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{ring, verify_tls13_signature};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
    use rustls::version::TLS13;
    use rustls::{
        ClientConfig, ClientConnection, ConnectionCommon, DigitallySignedStruct, RootCertStore, ServerConfig,
        ServerConnection, SideData, SignatureScheme, Stream,
    };
    use serde::{Deserialize, Serialize};

    use super::super::{Channel, Effective, from_address, to_address};
    use super::*;
    use crate::system::descriptor::Waitable;

    /// The only name in the certificates.
    const NAME: &str = "localhost";
    /// Sessions that a client keeps for resumption.
    const SESSIONS: usize = 256;

    pub fn probe() -> Result<(), SysError> {
        Ok(())
    }

    /// What the server's address has beyond the one beneath.
    #[derive(Serialize, Deserialize)]
    struct Trusted {
        certificate: Vec<u8>,
    }

    fn failed(what: &str, error: impl Into<Box<dyn Error + Send + Sync>>) -> SysError {
        SysError::Call { action: what.to_owned(), source: io::Error::other(error) }
    }

    pub fn serve(beneath: Box<dyn Server>) -> Result<Box<dyn Server>, SysError> {
        let certified = rcgen::generate_simple_self_signed([NAME.to_owned()])
            .map_err(|error| failed("cannot make a certificate", error))?;
        let certificate = certified.cert.der().clone();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der())
            .map_err(|error| failed("cannot use the certificate's key", error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .and_then(|config| config.with_no_client_auth().with_single_cert(vec![certificate.clone()], key))
            .map_err(|error| failed("cannot serve TLS", error))?;
        let mut address = beneath.address();
        address.extend(to_address(&Trusted { certificate: certificate.to_vec() }));
        Ok(Box::new(TlsServer { beneath, address, config: Arc::new(config) }))
    }

    struct TlsServer {
        beneath: Box<dyn Server>,
        address: Address,
        config: Arc<ServerConfig>,
    }

    impl TlsServer {
        fn secured(&self, connection: Connection) -> io::Result<Connection> {
            let session = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
            Ok(Connection::Other(Box::new(Secured { session, beneath: PlainConnection(connection) })))
        }
    }

    impl Server for TlsServer {
        fn address(&self) -> Address {
            self.address.clone()
        }

        fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
            let Some(connection) = self.beneath.try_accept()? else { return Ok(None) };
            self.secured(connection).map(Some).map_err(|error| failed("cannot serve TLS", error))
        }

        fn accept(&self) -> io::Result<Connection> {
            self.secured(self.beneath.accept()?)
        }

        fn accept_known(&self) -> io::Result<Connection> {
            self.secured(self.beneath.accept_known()?)
        }

        fn waiting(&self) -> Option<Waitable<'_>> {
            self.beneath.waiting()
        }

        fn effective(&self) -> Vec<Effective> {
            self.beneath.effective()
        }
    }

    pub fn reach(
        address: &Address,
        cell: &Cell,
        beneath: impl FnOnce(&Address) -> Result<Box<dyn Client>, SysError>,
    ) -> Result<Box<dyn Client>, SysError> {
        let mut address = address.clone();
        let certificate = address.remove_entry("certificate").into_iter().collect();
        let Trusted { certificate } = from_address("tls", &certificate)?;
        let mut trusted = RootCertStore::empty();
        trusted
            .add(CertificateDer::from(certificate))
            .map_err(|error| failed("cannot use the server's certificate", error))?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| failed("cannot use TLS", error))?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        config.resumption = match cell.options.tls_resumption().unwrap_or(true) {
            true => Resumption::in_memory_sessions(SESSIONS),
            false => Resumption::disabled(),
        };
        Ok(Box::new(TlsClient { beneath: beneath(&address)?, config: Arc::new(config) }))
    }

    struct TlsClient {
        beneath: Box<dyn Client>,
        config: Arc<ClientConfig>,
    }

    impl Client for TlsClient {
        fn connect(&mut self) -> Result<Connection, SysError> {
            let connection = self.beneath.connect()?;
            let name = ServerName::try_from(NAME).expect("a name");
            let session = ClientConnection::new(Arc::clone(&self.config), name)
                .map_err(|error| failed("cannot begin TLS", error))?;
            Ok(Connection::Other(Box::new(Secured { session, beneath: PlainConnection(connection) })))
        }

        fn retries(&self) -> u64 {
            self.beneath.retries()
        }

        fn effective(&self) -> Vec<Effective> {
            self.beneath.effective()
        }
    }

    pub fn encrypt(connection: &mut Connection) -> Result<(), SysError> {
        static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
        let config = match CONFIG.get() {
            Some(config) => config,
            None => {
                let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                    .with_protocol_versions(&[&TLS13])
                    .map_err(|error| failed("cannot use TLS", error))?
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(Anybody))
                    .with_no_client_auth();
                // As OpenSSL's clients do that keep no session.
                config.resumption = Resumption::disabled();
                CONFIG.get_or_init(|| Arc::new(config))
            }
        };
        let name = ServerName::try_from(NAME).expect("a name");
        let session = ClientConnection::new(Arc::clone(config), name)
            .map_err(|error| failed("cannot begin TLS", error))?;
        let beneath = PlainConnection(std::mem::replace(connection, Connection::Other(Box::new(Nowhere))));
        *connection = Connection::Other(Box::new(Secured { session, beneath }));
        Ok(())
    }

    /// Trusts every certificate, as clients do that encrypt without being asked to check who answers.
    #[derive(Debug)]
    struct Anybody;

    impl ServerCertVerifier for Anybody {
        fn verify_server_cert(
            &self,
            _end_entity: &CertificateDer<'_>,
            _intermediates: &[CertificateDer<'_>],
            _server_name: &ServerName<'_>,
            _ocsp_response: &[u8],
            _now: UnixTime,
        ) -> Result<ServerCertVerified, rustls::Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            // Checked, so that it costs what it costs others.
            verify_tls13_signature(
                message,
                cert,
                signed,
                &ring::default_provider().signature_verification_algorithms,
            )
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            ring::default_provider().signature_verification_algorithms.supported_schemes()
        }
    }

    /// Stands for a connection while it is being encrypted.
    struct Nowhere;

    impl Channel for Nowhere {
        fn send(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn receive(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::NotConnected.into())
        }
    }

    /// The connection beneath, as rustls takes it.
    struct PlainConnection(Connection);

    impl Read for PlainConnection {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.receive(buffer)
        }
    }

    impl Write for PlainConnection {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes)
        }

        /// Sends related parts in one call, as a socket does.
        fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
            match parts {
                [part] => self.0.send(part),
                parts => {
                    self.0.send(&parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u8>>())
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A session over a connection; shakes hands when it first moves something, and notifies the other side on closing.
    struct Secured<C: DerefMut<Target = ConnectionCommon<S>>, S: SideData> {
        session: C,
        beneath: PlainConnection,
    }

    impl<C: DerefMut<Target = ConnectionCommon<S>> + Send, S: SideData> Channel for Secured<C, S> {
        fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Stream::new(&mut self.session, &mut self.beneath).write(bytes)
        }

        fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match Stream::new(&mut self.session, &mut self.beneath).read(buffer) {
                // The other side died without a notification.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                result => result,
            }
        }

        fn push(&mut self) -> io::Result<()> {
            self.beneath.0.push()
        }
    }

    impl<C: DerefMut<Target = ConnectionCommon<S>>, S: SideData> Drop for Secured<C, S> {
        fn drop(&mut self) {
            self.session.send_close_notify();
            // A side that has already closed needs no notification.
            let _ = self.session.write_tls(&mut self.beneath);
        }
    }
}
