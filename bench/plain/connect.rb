# frozen_string_literal: true

# A connection per request, as in published programs: the server writes a random float as text and closes, the client
# reads once and closes. Both on Celluloid::IO, in two processes.
#
#     ruby connect.rb unix|unix-abstract|tcp THREADS REQUESTS
#
# prints nanoseconds per request of each thread: `wall`, and of the client's processor time `client_cpu`,
# `client_user`, `client_sys`. The server runs on the processor SERVER_CPU, if that is set.

require "benchmark"
require "tmpdir"
require "socket"

# The server: an actor that handles each connection in its own task.
def serve(kind, where)
  require "celluloid/io"
  actor = Class.new do
    include Celluloid::IO

    def listen(server)
      loop { async.handle(server.accept) }
    end

    def handle(connection)
      connection.write(rand.to_s)
      connection.close
    end
  end
  server = kind == "tcp" ? Celluloid::IO::TCPServer.new("127.0.0.1", 0) : Celluloid::IO::UNIXServer.new(where)
  $stdout.puts(kind == "tcp" ? server.to_io.local_address.ip_port : "ready")
  $stdout.flush
  actor.new.listen(server)
end

kind, *counts = ARGV
threads, requests = counts.map(&:to_i)
Dir.mktmpdir do |dir|
  where = kind == "unix-abstract" ? "\0#{dir}" : "#{dir}/s"
  ready, told = IO.pipe
  server = fork do
    ready.close
    $stdout.reopen(told)
    cpu = ENV.fetch("SERVER_CPU", "")
    system("taskset", "-pc", cpu, Process.pid.to_s, out: File::NULL) unless cpu.empty?
    serve(kind, where)
  end
  told.close
  port = ready.gets.to_i
  require "celluloid/io"
  require "parallel"
  open = if kind == "tcp"
           -> { Celluloid::IO::TCPSocket.open("127.0.0.1", port) }
         else
           -> { Celluloid::IO::UNIXSocket.open(where) }
         end
  times = Benchmark.measure do
    Parallel.each(Array.new(threads), in_threads: threads) do
      requests.times do
        socket = open.call
        socket.readpartial(1024)
        socket.close
      end
    end
  end
  each = 1e9 / (requests * threads)
  puts "wall #{times.real * 1e9 / requests}"
  puts "client_cpu #{times.total * each}", "client_user #{times.utime * each}", "client_sys #{times.stime * each}"
ensure
  if server
    Process.kill(:KILL, server)
    Process.wait(server)
  end
end
