# A lock by hand on redis-rb: SET NX PX, and the two scripts that everybody copies. A connection for each thread.

require "redis"
require_relative "../harness/scenarios"

RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
EXTEND = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end'

def connect(**options)
  Redis.new(host: HOST, port: PORT, timeout: PATIENCE, **options)
end

class HandLock
  attr_reader :token

  # nil if somebody else has it.
  def self.try(client, key, milliseconds)
    token = SecureRandom.hex
    new(client, key, token) if client.set(key, token, nx: true, px: milliseconds)
  end

  def initialize(client, key, token)
    @client, @key, @token = client, key, token
  end

  def release
    evaluate(RELEASE)
  end

  def extend_by(milliseconds)
    evaluate(EXTEND, milliseconds)
  end

  private

  # By its SHA-1 first.
  def evaluate(script, *more)
    @client.evalsha(Digest::SHA1.hexdigest(script), [@key], [@token, *more])
  rescue Redis::CommandError => e
    raise unless e.message.start_with?("NOSCRIPT")

    @client.eval(script, [@key], [@token, *more])
  end
end

def taking(client)
  lambda do |key, milliseconds|
    until (lock = HandLock.try(client, key, milliseconds))
      sleep 0.02
    end
    -> { check(lock.release == 1, "not released") }
  end
end

CLIENT = connect
TAKE = taking(CLIENT)
TAKE_OF = -> { taking(connect) }

def fails_with(words)
  yield
rescue Redis::CommandError => e
  check(e.message.include?(words), "it says #{e.message}")
else
  raise "no error: #{words}"
end

def acquire_release
  lock = HandLock.try(CLIENT, "acquire", 10_000)
  check(lock, "a free lock was refused")
  between(9_000, 10_000, CLIENT.pttl("acquire"))
  check(lock.release == 1, "not released")
  check(!CLIENT.exists?("acquire"), "it is still there")
  check(CLIENT.get("acquire").nil?, "null has another shape")
end

def handshake
  one = connect(username: USER, password: PASSWORD, id: "suite", db: 3)
  one.call(:client, :setname, "suite")
  check(one.call(:client, :getname) == "suite", "it has no name")
  lock = HandLock.try(one, "hello", 10_000)
  check(!CLIENT.exists?("hello"), "another database has the same lock")
  lock.release
  one.close
end

def refused_while_held
  lock = HandLock.try(CLIENT, "refused", FOREVER)
  check(HandLock.try(CLIENT, "refused", FOREVER).nil?, "two have it")
  check(CLIENT.get("refused") == lock.token, "it changed hands")
  lock.release
end

def extend_lease
  lock = HandLock.try(CLIENT, "extend", 10_000)
  check(lock.extend_by(100_000) == 1, "not extended")
  between(90_000, 100_000, CLIENT.pttl("extend"))
  lock.release
  check(lock.extend_by(1_000).zero?, "extended after its end")
end

def expiry_frees
  HandLock.try(CLIENT, "expiry", 300)
  TAKE.call("expiry", FOREVER).call
end

def release_of_expired_or_foreign
  late = HandLock.try(CLIENT, "foreign", 300)
  release = TAKE.call("foreign", FOREVER)
  check(late.release.zero?, "released what is not its own")
  check(late.extend_by(1_000).zero?, "extended what is not its own")
  release.call
end

def usage_errors
  CLIENT.rpush("errors", "a list")
  check(HandLock.try(CLIENT, "errors", 1_000).nil?, "a lock that is a list")
  fails_with("WRONGTYPE Operation against a key holding the wrong kind of value") { CLIENT.get("errors") }
  fails_with("WRONGTYPE") { CLIENT.eval(RELEASE, ["errors"], ["x"]) }
  CLIENT.del("errors")
  fails_with("ERR invalid expire time in 'set' command") { CLIENT.set("errors", "x", px: 0, nx: true) }
  fails_with("ERR syntax error") { CLIENT.call(:set, "errors", "x", "NX", "XX") }
end

# A new lock each time: a connection that ends may leave one behind.
def reconnect
  TAKE.call("restart", FOREVER).call
  restart_server
  tries = 0
  wait_until("a lock after a restart") do
    TAKE.call("after:#{tries += 1}", FOREVER).call
    true
  rescue Redis::BaseConnectionError
    false
  end
end

run("redis-rb #{Redis::VERSION}",
    handshake: method(:handshake),
    acquire_release: method(:acquire_release),
    refused_while_held: method(:refused_while_held),
    wakes_on_release: -> { "#{wakes_on_release(TAKE_OF)}, polls every 20 ms" },
    extend: method(:extend_lease),
    expiry_frees: method(:expiry_frees),
    release_of_expired_or_foreign: method(:release_of_expired_or_foreign),
    reentrancy: none("a driver has no locks of its own; SET NX is not reentrant"),
    watchdog: none("a driver has no locks of its own"),
    counter: -> { counter(TAKE_OF) },
    fairness: -> { fairness(TAKE_OF) },
    resp2: method(:acquire_release),
    resp3: none("redis-rb speaks RESP3 from 6.0 on; Debian 12 has 4.8"),
    usage_errors: method(:usage_errors),
    reconnect: method(:reconnect))
