# frozen_string_literal: true

# What one worker does in a batch: the loop of each pattern, and the content of its messages.

module Ipcost
  # What failed and where; its text goes to the engine.
  class Failure < StandardError; end

  # A worker's order: that many operations, of the kind :timed, :latency or :verify.
  Order = Struct.new(:ops, :kind)

  # One worker's results; usage only of worker processes.
  Report = Struct.new(:began_ns, :ended_ns, :latency_ns, :retries, :usage)

  def self.now_ns
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end

  # One worker. Subclasses define an operation: operate, and operate_checked for a given message of a verify.
  class Work
    # If a Unix listener's queue is full, connect(2) answers EAGAIN. Ruby takes that for a connection in progress and
    # returns an unconnected socket; its first use then fails.
    QUEUE_WAS_FULL = [Errno::ENOTCONN, Errno::EINVAL].freeze
    # Enough for a listener to take a connection out of its queue.
    PAUSE_S = 0.000_05

    def initialize
      @retries = 0
    end

    def run(order)
      retries_before = @retries
      latency_ns = []
      began_ns = Ipcost.now_ns
      case order.kind
      when :timed then repeat(order.ops) { operate }
      when :latency then repeat_metered(order.ops, latency_ns)
      when :verify then repeat(order.ops) { |number| operate_checked(number) }
      end
      Report.new(began_ns, Ipcost.now_ns, latency_ns, @retries - retries_before)
    end

    # Closes this process's share of it.
    def close; end

    private

    def repeat(ops)
      ops.times do |operation|
        yield operation
      rescue SystemCallError, IOError => error
        raise Failure, "in operation #{operation + 1} of #{ops}: #{error.message}"
      end
    end

    # The first tenth includes the cost of starting the loop; of fewer than ten operations all are recorded.
    def repeat_metered(ops, latency_ns)
      first_recorded = ops / 10
      repeat(ops) do |operation|
        began_ns = Ipcost.now_ns
        operate
        elapsed_ns = Ipcost.now_ns - began_ns
        latency_ns << elapsed_ns if operation >= first_recorded
      end
    end

    def receive(connection, size, buffer)
      connection.read(size, buffer)
      raise EOFError, "the other side closed the connection" if buffer.bytesize < size
    end

    def receive_end(connection)
      raise IOError, "more bytes came than were agreed on" if connection.read(1)
    end
  end

  # rr, client: sends a request, waits for the reply.
  class RrClient < Work
    def initialize(cell, connector)
      super()
      @connection = connected(connector)
      @ending = cell.newline_framing? ? "\n" : ""
      @request = ("a" * cell.size + @ending).b
      @requests = Payload.new(cell.size, newline_ends: cell.newline_framing?)
      @reply_size = cell.reply
      @reply = String.new(capacity: @reply_size)
      @replies = Payload.new(@reply_size)
      @touch = Touch.of(cell, cell.size, @reply_size)
    end

    def close
      @connection.close
    end

    private

    def operate
      @touch&.write(@request)
      exchange(@request)
      @touch&.read(@reply)
    end

    def operate_checked(number)
      exchange(@requests.message(number) + @ending)
      @replies.check(number, @reply)
    end

    def exchange(request)
      @connection.write(request)
      receive(@connection, @reply_size, @reply)
    end

    def connected(connector)
      connection = connector.connect
      connection.to_io.remote_address
      connection
    rescue *QUEUE_WAS_FULL
      connection&.close
      sleep PAUSE_S
      retry
    end
  end

  # rr, server: waits for a request, sends the reply.
  class RrServer < Work
    NEWLINE = "\n".ord

    def initialize(cell, connection)
      super()
      @connection = connection
      @newline_ends = cell.newline_framing?
      @read_size = @newline_ends ? cell.option("server_buffer") : cell.size
      @request = String.new(capacity: @read_size)
      @requests = Payload.new(cell.size, newline_ends: @newline_ends)
      @reply = "b".b * cell.reply
      @replies = Payload.new(cell.reply)
      @touch = Touch.of(cell, cell.reply, @read_size)
      @touch_part = @touch&.method(:read)
    end

    private

    def operate
      if @newline_ends
        receive_line(&@touch_part)
      else
        receive(@connection, @read_size, @request)
        @touch&.read(@request)
      end
      @touch&.write(@reply)
      @connection.write(@reply)
    end

    def operate_checked(number)
      @requests.check(number, whole_request)
      @connection.write(@replies.message(number))
    end

    # Reads until the last byte read is a newline.
    def receive_line
      loop do
        @connection.readpartial(@read_size, @request)
        yield @request if block_given?
        break if @request.getbyte(-1) == NEWLINE
      end
    end

    def whole_request
      return @request.tap { receive(@connection, @read_size, @request) } unless @newline_ends

      line = String.new
      receive_line { |part| line << part }
      line.delete_suffix("\n")
    end
  end

  # connect, client: opens a connection, speaks, closes it.
  class ConnectClient < Work
    def initialize(cell, connector)
      super()
      @connector = connector
      @speaks_first = cell.client_speaks_first?
      @awaits_end = cell.closes_first?("server")
      @request = "a".b * cell.size
      @requests = Payload.new(cell.size)
      @reply_size = cell.reply
      @reply = String.new(capacity: @reply_size)
      @replies = Payload.new(@reply_size)
      @touch = Touch.of(cell, cell.size, @reply_size)
    end

    private

    def operate
      visit(@request, @touch)
    end

    # Each connection numbers its own messages, so this is number 0.
    def operate_checked(_number)
      visit(@requests.message(0), nil)
      @replies.check(0, @reply)
    end

    def visit(request, touch)
      until spoken?(@connector.connect, request, touch)
        @retries += 1
        sleep PAUSE_S
      end
    end

    def spoken?(connection, request, touch)
      if @speaks_first
        touch&.write(request)
        connection.write(request)
      end
      receive(connection, @reply_size, @reply)
      touch&.read(@reply)
      receive_end(connection) if @awaits_end
      true
    rescue *QUEUE_WAS_FULL
      false
    ensure
      connection.close
    end
  end

  # connect, server: accepts a connection, answers, closes it.
  class ConnectServer < Work
    def initialize(cell, acceptor)
      super()
      @acceptor = acceptor
      @listens_first = cell.client_speaks_first?
      @awaits_end = cell.closes_first?("client")
      @request_size = cell.size
      @request = String.new(capacity: @request_size)
      @requests = Payload.new(@request_size)
      @reply = "b".b * cell.reply
      @replies = Payload.new(cell.reply)
      @touch = Touch.of(cell, cell.reply, @request_size)
    end

    def answer(connection)
      if @listens_first
        receive(connection, @request_size, @request)
        @touch&.read(@request)
      end
      @touch&.write(@reply)
      farewell(connection, @reply)
    end

    # Each connection numbers its own messages, so this is number 0.
    def answer_checked(connection)
      if @listens_first
        receive(connection, @request_size, @request)
        @requests.check(0, @request)
      end
      farewell(connection, @replies.message(0))
    end

    private

    def operate
      answer(@acceptor.accept)
    end

    def operate_checked(_number)
      answer_checked(@acceptor.accept)
    end

    def farewell(connection, reply)
      connection.write(reply)
      receive_end(connection) if @awaits_end
      connection.close
    end
  end

  # The option touch: writes every byte that a worker sends, and reads every byte that it receives. The fastest way to
  # do either in Ruby is a copy: from content prepared earlier, and to a string that is never read.
  class Touch
    # Nil unless the cell asks for it.
    def self.of(cell, message_size, most_received)
      new(message_size, most_received) if cell.touches?
    end

    # The content changes from one message to the next, and contains no newline.
    def initialize(message_size, most_received)
      @message_size = message_size
      @content, @next_content = %w[c d].map { |letter| letter.b * message_size }
      @elsewhere = "\0".b * most_received
    end

    def write(message)
      @content, @next_content = @next_content, @content
      message[0, @message_size] = @content
    end

    def read(received)
      @elsewhere[0, received.bytesize] = received
    end
  end

  # The content of messages in a verify: byte i of message m is (m + i) mod 251.
  class Payload
    CYCLE = 251

    # Where a newline ends requests, byte 10 travels as 251, which the pattern never contains.
    def initialize(size, newline_ends: false)
      @size = size
      @cycle = (0...CYCLE).to_a.pack("C*")
      @cycle.tr!("\n", [CYCLE].pack("C")) if newline_ends
    end

    def message(number)
      bytes.byteslice(number % CYCLE, @size)
    end

    def check(number, found)
      expected = message(number)
      return if found == expected

      index = (0...@size).find { |place| found.getbyte(place) != expected.getbyte(place) }
      raise Failure, "message #{number} has #{found.bytesize} bytes in place of #{@size}" unless index

      raise Failure, "payload mismatch: byte #{index} of message #{number} is #{found.getbyte(index) || "missing"}, " \
                     "not #{expected.getbyte(index)}"
    end

    private

    def bytes
      @bytes ||= @cycle * (@size / CYCLE + 2)
    end
  end
end
