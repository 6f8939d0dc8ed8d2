# What the suites in Ruby share: where the server is, how an outcome is told, workers.

require "json"
require "securerandom"
require "socket"

HOST = ENV.fetch("LOCK_HOST", "127.0.0.1")
PORT = Integer(ENV.fetch("LOCK_PORT"))
# Somebody who needs a password, on every server; who does not log in may do everything as well.
USER = ENV.fetch("LOCK_USER", "default")
PASSWORD = ENV.fetch("LOCK_PASSWORD", "any")
# Seconds; long enough for a loaded machine. Only something broken takes it.
PATIENCE = 60
# Milliseconds. Nobody has a lock of this lease for any other reason than its release.
FOREVER = 3_600_000
WORKERS = 50
INCREMENTS = Integer(ENV.fetch("LOCK_INCREMENTS", "200"))

# Raised by a scenario for which the library has no call; the text says so.
class NotApplicable < StandardError; end

def none(why)
  -> { raise NotApplicable, why }
end

def say(**what)
  puts what.to_json
  $stdout.flush
end

# Runs {name => function} and tells the outcomes. A function may return a text: what it saw, to stand in the report.
def run(version, scenarios)
  say(version: version)
  only = ENV["LOCK_ONLY"]&.split(",") # for those who look into one of them
  scenarios.each do |name, play|
    next if only && !only.include?(name.to_s)

    begin
      saw = play.call
      outcome, reason = "pass", saw.is_a?(String) ? saw : ""
    rescue NotApplicable => e
      outcome, reason = "na", e.message
    rescue StandardError => e
      outcome, reason = "fail", ["#{e.class}: #{e.message}", *e.backtrace.first(4)].join("\n")
    end
    say(scenario: name, outcome: outcome, reason: reason)
  end
end

def check(holds, what)
  raise what unless holds
end

def between(low, high, seen)
  check(seen.between?(low, high), "expected #{low} to #{high}, saw #{seen}")
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def wait_until(what)
  stop = now + PATIENCE
  until yield
    check(now < stop, "not in time: #{what}")
    sleep 0.01
  end
end

def restart_server
  TCPSocket.open("127.0.0.1", Integer(ENV.fetch("LOCK_CONTROL"))) do |control|
    control.puts "restart"
    check(control.gets == "done\n", "the server could not be restarted")
  end
end

# Runs the block so many times at once; raises what one of them raised.
def in_threads(count, &work)
  Thread.report_on_exception = false
  Array.new(count) { |me| Thread.new(me, &work) }.each(&:join)
end

# The scenarios that are the same whatever the library: `take` waits for a lock and gives its release. Every thread calls
# `take_of` once and uses what that returns.
def counter(take_of)
  count = 0
  in_threads(WORKERS) do
    take = take_of.call
    INCREMENTS.times do
      release = take.call("counter", FOREVER)
      seen = count
      Thread.pass # another thread may run
      count = seen + 1
      release.call
    end
  end
  check(count == WORKERS * INCREMENTS, "#{count} of #{WORKERS * INCREMENTS}")
end

def fairness(take_of)
  turns = [0] * 5
  in_threads(turns.size) do |me|
    take = take_of.call
    while turns.min < 5
      release = take.call("fair", FOREVER)
      turns[me] += 1
      release.call
      sleep 0.001
    end
  end
  "turns until everybody had 5: #{turns.join(' ')}"
end

def wakes_on_release(take_of)
  release = take_of.call.call("wakes", FOREVER)
  woken = released = nil
  in_threads(2) do |me|
    if me.zero?
      other = take_of.call.call("wakes", FOREVER)
      woken = now
      other.call
    else
      sleep 0.5 # the other one has asked a few times by now
      check(woken.nil?, "two have it")
      release.call
      released = now
    end
  end
  "#{(1000 * [0, woken - released].max).round} ms"
end
