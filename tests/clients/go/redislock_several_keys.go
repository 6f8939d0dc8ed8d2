//go:build !redislock09

package main

import (
	"time"

	"github.com/bsm/redislock"
)

// severalKeys is what bsm/redislock can do from 0.10 on: all of them, or none.
func severalKeys(client goRedis, locker *redislock.Client) []scenario {
	return []scenario{{"several_keys", func() string {
		keys := []string{"several:a", "several:b", "several:c"}
		lock, err := locker.ObtainMulti(background, keys, 10*time.Second, nil)
		must(err)
		_, err = locker.Obtain(background, "several:b", 10*time.Second, nil)
		is(err, redislock.ErrNotObtained)
		_, err = locker.ObtainMulti(background, []string{"several:d", "several:c"}, 10*time.Second, nil)
		is(err, redislock.ErrNotObtained)
		check(!exists(client, "several:d"), "one of two was taken")
		must(lock.Refresh(background, 100*time.Second, nil))
		for _, key := range keys {
			between(90*time.Second, 100*time.Second, timeLeft(client, key))
		}
		left, err := lock.TTL(background)
		must(err)
		between(90*time.Second, 100*time.Second, left)
		must(lock.Release(background))
		for _, key := range keys {
			check(!exists(client, key), "%s is still there", key)
		}
		is(lock.Release(background), redislock.ErrLockNotHeld)
		return ""
	}}}
}
