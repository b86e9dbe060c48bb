"""Plants TLS in the Python peer: Python imports this by itself where PYTHONPATH leads here.

Every socket that connects or is accepted encrypts what it carries. The certificate is in PLANT_DIR.
"""

import os
import socket
import ssl
import weakref

CHUNK = 1 << 16
PLAIN_CONNECT, PLAIN_ACCEPT = socket.socket.connect, socket.socket.accept
PLAIN_SENDALL, PLAIN_RECV_INTO = socket.socket.sendall, socket.socket.recv_into
SESSIONS = weakref.WeakKeyDictionary()


def context(is_server):
    certificate = os.path.join(os.environ["PLANT_DIR"], "certificate.pem")
    if is_server:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(certificate)
        return made
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.load_verify_locations(certificate)
    return made


class Session:
    """TLS over a socket; the handshake is part of its first use."""

    def __init__(self, connection, is_server):
        self._connection = weakref.ref(connection)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        name = None if is_server else "planted"
        self._tls = context(is_server).wrap_bio(self._incoming, self._outgoing, is_server, name)
        self._is_ready = False
        self._chunk = bytearray(CHUNK)

    def sendall(self, data):
        self._prepare()
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view) :]
        self._flush()

    def recv_into(self, buffer):
        self._prepare()
        return self._until_done(lambda: self._tls.read(len(buffer), buffer))

    def _prepare(self):
        if not self._is_ready:
            self._is_ready = True
            self._until_done(self._tls.do_handshake)
            self._flush()

    def _until_done(self, act):
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                self._flush()
                count = PLAIN_RECV_INTO(self._connection(), self._chunk)
                if count == 0:
                    return 0
                self._incoming.write(memoryview(self._chunk)[:count])

    def _flush(self):
        if self._outgoing.pending:
            PLAIN_SENDALL(self._connection(), self._outgoing.read())


def connect(self, address):
    PLAIN_CONNECT(self, address)
    SESSIONS[self] = Session(self, is_server=False)


def accept(self):
    connection, address = PLAIN_ACCEPT(self)
    SESSIONS[connection] = Session(connection, is_server=True)
    return connection, address


def sendall(self, data):
    session = SESSIONS.get(self)
    return PLAIN_SENDALL(self, data) if session is None else session.sendall(data)


def recv_into(self, buffer):
    session = SESSIONS.get(self)
    return PLAIN_RECV_INTO(self, buffer) if session is None else session.recv_into(buffer)


socket.socket.connect, socket.socket.accept = connect, accept
socket.socket.sendall, socket.socket.recv_into = sendall, recv_into
