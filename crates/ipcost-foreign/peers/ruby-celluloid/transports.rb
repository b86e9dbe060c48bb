# frozen_string_literal: true

# Transports over Celluloid::IO's sockets.

require_relative "../ruby/sockets"

module Ipcost
  # unix and unix-abstract. The library passes a path on to Ruby's own sockets, which treat one that begins with a NUL
  # as an abstract name.
  class CelluloidUnixTransport < UnixTransport
    def connect
      Celluloid::IO::UNIXSocket.open(@path)
    end

    private

    def new_listener
      Celluloid::IO::UNIXServer.new(@path)
    end
  end

  # tcp. Unlike other peers it spreads its sources only on request: the library would have to bind every socket.
  class CelluloidTcpTransport < TcpTransport
    def connector(worker)
      @cell.option("spread_sources") ? super : self
    end

    private

    def new_listener
      Celluloid::IO::TCPServer.new(@host, @port)
    end

    def open_socket(source)
      socket = if source
                 Celluloid::IO::TCPSocket.open(@host, @port, source.ip_address)
               else
                 Celluloid::IO::TCPSocket.open(@host, @port)
               end
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if @nodelay
      socket
    end
  end

  CELLULOID_TRANSPORTS = {
    "unix" => CelluloidUnixTransport, "unix-abstract" => (CelluloidUnixTransport if Transport::LINUX),
    "tcp" => CelluloidTcpTransport
  }.compact.freeze
end
