# frozen_string_literal: true

# The workers of a peer, one in the main thread, several as threads or several as processes, and their resource usage.

require_relative "work"
begin
  require "fiddle"
rescue LoadError
  # Ruby can be built without it; the standard library's own clocks then replace it.
end

module Ipcost
  # Calls of the C library that Ruby does not wrap.
  module Libc
    # struct rusage: two struct timeval, then fourteen long.
    RUSAGE_LONGS = 18
    RUSAGE_SELF = 0
    PR_SET_PDEATHSIG = 1

    def self.function(name, arguments)
      return unless defined?(Fiddle)

      Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], arguments, Fiddle::TYPE_INT)
    rescue Fiddle::DLError
      nil
    end
    private_class_method :function

    if defined?(Fiddle)
      GETRUSAGE = function("getrusage", [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP])
      PRCTL = function("prctl", [Fiddle::TYPE_INT] + [Fiddle::TYPE_LONG] * 4)
    else
      GETRUSAGE = PRCTL = nil
    end

    # getrusage(2) of the process; nil if it cannot be called.
    def self.rusage
      return unless GETRUSAGE

      buffer = "\0" * (RUSAGE_LONGS * Fiddle::SIZEOF_LONG)
      buffer.unpack("l!*") if GETRUSAGE.call(RUSAGE_SELF, buffer).zero?
    end

    # Makes the kernel kill this process when its parent dies (prctl(2), Linux).
    def self.die_with_parent
      PRCTL&.call(PR_SET_PDEATHSIG, Signal.list["KILL"], 0, 0, 0)
    end
  end

  # Times in nanoseconds, and context switches.
  class Usage < Struct.new(:user_ns, :sys_ns, :voluntary_switches, :involuntary_switches)
    NONE = new(0, 0, 0, 0)

    # Of all threads, living and ended.
    def self.now
      longs = Libc.rusage
      return without_libc unless longs

      user_ns, sys_ns = longs.first(4).each_slice(2).map { |s, us| s * 1_000_000_000 + us * 1_000 }
      new(user_ns, sys_ns, *longs.last(2))
    end

    # Switches are then those of the main thread only.
    def self.without_libc
      times = Process.times
      status = File.exist?("/proc/self/status") ? File.read("/proc/self/status") : ""
      switches = %w[voluntary nonvoluntary].map { |kind| status[/^#{kind}_ctxt_switches:\s*(\d+)/, 1].to_i }
      new((times.utime * 1e9).round, (times.stime * 1e9).round, *switches)
    end
    private_class_method :without_libc

    def +(other)
      combine(other, :+)
    end

    def -(other)
      combine(other, :-)
    end

    private

    def combine(other, operator)
      Usage.new(*zip(other).map { |mine, theirs| mine.public_send(operator, theirs) })
    end
  end

  # What a batch took, all workers together; usage only of worker processes.
  class Outcome
    MOST_LATENCIES = 10_000

    attr_reader :wall_ns, :latency_ns, :retries, :usage

    def initialize(reports)
      @wall_ns = reports.map(&:ended_ns).max - reports.map(&:began_ns).min
      @latency_ns = spaced(reports.flat_map(&:latency_ns))
      @retries = reports.sum(&:retries)
      @usage = reports.filter_map(&:usage).sum(Usage::NONE)
    end

    private

    # Evenly spaced ranks of the sorted latencies, including the largest.
    def spaced(latencies)
      latencies.sort!
      count = latencies.size
      kept = [count, MOST_LATENCIES].min
      (1..kept).map { |rank| latencies[(rank * count - 1) / kept] }
    end
  end

  # One worker, in the main thread.
  class Alone
    def initialize(work)
      @work = work
    end

    def run(order)
      Outcome.new([@work.run(order)])
    end
  end

  # Several workers, each a thread that waits for orders.
  class Threads
    def self.or_alone(works)
      works.one? ? Alone.new(works.first) : new(works)
    end

    def initialize(works)
      @results = Queue.new
      @orders = works.map { |work| Queue.new.tap { |orders| Thread.new { serve(work, orders) } } }
    end

    def run(order)
      @orders.each { |orders| orders << order }
      Outcome.new(@orders.map { next_report })
    end

    private

    # The first failure counts at once: the other workers may wait for the other side for ever.
    def next_report
      result = @results.pop
      raise result if result.is_a?(Exception)

      result
    end

    def serve(work, orders)
      loop { @results << work.run(orders.pop) }
    rescue StandardError => error
      @results << error
    end
  end

  # Several workers, each a process.
  class Processes
    def self.of(works)
      new(works.map { |work| WorkerProcess.new(work) }.to_a)
    end

    def initialize(workers)
      @workers = workers
    end

    def run(order)
      @workers.each { |worker| worker.send_order(order) }
      Outcome.new(reports)
    end

    private

    # In the order they come: the first failure counts at once.
    def reports
      working = @workers.to_h { |worker| [worker.answers, worker] }
      reports = []
      until working.empty?
        ready, = IO.select(working.keys)
        reports.concat(ready.map { |answers| working.delete(answers).receive_report })
      end
      reports
    end
  end

  # A copy of this process that waits for orders until this one is gone.
  class WorkerProcess
    attr_reader :answers

    def initialize(work)
      child_orders, @orders = IO.pipe(binmode: true)
      @answers, child_answers = IO.pipe(binmode: true)
      fork do
        @orders.close
        Libc.die_with_parent
        serve(work, child_orders, child_answers)
      ensure
        exit!(true)
      end
      [child_orders, child_answers, work].each(&:close)
    end

    def send_order(order)
      Marshal.dump(order, @orders)
    rescue Errno::EPIPE
      raise_departure
    end

    def receive_report
      answer = Marshal.load(@answers)
      raise Failure, answer if answer.is_a?(String)

      answer
    rescue EOFError
      raise_departure
    end

    private

    def raise_departure
      raise Failure, "a worker process has ended on its own"
    end

    def serve(work, orders, answers)
      loop do
        order = Marshal.load(orders)
        before = Usage.now
        report = work.run(order)
        report.usage = Usage.now - before
        Marshal.dump(report, answers)
      end
    rescue EOFError, Errno::EPIPE
      # The peer is gone.
    rescue StandardError => error
      Marshal.dump(error.message, answers)
    end
  end
end
