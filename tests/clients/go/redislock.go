package main

import (
	"time"

	"github.com/bsm/redislock"
)

// bsm/redislock on go-redis. Built twice: 0.9 has scripts of its own.
func playRedislock() {
	client := connect(connection{})
	locker := redislock.New(client)
	waiting := &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)}
	obtain := func(key string, lease time.Duration, how *redislock.Options) *redislock.Lock {
		lock, err := locker.Obtain(background, key, lease, how)
		must(err)
		return lock
	}
	get := func(key string, lease time.Duration) func() {
		lock := obtain(key, lease, waiting)
		return func() { must(lock.Release(background)) }
	}
	acquireRelease := func(on goRedis) string {
		lock, err := redislock.Obtain(background, on, "acquire", 10*time.Second, &redislock.Options{Metadata: "suite"})
		must(err)
		left, err := lock.TTL(background)
		must(err)
		between(9*time.Second, 10*time.Second, left)
		check(ask(on, "GET", "acquire") == lock.Token()+"suite", "it has another value")
		must(lock.Release(background))
		check(!exists(on, "acquire"), "it is still there")
		return ""
	}
	withProtocol := func(protocol int) func() string {
		return func() string {
			one := connect(connection{protocol: protocol})
			defer one.close()
			return acquireRelease(one)
		}
	}
	run("bsm/redislock "+version("github.com/bsm/redislock"), append([]scenario{
		{"handshake", func() string {
			one := connect(connection{user: user, password: password, name: "suite", database: 3})
			defer one.close()
			check(ask(one, "CLIENT", "GETNAME") == "suite", "it has no name")
			lock, err := redislock.Obtain(background, one, "hello", 10*time.Second, nil)
			must(err)
			check(!exists(client, "hello"), "another database has the same lock")
			must(lock.Release(background))
			return ""
		}},
		{"acquire_release", func() string { return acquireRelease(client) }},
		{"refused_while_held", func() string {
			lock := obtain("refused", forever, nil)
			_, err := locker.Obtain(background, "refused", forever, nil)
			is(err, redislock.ErrNotObtained)
			check(ask(client, "GET", "refused") == lock.Token(), "it changed hands")
			must(lock.Release(background))
			return ""
		}},
		{"wakes_on_release", func() string { return wakesOnRelease(get) + ", polls every 20 ms" }},
		{"extend", func() string {
			lock := obtain("extend", 10*time.Second, nil)
			must(lock.Refresh(background, 100*time.Second, nil))
			between(90*time.Second, 100*time.Second, timeLeft(client, "extend"))
			must(lock.Release(background))
			is(lock.Refresh(background, time.Second, nil), redislock.ErrNotObtained)
			return ""
		}},
		{"expiry_frees", func() string {
			obtain("expiry", 300*time.Millisecond, nil)
			get("expiry", forever)()
			return ""
		}},
		{"release_of_expired_or_foreign", func() string {
			late := obtain("foreign", 300*time.Millisecond, nil)
			release := get("foreign", forever)
			is(late.Release(background), redislock.ErrLockNotHeld)
			is(late.Refresh(background, time.Second, nil), redislock.ErrNotObtained)
			left, err := late.TTL(background)
			must(err)
			check(left == 0, "it has %v left", left)
			release()
			is(late.Release(background), redislock.ErrLockNotHeld)
			return ""
		}},
		{"reentrancy", func() string {
			mine := &redislock.Options{Token: "the same"}
			first := obtain("reenter", 10*time.Second, mine)
			obtain("reenter", 100*time.Second, mine)
			between(90*time.Second, 100*time.Second, timeLeft(client, "reenter"))
			must(first.Release(background))
			check(!exists(client, "reenter"), "it is still there")
			return "the same token obtains again; one release frees it"
		}},
		{"watchdog", none("a Lock does not renew itself")},
		{"counter", func() string { return counter(get) }},
		{"fairness", func() string { return fairness(get) }},
		{"resp2", withProtocol(2)},
		{"resp3", withProtocol(3)},
		{"usage_errors", func() string {
			_, err := locker.Obtain(background, "errors", -time.Second, nil)
			check(err != nil && !exists(client, "errors"), "a lock with a negative lease: %v", err)
			return usageErrors(client)
		}},
	}, append(severalKeys(client, locker),
		// Last: the server loses everything.
		scenario{"reconnect", func() string { return reconnect(get) }})...))
}
