package main

import (
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redsync on go-redis, over one server and over three.

func syncOn(clients ...goRedis) *redsync.Redsync {
	var pools []redis.Pool
	for _, one := range clients {
		pools = append(pools, goredis.NewPool(one.Client))
	}
	return redsync.New(pools...)
}

func unlock(mutex *redsync.Mutex) {
	done, err := mutex.Unlock()
	must(err)
	check(done, "not released")
}

func playRedsync() {
	client := connect(connection{})
	sync := syncOn(client)
	mutex := func(key string, lease time.Duration, more ...redsync.Option) *redsync.Mutex {
		patiently := []redsync.Option{
			redsync.WithExpiry(lease), redsync.WithTries(1 << 20), redsync.WithRetryDelay(20 * time.Millisecond),
		}
		return sync.NewMutex(key, append(patiently, more...)...)
	}
	get := func(key string, lease time.Duration) func() {
		one := mutex(key, lease)
		must(one.Lock())
		return func() { unlock(one) }
	}
	acquireRelease := func(on goRedis) string {
		one := syncOn(on).NewMutex("acquire", redsync.WithExpiry(10*time.Second))
		must(one.TryLock())
		between(9*time.Second, 10*time.Second, timeLeft(on, "acquire"))
		check(ask(on, "GET", "acquire") == one.Value(), "it has another value")
		unlock(one)
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
	var taken *redsync.ErrTaken
	run("redsync "+version("github.com/go-redsync/redsync/v4"), []scenario{
		{"handshake", func() string {
			one := connect(connection{user: user, password: password, name: "suite", database: 3})
			defer one.close()
			check(ask(one, "CLIENT", "GETNAME") == "suite", "it has no name")
			lock := syncOn(one).NewMutex("hello")
			must(lock.Lock())
			check(!exists(client, "hello"), "another database has the same lock")
			unlock(lock)
			return ""
		}},
		{"acquire_release", func() string { return acquireRelease(client) }},
		{"refused_while_held", func() string {
			one := mutex("refused", forever)
			must(one.Lock())
			err := mutex("refused", forever).TryLock()
			check(errors.As(err, &taken), "it says %v", err)
			check(ask(client, "GET", "refused") == one.Value(), "it changed hands")
			unlock(one)
			return ""
		}},
		{"wakes_on_release", func() string { return wakesOnRelease(get) + ", polls every 20 ms" }},
		{"extend", func() string {
			one := mutex("extend", 10*time.Second)
			must(one.Lock())
			ask(client, "PEXPIRE", "extend", "5000")
			done, err := one.Extend()
			must(err)
			check(done, "not extended")
			between(9*time.Second, 10*time.Second, timeLeft(client, "extend"))
			unlock(one)
			_, err = one.Extend()
			check(err != nil, "extended after its end")
			creating := mutex("extend", 10*time.Second, redsync.WithSetNXOnExtend())
			must(creating.Lock())
			ask(client, "DEL", "extend")
			done, err = creating.Extend()
			must(err)
			check(done && exists(client, "extend"), "not created anew")
			unlock(creating)
			return ""
		}},
		{"expiry_frees", func() string {
			tryByHand(client, "expiry", 300*time.Millisecond)
			get("expiry", forever)()
			return ""
		}},
		{"release_of_expired_or_foreign", func() string {
			late := mutex("foreign", 10*time.Second)
			must(late.Lock())
			ask(client, "PEXPIRE", "foreign", "1")
			release := get("foreign", forever)
			done, err := late.Unlock()
			check(!done && errors.As(err, &taken), "it says %v", err)
			release()
			done, err = late.Unlock()
			check(!done && errors.Is(err, redsync.ErrLockAlreadyExpired), "it says %v", err)
			return ""
		}},
		{"reentrancy", none("a Mutex is not reentrant")},
		{"watchdog", none("a Mutex does not renew itself")},
		{"counter", func() string { return counter(get) }},
		{"fairness", func() string { return fairness(get) }},
		{"resp2", withProtocol(2)},
		{"resp3", withProtocol(3)},
		{"usage_errors", func() string {
			_, err := mutex("never taken", time.Second).Unlock()
			check(err != nil, "released what it never had")
			return usageErrors(client)
		}},
		{"quorum_of_three", func() string {
			var clients []goRedis
			for _, one := range addresses() {
				clients = append(clients, connectTo(one, connection{}))
			}
			all := syncOn(clients...)
			lock := all.NewMutex("quorum", redsync.WithExpiry(forever))
			must(lock.Lock())
			check(all.NewMutex("quorum", redsync.WithExpiry(forever)).TryLock() != nil, "two have it")
			unlock(lock)
			// A minority that somebody else has does not matter.
			ask(clients[1], "SET", "quorum", "somebody")
			must(lock.Lock())
			unlock(lock)
			check(ask(clients[1], "GET", "quorum") == "somebody", "it was taken away")
			return ""
		}},
		{"reconnect", func() string { return reconnect(get) }},
	})
}
