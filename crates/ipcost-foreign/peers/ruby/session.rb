# frozen_string_literal: true

# The control protocol from a peer's side: JSON Lines on standard input and output, one role, one cell, many batches.

require "json"
require_relative "crew"

module Ipcost
  VERSION = "0.1.0"

  # One point of the matrix as the engine describes it: what to do over which transport.
  class Cell
    DEFAULTS = {
      "framing" => "length", "server_buffer" => 65_537, "touch" => "none", "workers" => "threads",
      "tcp_nodelay" => true, "so_sndbuf" => nil, "so_rcvbuf" => nil, "backlog" => 4096, "closes_first" => "server",
      "spread_sources" => nil
    }.freeze
    WORDS = {
      "framing" => %w[length newline], "touch" => %w[none every-byte], "workers" => %w[threads processes],
      "closes_first" => %w[server client any]
    }.freeze
    # They act on patterns and transports that no Ruby peer offers.
    OPTIONS_OF_OTHERS = %w[recv_buffer pipe_size].freeze

    MAX_SIZE_BYTES = 1 << 30

    attr_reader :pattern, :transport, :size, :reply, :concurrency

    def initialize(fields, peer)
      check(fields.is_a?(Hash), "a cell is an object", fields)
      @pattern = one_of(peer[:patterns], "pattern", fields["pattern"])
      @transport = one_of(peer[:transports], "transport", fields["transport"])
      @size, @reply = fields.values_at("size", "reply").each { |size| whole(0..MAX_SIZE_BYTES, "a size", size) }
      @concurrency = whole(1.., "concurrency", fields["concurrency"])
      @speaks_first = one_of(%w[client server], "speaks_first", fields.fetch("speaks_first", "client"))
      @options = DEFAULTS.merge(checked_options(fields.fetch("options", {}), peer[:options]))
    end

    def option(name)
      @options.fetch(name)
    end

    def touches?
      option("touch") == "every-byte"
    end

    def newline_framing?
      option("framing") == "newline"
    end

    def processes?
      option("workers") == "processes"
    end

    def client_speaks_first?
      @speaks_first == "client"
    end

    # The other side waits for the end; with "any", neither does.
    def closes_first?(role)
      option("closes_first") == role
    end

    private

    def checked_options(options, followed)
      check(options.is_a?(Hash), "options are an object", options)
      options.except(*OPTIONS_OF_OTHERS).each do |name, value|
        raise Failure, "this peer cannot follow option #{name}" unless followed.include?(name)

        check_option(name, value)
      end
    end

    def check_option(name, value)
      case name
      when *WORDS.keys then one_of(WORDS[name], "option #{name}", value)
      when "tcp_nodelay", "spread_sources" then one_of([true, false], "option #{name}", value)
      else whole(1..MAX_SIZE_BYTES, "option #{name}", value)
      end
    end

    def one_of(known, what, value)
      check(known.include?(value), "#{what} is one of #{known.join(", ")}", value)
    end

    def whole(range, what, value)
      check(value.is_a?(Integer) && range.cover?(value), "#{what} is a whole number in #{range}", value)
    end

    def check(right, rule, value)
      raise Failure, "protocol: #{rule}, not #{JSON.generate(value)}" unless right

      value
    end
  end

  # Talks to the engine until it says stop, or its end of the pipe is closed.
  #
  # A peer is a Hash of its hello: peer, runtime, transports, patterns, options. The block makes a part from a role
  # ("server" or "client"), a cell and an address. A part has
  #   address    a server's answer for the client (a client: an empty Hash)
  #   effective  effective option values, by name
  #   missing    becomes readable when a connection is ready to accept; nil once all are open
  #   accept     accepts one
  #   arm(order) gets ready to run an order
  #   run(order) runs it: an Outcome
  class Session
    PROTOCOL = 1
    MAX_LINE_BYTES = 4 << 20
    MAX_MESSAGE_CHARS = 1000

    def self.refuse(reason)
      new({}).give_up(reason)
    end

    def initialize(peer, &make_part)
      @peer = peer
      @make_part = make_part
      @part = nil
      $stdin.binmode
      $stdout.sync = true
      Thread.report_on_exception = false
      trap("INT", "SYSTEM_DEFAULT")
    end

    def run
      Libc.die_with_parent
      say_hello
      while (line = next_line)
        break if obey(parse(line)) == :stop
      end
      leave(true)
    rescue Errno::EPIPE
      leave(false)
    rescue StandardError, NoMemoryError, SystemStackError => error
      give_up(error.message)
    end

    def give_up(reason)
      # A message may quote invalid UTF-8, and must be one line.
      text = reason.dup.force_encoding(Encoding::UTF_8).scrub.split.join(" ")
      say(type: "error", message: text[0, MAX_MESSAGE_CHARS])
    rescue Errno::EPIPE
      # The engine is gone; no one reads this.
    ensure
      leave(false)
    end

    private

    # At once: waits for no threads, actors or exit handlers.
    def leave(status)
      exit!(status)
    end

    def say(message)
      $stdout.write(JSON.generate(message) << "\n")
    end

    def say_hello
      say(type: "hello", protocol: PROTOCOL, version: VERSION, roles: %w[server client], **@peer)
    end

    def next_line
      accept_connections until line_waits?
      line = $stdin.gets("\n", MAX_LINE_BYTES + 1)
      raise Failure, "protocol: a control line is too long" if line && line.bytesize > MAX_LINE_BYTES

      # A line without an end is left by an engine that died.
      line if line&.end_with?("\n")
    end

    # Connections are accepted as they come, since a client may depend on that to become ready.
    def line_waits?
      missing = @part&.missing
      return true unless missing

      ready, = IO.select([$stdin, missing])
      ready.include?($stdin)
    end

    def accept_connections
      @part.accept
    end

    def parse(line)
      raise Failure, "protocol: a control line is not UTF-8" unless line.force_encoding(Encoding::UTF_8).valid_encoding?

      message = JSON.parse(line)
      raise Failure, "protocol: a control line is not an object: #{line[0, 80]}" unless message.is_a?(Hash)

      message
    rescue JSON::ParserError => error
      raise Failure, "protocol: a control line is not JSON: #{error.message.sub(/\A\d+: /, "")}"
    end

    def obey(message)
      case message["type"]
      when "stop" then :stop
      when "prepare" then prepare(message)
      when "batch" then batch(message, message["latency"] == true ? :latency : :timed)
      when "verify" then batch(message, :verify)
      else raise Failure, "protocol: there is no message of type #{JSON.generate(message["type"])}"
      end
    end

    def prepare(message)
      raise Failure, "protocol: prepared twice" if @part

      @role, cell, address = message.values_at("role", "cell", "address")
      raise Failure, "protocol: there is no role #{JSON.generate(@role)}" unless %w[server client].include?(@role)
      raise Failure, "protocol: an address is an object, not #{JSON.generate(address)}" unless address.is_a?(Hash)

      @cell = Cell.new(cell, @peer)
      @part = make_part(address)
      say(type: "ready", address: @part.address, effective: @part.effective)
    end

    def make_part(address)
      @make_part.call(@role, @cell, address)
    rescue SystemCallError, IOError, ArgumentError => error
      raise Failure, "cannot set up the #{@role} of #{@cell.pattern} over #{@cell.transport}: #{error.message}"
    end

    def batch(message, kind)
      raise Failure, "protocol: a batch before prepare" unless @part

      id, ops = message.values_at("id", "ops")
      order = Order.new(share(ops), kind)
      @part.arm(order)
      say(type: "armed", id: id) if @role == "server"
      before = Usage.now
      outcome = @part.run(order)
      usage = Usage.now - before + outcome.usage
      say(type: "done", id: id, ops: ops, wall_ns: outcome.wall_ns, usage: usage.to_h,
          latency_ns: outcome.latency_ns, retries: outcome.retries)
    end

    # Every worker's share of the operations.
    def share(ops)
      workers = @cell.concurrency
      return ops / workers if ops.is_a?(Integer) && ops.positive? && (ops % workers).zero?

      raise Failure, "protocol: #{JSON.generate(ops)} operations cannot be shared by #{workers} workers"
    end
  end
end
