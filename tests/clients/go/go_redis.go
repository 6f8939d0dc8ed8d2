package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// go-redis: a pool of connections.

var background = context.Background()

type goRedis struct{ *redis.Client }

func connectTo(address string, how connection) goRedis {
	return goRedis{redis.NewClient(&redis.Options{
		Addr: address, PoolSize: workers + 10, ReadTimeout: patience, Protocol: how.protocol,
		Username: how.user, Password: how.password, ClientName: how.name, DB: how.database,
	})}
}

func connect(how connection) goRedis { return connectTo(address, how) }

func (client goRedis) setNX(key, token string, lease time.Duration) (bool, error) {
	return client.SetNX(background, key, token, lease).Result()
}

var scripts = map[string]*redis.Script{
	releaseText: redis.NewScript(releaseText),
	extendText:  redis.NewScript(extendText),
}

func (client goRedis) script(text, key string, arguments ...string) (int64, error) {
	return scripts[text].Run(background, client.Client, []string{key}, arguments).Int64()
}

func (client goRedis) command(words ...string) (any, error) {
	arguments := make([]any, len(words))
	for i, word := range words {
		arguments[i] = word
	}
	answer, err := client.Do(background, arguments...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return answer, err
}

func (client goRedis) close() { client.Close() }

func playGoRedis() {
	playByHand("go-redis "+version("github.com/redis/go-redis/v9"), func(how connection) driver { return connect(how) })
}
