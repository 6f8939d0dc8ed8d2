//go:build redislock09

package main

import "github.com/bsm/redislock"

// severalKeys: 0.9 knows one key at a time.
func severalKeys(goRedis, *redislock.Client) []scenario { return nil }
