package main

import (
	"time"

	"github.com/redis/rueidis"
)

// rueidis: goroutines share few connections, and the client asks to be told of what it cached (RESP3).

type rueidisDriver struct{ client rueidis.Client }

func rueidisOptions(how connection) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress: []string{address}, ForceSingleClient: true, ConnWriteTimeout: patience,
		Username: how.user, Password: how.password, ClientName: how.name, SelectDB: how.database,
		AlwaysRESP2: how.protocol == 2, DisableCache: how.protocol == 2,
	}
}

func connectRueidis(how connection) rueidisDriver {
	client, err := rueidis.NewClient(rueidisOptions(how))
	must(err)
	return rueidisDriver{client}
}

func (on rueidisDriver) setNX(key, token string, lease time.Duration) (bool, error) {
	err := on.client.Do(background, on.client.B().Set().Key(key).Value(token).Nx().Px(lease).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, err
}

var luas = map[string]*rueidis.Lua{
	releaseText: rueidis.NewLuaScript(releaseText),
	extendText:  rueidis.NewLuaScript(extendText),
}

func (on rueidisDriver) script(text, key string, arguments ...string) (int64, error) {
	return luas[text].Exec(background, on.client, []string{key}, arguments).AsInt64()
}

func (on rueidisDriver) command(words ...string) (any, error) {
	answer, err := on.client.Do(background, on.client.B().Arbitrary(words...).Build()).ToAny()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return answer, err
}

func (on rueidisDriver) close() { on.client.Close() }

func playRueidis() {
	playByHand("rueidis "+version("github.com/redis/rueidis"), func(how connection) driver { return connectRueidis(how) })
}
