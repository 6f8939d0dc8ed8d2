// A worker of the peers: redsync's Mutex, each client with a connection pool of its own.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type section struct{ asked, granted, gaveBack int64 }

type client struct {
	mutex *redsync.Mutex
	lock  sync.Mutex // of what follows, which is read at the end
	asked int64
	rows  []section
}

// now is CLOCK_MONOTONIC, which all processes share; the one of package time has no numbers.
func now() int64 {
	const clockMonotonic = 1
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func number(name string) int {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		fail(fmt.Errorf("%s: %w", name, err))
	}
	return value
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func (c *client) work(end int64, hold time.Duration) {
	for {
		asked := now()
		if asked >= end {
			return
		}
		c.note(asked, nil)
		if err := c.mutex.Lock(); err != nil {
			fail(err)
		}
		granted := now()
		c.note(0, nil)
		if hold > 0 {
			time.Sleep(hold)
		}
		gaveBack := now()
		if _, err := c.mutex.Unlock(); err != nil {
			fail(err)
		}
		c.note(0, &section{asked, granted, gaveBack})
	}
}

func (c *client) note(asked int64, done *section) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.asked = asked
	if done != nil {
		c.rows = append(c.rows, *done)
	}
}

func main() {
	first, count := number("PEER_FIRST"), number("PEER_CLIENTS")
	hold := time.Duration(number("PEER_HOLD_US")) * time.Microsecond
	clients := make([]*client, count)
	for i := range clients {
		connection := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("PEER_PORT"), PoolSize: 1})
		if err := connection.Ping(context.Background()).Err(); err != nil {
			fail(err)
		}
		// Its own pauses, 50 to 250 ms; only the number of tries has no end.
		mutex := redsync.New(goredis.NewPool(connection)).NewMutex(os.Getenv("PEER_KEY"),
			redsync.WithExpiry(30*time.Second), redsync.WithTries(1<<30))
		clients[i] = &client{mutex: mutex}
	}
	fmt.Println("ready")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fail(err)
	}
	end, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		fail(err)
	}
	for _, one := range clients {
		go one.work(end, hold)
	}
	time.Sleep(time.Duration(end - now()))

	out := bufio.NewWriter(os.Stdout)
	for i, one := range clients {
		one.lock.Lock()
		for _, row := range one.rows {
			fmt.Fprintln(out, first+i, row.asked, row.granted, row.gaveBack)
		}
		if one.asked != 0 {
			fmt.Fprintln(out, first+i, one.asked, "- -")
		}
		one.lock.Unlock()
	}
	out.Flush()
	os.Exit(0)
}
