package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis/rueidislock"
)

// rueidislock: three keys for each lock, two of which decide, renewed for as long as the context lives.

const validity = 5 * time.Second

func lockerWith(how connection, change ...func(*rueidislock.LockerOption)) rueidislock.Locker {
	option := rueidislock.LockerOption{
		ClientOption: rueidisOptions(how), KeyValidity: validity, KeyMajority: 2,
		TryNextAfter: 20 * time.Millisecond, // asks again after that; a key that takes longer counts as refused
	}
	// Without it, it waits to be told by invalidations.
	option.ClientOption.DisableCache = true
	for _, one := range change {
		one(&option)
	}
	locker, err := rueidislock.NewLocker(option)
	must(err)
	return locker
}

func slowly(option *rueidislock.LockerOption) { option.TryNextAfter = validity / 2 }

func rueidislockKey(i int, name string) string { return fmt.Sprintf("rueidislock:%d:%s", i, name) }

// votes counts the keys of a lock.
func votes(client driver, name string) int {
	count := 0
	for i := range 3 {
		if exists(client, rueidislockKey(i, name)) {
			count++
		}
	}
	return count
}

func playRueidislock() {
	if key := holderKey(); key != "" {
		locker := lockerWith(connection{}, slowly, func(option *rueidislock.LockerOption) { option.KeyValidity = 1500 * time.Millisecond })
		_, _, err := locker.WithContext(background, key)
		must(err)
		hold()
	}
	client := connectRueidis(connection{})
	waiting, once := lockerWith(connection{}), lockerWith(connection{}, slowly)
	get := func(key string, _ time.Duration) func() {
		_, release, err := waiting.WithContext(background, key)
		must(err)
		return release
	}
	acquireRelease := func(locker rueidislock.Locker) string {
		_, release, err := locker.TryWithContext(background, "acquire")
		must(err)
		waitUntil("three keys", func() bool { return votes(client, "acquire") == 3 })
		between(time.Millisecond, validity, timeLeft(client, rueidislockKey(0, "acquire")))
		release()
		check(votes(client, "acquire") == 0, "it is still there")
		return ""
	}
	withProtocol := func(protocol int) func() string {
		return func() string {
			locker := lockerWith(connection{protocol: protocol}, slowly)
			defer locker.Close()
			return acquireRelease(locker)
		}
	}
	run("rueidislock "+version("github.com/redis/rueidis"), []scenario{
		{"handshake", func() string {
			locker := lockerWith(connection{user: user, password: password, name: "suite", database: 3}, slowly)
			defer locker.Close()
			check(ask(rueidisDriver{locker.Client()}, "CLIENT", "GETNAME") == "suite", "it has no name")
			_, release, err := locker.WithContext(background, "hello")
			must(err)
			check(votes(client, "hello") == 0, "another database has the same lock")
			release()
			return ""
		}},
		{"acquire_release", func() string { return acquireRelease(once) }},
		{"refused_while_held", func() string {
			_, release, err := once.WithContext(background, "refused")
			must(err)
			token := ask(client, "GET", rueidislockKey(0, "refused"))
			_, _, err = once.TryWithContext(background, "refused")
			is(err, rueidislock.ErrNotLocked)
			check(ask(client, "GET", rueidislockKey(0, "refused")) == token, "it changed hands")
			release()
			return ""
		}},
		{"wakes_on_release", func() string {
			// Within one Locker they would wake each other; this is about another process.
			_, release, err := once.WithContext(background, "wakes")
			must(err)
			isFirst := true
			return wakesOnRelease(func(key string, lease time.Duration) func() {
				if isFirst {
					isFirst = false
					return release
				}
				return get(key, lease)
			}) + ", polls every 20 ms"
		}},
		{"extend", func() string {
			_, release, err := once.WithContext(background, "extend")
			must(err)
			// Half of the validity later it is as long as it was.
			waitUntil("an extension", func() bool { return timeLeft(client, rueidislockKey(0, "extend")) < validity/2+validity/4 })
			waitUntil("an extension", func() bool { return timeLeft(client, rueidislockKey(0, "extend")) > validity/2+validity/4 })
			release()
			return "by itself"
		}},
		{"expiry_frees", func() string {
			for i := range 3 {
				ask(client, "SET", rueidislockKey(i, "expiry"), "somebody", "PX", "300")
			}
			get("expiry", forever)()
			return ""
		}},
		{"release_of_expired_or_foreign", func() string {
			lost, late, err := once.WithContext(background, "foreign")
			must(err)
			still, release, err := lockerWith(connection{}, slowly).ForceWithContext(background, "foreign")
			must(err)
			select {
			case <-lost.Done():
			case <-time.After(patience):
				check(false, "who lost it was not told")
			}
			late()
			check(still.Err() == nil && votes(client, "foreign") == 3, "it was taken away")
			release()
			check(votes(client, "foreign") == 0, "it is still there")
			return "its context is done"
		}},
		{"reentrancy", none("a second WithContext waits for the first")},
		{"watchdog", func() string {
			holder := startHolder("watchdog")
			outlives(1500*time.Millisecond, func() bool { return votes(client, "watchdog") >= 2 })
			holder.kill()
			get("watchdog", forever)()
			return ""
		}},
		{"counter", func() string { return counter(get) }},
		{"fairness", func() string { return fairness(get) }},
		{"resp2", withProtocol(2)},
		{"resp3", withProtocol(3)},
		{"usage_errors", func() string {
			wrong := []string{rueidislockKey(0, "errors"), rueidislockKey(1, "errors")}
			for _, key := range wrong {
				ask(client, "RPUSH", key, "a list")
			}
			_, _, err := once.TryWithContext(background, "errors")
			check(err != nil, "a lock that is a list")
			ask(client, append([]string{"DEL"}, wrong...)...)
			soon, cancel := context.WithTimeout(background, 100*time.Millisecond)
			defer cancel()
			release := get("errors", forever)
			_, _, err = once.WithContext(soon, "errors")
			is(err, context.DeadlineExceeded)
			release()
			return usageErrors(client)
		}},
		{"invalidations", func() string {
			// As it comes: told when a key that it has read changes. Expected to fail elsewhere, and soon.
			limit := patience
			if env("LOCK_KIND", "redis") != "redis" {
				limit = 3 * time.Second
			}
			locker := lockerWith(connection{}, slowly, func(option *rueidislock.LockerOption) { option.ClientOption.DisableCache = false })
			_, release, err := once.WithContext(background, "told")
			must(err)
			waiting, cancel := context.WithTimeout(background, limit)
			defer cancel()
			go func() {
				time.Sleep(500 * time.Millisecond) // the other one has asked by now
				release()
			}()
			_, other, err := locker.WithContext(waiting, "told")
			must(err)
			other()
			return ""
		}},
		{"reconnect", func() string { return reconnect(get) }},
	})
}
