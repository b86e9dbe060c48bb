#!/usr/bin/env ruby
# frozen_string_literal: true

# A peer of ipcost in plain Ruby: sockets and threads of the standard library, as an ordinary program uses them.

require_relative "sockets"

module Ipcost
  # A client's part. Creating it opens its connections, except in connect.
  class Client
    attr_reader :address, :effective, :missing

    def initialize(cell, transport)
      @cell = cell
      @transport = transport
      @address = {}
      @effective = transport.effective
      # Lazily, as a process must be forked before the next worker's connection is open.
      works = (0...cell.concurrency).lazy.map { |worker| work(transport.connector(worker)) }
      @crew = cell.processes? ? Processes.of(works) : Threads.or_alone(works.to_a)
    end

    def arm(_order); end

    def run(order)
      @crew.run(order)
    end

    private

    def work(connector)
      @cell.pattern == "connect" ? ConnectClient.new(@cell, connector) : RrClient.new(@cell, connector)
    end
  end

  # A server's part. In connect, its workers share the listener; in rr, each has its own connection.
  class Server
    attr_reader :address, :effective

    def initialize(cell, transport)
      @cell = cell
      @listener = transport.listen
      @acceptor = transport.acceptor(@listener)
      @address = transport.address(@listener)
      @effective = transport.effective
      @connections = []
      start(Array.new(cell.concurrency) { ConnectServer.new(cell, @acceptor) }) if cell.pattern == "connect"
    end

    def missing
      @listener unless @crew
    end

    def accept
      @connections << @acceptor.accept
      return if @connections.size < @cell.concurrency

      start(@connections.map { |connection| RrServer.new(@cell, connection) })
    end

    def arm(_order)
      accept while missing
    end

    def run(order)
      @crew.run(order)
    end

    private

    def start(works)
      @crew = Threads.or_alone(works)
    end
  end

  transports = Transport.all
  peer = {
    peer: "ruby", runtime: "#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION}", options: Cell::DEFAULTS.keys,
    transports: transports.keys, patterns: %w[connect rr]
  }
  Session.new(peer) do |role, cell, address|
    transport = transports.fetch(cell.transport).new(cell, address)
    role == "server" ? Server.new(cell, transport) : Client.new(cell, transport)
  end.run
end
