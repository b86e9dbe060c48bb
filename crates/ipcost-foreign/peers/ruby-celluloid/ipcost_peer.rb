#!/usr/bin/env ruby
# frozen_string_literal: true

# A peer of ipcost on Celluloid::IO: the server is an actor that handles each connection in its own task, the client's
# workers are threads of the gem parallel.

require_relative "../ruby/sockets"
begin
  require "celluloid/io"
  require "parallel"
rescue LoadError => error
  Ipcost::Session.refuse("this peer needs the gems celluloid-io and parallel: #{error.message}")
end
require_relative "transports"
require_relative "server"

module Ipcost
  # A client's part. Creating it opens its connections, except in connect.
  class CelluloidClient
    attr_reader :address, :effective, :missing

    def initialize(cell, transport)
      raise Failure, "this peer cannot follow workers=processes: its workers are threads" if cell.processes?

      @address = {}
      @effective = {}
      kind = cell.pattern == "connect" ? CelluloidConnectClient : RrClient
      @works = Array.new(cell.concurrency) { |worker| kind.new(cell, transport.connector(worker)) }
    end

    def arm(_order); end

    # A thread even for one worker, as parallel does it.
    def run(order)
      Outcome.new(Parallel.map(@works, in_threads: @works.size) { |work| work.run(order) })
    end
  end

  # Opens a connection, reads once, closes it.
  class CelluloidConnectClient < ConnectClient
    private

    def receive(connection, size, buffer)
      connection.readpartial(size, buffer)
      buffer << connection.readpartial(size - buffer.bytesize) while buffer.bytesize < size
    end

    # Reads the end without Celluloid, by one system call: Celluloid would raise and rescue an exception for it, and a
    # client that only reads once and closes would never pay for that.
    def receive_end(connection)
      super(connection.to_io)
    end
  end

  peer = {
    peer: "ruby-celluloid", options: Cell::DEFAULTS.keys - Transport::BUFFERS.keys,
    runtime: "#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION}, celluloid-io #{Celluloid::IO::VERSION}, " \
             "parallel #{Parallel::VERSION}",
    transports: CELLULOID_TRANSPORTS.keys, patterns: %w[connect rr]
  }
  Session.new(peer) do |role, cell, address|
    transport = CELLULOID_TRANSPORTS.fetch(cell.transport).new(cell, address)
    role == "server" ? CelluloidServer.new(cell, transport) : CelluloidClient.new(cell, transport)
  end.run
end
