# frozen_string_literal: true

# Transports over Ruby's own sockets: how to listen, accept and connect.

require "socket"
require_relative "session"

module Ipcost
  # Common parts of the listening transports. A transport answers listen, address(listener), acceptor(listener), whose
  # accept takes a connection, and connector(worker), whose connect opens one.
  class Transport
    LINUX = RUBY_PLATFORM.include?("linux")
    # Linux keeps buffers doubled, for its own bookkeeping.
    KEPT_TIMES = LINUX ? 2 : 1
    BUFFERS = { "so_sndbuf" => Socket::SO_SNDBUF, "so_rcvbuf" => Socket::SO_RCVBUF }.freeze

    # The transports of this system, by name.
    def self.all
      {
        "unix" => UnixTransport, "unix-abstract" => (UnixTransport if LINUX),
        "tcp" => TcpTransport, "tcp6" => (TcpTransport if ipv6?)
      }.compact
    end

    def self.ipv6?
      TCPServer.new("::1", 0).close
      true
    rescue SystemCallError, SocketError
      false
    end
    private_class_method :ipv6?

    def initialize(cell)
      @cell = cell
      @buffers = BUFFERS.to_h { |name, number| [number, cell.option(name)] }.compact
    end

    # Effective buffer sizes, in the unit of the request.
    def effective
      socket = Socket.new(family, Socket::SOCK_STREAM)
      set_buffers(socket)
      @buffers.to_h do |number, _|
        [BUFFERS.key(number), socket.getsockopt(Socket::SOL_SOCKET, number).int / KEPT_TIMES]
      end
    ensure
      socket&.close
    end

    def set_buffers(socket)
      @buffers.each { |number, bytes| socket.setsockopt(Socket::SOL_SOCKET, number, bytes) }
    end

    private

    def field(address, name, type)
      value = address[name]
      return value if value.is_a?(type)

      raise Failure, "the address #{JSON.generate(address)} is not one of #{@cell.transport}: it lacks #{name}"
    end

    # Servers listen as soon as they are created; inheritable options are set before a client knows of them.
    def set_up(listener)
      set_buffers(listener)
      listener.listen(@cell.option("backlog"))
      listener
    end
  end

  # unix and unix-abstract: a stream socket bound to a path, or to a name that begins with a NUL.
  class UnixTransport < Transport
    def initialize(cell, address)
      super(cell)
      @path = cell.transport == "unix" ? field(address, "path", String) : "\0#{field(address, "name", String)}"
    end

    def listen
      set_up(new_listener)
    end

    def acceptor(listener)
      @buffers.empty? ? listener : BufferingAcceptor.new(listener, self)
    end

    def address(_listener)
      @path.start_with?("\0") ? { name: @path[1..] } : { path: @path }
    end

    def connector(_worker)
      self
    end

    def connect
      return UNIXSocket.new(@path) if @buffers.empty?

      socket = Socket.new(family, Socket::SOCK_STREAM)
      set_buffers(socket)
      socket.connect(Socket.pack_sockaddr_un(@path))
      socket
    end

    private

    def family
      Socket::AF_UNIX
    end

    def new_listener
      UNIXServer.new(@path)
    end
  end

  # Accepts Unix sockets and sets their buffers: unlike TCP's, they do not inherit the listener's.
  class BufferingAcceptor
    def initialize(listener, transport)
      @listener = listener
      @transport = transport
    end

    def accept
      connection = @listener.accept
      @transport.set_buffers(connection)
      connection
    end
  end

  # tcp and tcp6: TCP over loopback.
  class TcpTransport < Transport
    # Makes bind(2) take only an address and leaves the port to connect(2) (ip(7)); Ruby has no name for it.
    IP_BIND_ADDRESS_NO_PORT = 24

    def initialize(cell, address)
      super(cell)
      @host = field(address, "host", String)
      @port = field(address, "port", Integer)
      @to = Loopback.resolve(@host, @port)
      @nodelay = cell.option("tcp_nodelay")
      @spreads = spreads?
    end

    # Accepted connections inherit the listener's options.
    def listen
      listener = set_up(new_listener)
      listener.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if @nodelay
      listener
    end

    def acceptor(listener)
      listener
    end

    def address(listener)
      { host: @host, port: listener.to_io.local_address.ip_port }
    end

    def connector(worker)
      @spreads ? SpreadConnector.new(self, worker) : self
    end

    def connect(source = nil)
      open_socket(source)
    rescue Errno::EADDRNOTAVAIL
      raise Failure, "no local port is left for #{@cell.transport} to #{@host}:#{@port}: all are in use or in " \
                     "TIME_WAIT; let the server close first (closes_first=server) or spread sources " \
                     "(spread_sources=true, over tcp)"
    end

    private

    def spreads?
      asked = @cell.option("spread_sources")
      return false if asked == false || @cell.transport != "tcp" || @cell.pattern != "connect"
      raise Failure, "this peer can follow spread_sources=true only on Linux" if asked && !LINUX

      LINUX
    end

    def family
      @to.afamily
    end

    def new_listener
      TCPServer.new(@host, @port)
    end

    def open_socket(source)
      return open_socket_by_hand(source) if source || @buffers.any?

      socket = TCPSocket.new(@host, @port)
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if @nodelay
      socket
    end

    # TCPSocket connects at once, which leaves no chance to set options before.
    def open_socket_by_hand(source)
      socket = Socket.new(family, Socket::SOCK_STREAM)
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if @nodelay
      set_buffers(socket)
      if source
        socket.setsockopt(Socket::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        socket.bind(source)
      end
      socket.connect(@to)
      socket
    end
  end

  # Nothing is ever measured, or offered, beyond loopback.
  module Loopback
    def self.resolve(host, port)
      raise Failure, "#{port} is not a port" unless (0..65_535).cover?(port)

      flags = Socket::AI_NUMERICHOST
      found = Addrinfo.getaddrinfo(host, port, nil, Socket::SOCK_STREAM, nil, flags).first
      raise Failure, "#{host} is not a loopback address" unless found.ipv4_loopback? || found.ipv6_loopback?

      found
    rescue SocketError
      raise Failure, "#{host} is not an IP address"
    end
  end

  # Connects from addresses all over 127.0.0.0/8, so that one worker never exhausts the ports of one of them.
  class SpreadConnector
    USES_OF_A_SOURCE = 256
    # 127.1.0.0 to 127.255.255.255: outside 127.0.0.0/16, where other services listen.
    FIRST_SOURCE = 0x7f010000
    SOURCES = 0x00ff0000

    def initialize(transport, worker)
      @transport = transport
      # Workers and processes start far apart, so that they seldom meet.
      @number = (Process.pid * 0x9E3779B9 ^ worker * 0x85EBCA6B) % SOURCES
      use_source
    end

    def connect
      use_next_source if @uses_left.zero?
      @uses_left -= 1
      @transport.connect(@source)
    end

    private

    def use_next_source
      @number = (@number + 1) % SOURCES
      use_source
    end

    def use_source
      octets = [FIRST_SOURCE + @number].pack("N").unpack("C4")
      @source = Addrinfo.tcp(octets.join("."), 0)
      @uses_left = USES_OF_A_SOURCE
    end
  end
end
