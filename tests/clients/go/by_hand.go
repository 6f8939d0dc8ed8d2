package main

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"
)

// What applications write by hand on a driver: SET NX PX, and the two scripts that everybody copies.

const (
	releaseText = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	extendText  = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`
)

// A driver is a connected client of some library.
type driver interface {
	// setNX tells whether the key was free.
	setNX(key, token string, lease time.Duration) (bool, error)
	// script runs releaseText or extendText as the driver recommends it, by its SHA-1 first.
	script(text, key string, arguments ...string) (int64, error)
	// command gives nil for null, an int64 or a string.
	command(words ...string) (any, error)
	close()
}

// How to connect. Zeros are the driver's own choices.
type connection struct {
	user, password, name string
	database, protocol   int
}

type handLock struct {
	on         driver
	key, token string
}

func tryByHand(on driver, key string, lease time.Duration) *handLock {
	token := rand.Text()
	won, err := on.setNX(key, token, lease)
	must(err)
	if !won {
		return nil
	}
	return &handLock{on, key, token}
}

func (lock *handLock) release() int64 {
	done, err := lock.on.script(releaseText, lock.key, lock.token)
	must(err)
	return done
}

func (lock *handLock) extend(lease time.Duration) int64 {
	done, err := lock.on.script(extendText, lock.key, lock.token, strconv.FormatInt(lease.Milliseconds(), 10))
	must(err)
	return done
}

func polling(on driver, pause time.Duration) take {
	return func(key string, lease time.Duration) func() {
		for {
			if lock := tryByHand(on, key, lease); lock != nil {
				return func() { check(lock.release() == 1, "not released") }
			}
			time.Sleep(pause)
		}
	}
}

func ask(on driver, words ...string) any {
	answer, err := on.command(words...)
	must(err)
	return answer
}

func exists(on driver, key string) bool { return ask(on, "EXISTS", key) == int64(1) }

func timeLeft(on driver, key string) time.Duration {
	return time.Duration(ask(on, "PTTL", key).(int64)) * time.Millisecond
}

func playByHand(version string, open func(connection) driver) {
	client := open(connection{})
	get := polling(client, 20*time.Millisecond)
	acquireRelease := func(on driver) string {
		lock := tryByHand(on, "acquire", 10*time.Second)
		check(lock != nil, "a free lock was refused")
		between(9*time.Second, 10*time.Second, timeLeft(on, "acquire"))
		check(lock.release() == 1, "not released")
		check(!exists(on, "acquire"), "it is still there")
		check(ask(on, "GET", "acquire") == nil, "null has another shape")
		return ""
	}
	withProtocol := func(protocol int) func() string {
		return func() string {
			one := open(connection{protocol: protocol})
			defer one.close()
			return acquireRelease(one)
		}
	}
	run(version, []scenario{
		{"handshake", func() string {
			one := open(connection{user: user, password: password, name: "suite", database: 3})
			defer one.close()
			check(ask(one, "CLIENT", "GETNAME") == "suite", "it has no name")
			lock := tryByHand(one, "hello", 10*time.Second)
			check(!exists(client, "hello"), "another database has the same lock")
			lock.release()
			refused := refusal(func() {
				other := open(connection{user: user, password: "a wrong one"})
				defer other.close()
				tryByHand(other, "hello", 10*time.Second)
			})
			check(strings.Contains(refused, "WRONGPASS"), "a wrong password: %q", refused)
			return ""
		}},
		{"acquire_release", func() string { return acquireRelease(client) }},
		{"refused_while_held", func() string {
			lock := tryByHand(client, "refused", forever)
			check(tryByHand(client, "refused", forever) == nil, "two have it")
			check(ask(client, "GET", "refused") == lock.token, "it changed hands")
			lock.release()
			return ""
		}},
		{"wakes_on_release", func() string { return wakesOnRelease(get) + ", polls every 20 ms" }},
		{"extend", func() string {
			lock := tryByHand(client, "extend", 10*time.Second)
			check(lock.extend(100*time.Second) == 1, "not extended")
			between(90*time.Second, 100*time.Second, timeLeft(client, "extend"))
			lock.release()
			check(lock.extend(time.Second) == 0, "extended after its end")
			return ""
		}},
		{"expiry_frees", func() string {
			tryByHand(client, "expiry", 300*time.Millisecond)
			get("expiry", forever)()
			return ""
		}},
		{"release_of_expired_or_foreign", func() string {
			late := tryByHand(client, "foreign", 300*time.Millisecond)
			release := get("foreign", forever)
			check(late.release() == 0, "released what is not its own")
			check(late.extend(time.Second) == 0, "extended what is not its own")
			release()
			return ""
		}},
		{"reentrancy", none("a driver has no locks of its own; SET NX is not reentrant")},
		{"watchdog", none("a driver has no locks of its own")},
		{"counter", func() string { return counter(get) }},
		{"fairness", func() string { return fairness(get) }},
		{"resp2", withProtocol(2)},
		{"resp3", withProtocol(3)},
		{"usage_errors", func() string { return usageErrors(client) }},
		{"reconnect", func() string { return reconnect(get) }},
	})
}

func usageErrors(client driver) string {
	ask(client, "RPUSH", "errors", "a list")
	check(tryByHand(client, "errors", time.Second) == nil, "a lock that is a list")
	fails := func(err error, words string) {
		check(err != nil && strings.Contains(err.Error(), words), "it says %v", err)
	}
	_, err := client.command("GET", "errors")
	fails(err, "WRONGTYPE Operation against a key holding the wrong kind of value")
	_, err = client.script(releaseText, "errors", "x")
	fails(err, "WRONGTYPE")
	ask(client, "DEL", "errors")
	_, err = client.command("SET", "errors", "x", "PX", "0", "NX")
	fails(err, "invalid expire time in 'set' command")
	_, err = client.command("SET", "errors", "x", "NX", "XX")
	fails(err, "syntax error")
	return ""
}

// reconnect takes a new lock each time: a connection that ends may leave one behind.
func reconnect(get take) string {
	get("restart", forever)()
	restartServer()
	tries := 0
	waitUntil("a lock after a restart", func() (done bool) {
		defer func() {
			if recover() != nil {
				done = false
			}
		}()
		tries++
		get("after:"+strconv.Itoa(tries), forever)()
		return true
	})
	return ""
}
