# frozen_string_literal: true

# The server: an actor whose accept loop hands every connection to its own task.

module Ipcost
  # A server's part. The actor runs on its own thread; the main thread waits for its reports.
  class CelluloidServer
    attr_reader :address, :effective, :missing

    def initialize(cell, transport)
      listener = transport.listen
      @address = transport.address(listener)
      @effective = {}
      @results = Queue.new
      @actor = (cell.pattern == "connect" ? ConnectActor : RrActor).new(cell, listener, @results)
      @actor.async.accept_connections
    end

    def arm(order)
      @actor.begin_batch(order)
    end

    def run(_order)
      began_ns = Ipcost.now_ns
      result = @results.pop
      raise result if result.is_a?(Exception)

      Outcome.new([Report.new(began_ns, Ipcost.now_ns, [], 0)])
    end
  end

  # Accepts; subclasses define what to do with a connection, and when a batch is complete.
  class ConnectionActor
    include Celluloid::IO

    def initialize(cell, listener, results)
      @cell = cell
      @listener = listener
      @results = results
    end

    def accept_connections
      loop { async.handle_connection(next_connection) }
    rescue StandardError => error
      @results << error
    end

    private

    def next_connection
      @listener.accept
    rescue ::IO::WaitReadable, Errno::ECONNABORTED
      retry
    end

    # Counts down what a batch still lacks.
    def finish_one
      @unfinished -= 1
      @results << :complete if @unfinished.zero?
    end
  end

  # connect: a connection is one operation.
  class ConnectActor < ConnectionActor
    def begin_batch(order)
      # All tasks share it: none is suspended between reading its request and finishing it.
      @work = ConnectServer.new(@cell, nil)
      @verified = order.kind == :verify
      @unfinished = order.ops * @cell.concurrency
    end

    def handle_connection(connection)
      @verified ? @work.answer_checked(connection) : @work.answer(connection)
      finish_one
    rescue StandardError => error
      @results << Failure.new("with #{@unfinished} operations still to do: #{error.message}")
    end
  end

  # rr: a connection lasts, and has its share of every batch.
  class RrActor < ConnectionActor
    def initialize(*)
      super
      @ordered = Celluloid::Condition.new
    end

    def begin_batch(order)
      @order = order
      @unfinished = @cell.concurrency
      @ordered.broadcast
    end

    def handle_connection(connection)
      work = RrServer.new(@cell, connection)
      done = nil
      loop do
        @ordered.wait while @order.equal?(done)
        done = @order
        work.run(done)
        finish_one
      end
    rescue StandardError => error
      @results << error
    end
  end
end
