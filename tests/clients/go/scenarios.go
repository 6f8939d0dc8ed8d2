package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What the suites in Go share: where the server is, how an outcome is told, workers, processes that die.

const (
	// Long enough for a loaded machine; only something broken takes it.
	patience = 60 * time.Second
	// Nobody has a lock of this lease for any other reason than its release.
	forever = time.Hour
	workers = 50
)

var (
	host    = env("LOCK_HOST", "127.0.0.1")
	address = host + ":" + os.Getenv("LOCK_PORT")
	// Somebody who needs a password, on every server; who does not log in may do everything as well.
	user, password = env("LOCK_USER", "default"), env("LOCK_PASSWORD", "any")

	increments = number("LOCK_INCREMENTS", 200)
)

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func number(name string, otherwise int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return otherwise
}

func addresses() []string {
	var all []string
	for _, port := range strings.Split(env("LOCK_PORTS", os.Getenv("LOCK_PORT")), ",") {
		all = append(all, host+":"+port)
	}
	return all
}

// A scenario panics when it fails, and may return what it saw, to stand in the report.
type scenario struct {
	name string
	play func() string
}

// notApplicable is thrown by a scenario for which the library has no call.
type notApplicable string

func none(why string) func() string {
	return func() string { panic(notApplicable(why)) }
}

func say(what map[string]string) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}

func run(version string, scenarios []scenario) {
	say(map[string]string{"version": version})
	only := os.Getenv("LOCK_ONLY") // for those who look into one of them
	for _, one := range scenarios {
		if only == "" || strings.Contains(","+only+",", ","+one.name+",") {
			outcome, reason := play(one)
			say(map[string]string{"scenario": one.name, "outcome": outcome, "reason": reason})
		}
	}
}

func play(one scenario) (outcome, reason string) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case notApplicable:
			outcome, reason = "na", string(problem)
		default:
			outcome, reason = "fail", fmt.Sprintf("%v\n%s", problem, debug.Stack())
		}
	}()
	return "pass", one.play()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, what string, more ...any) {
	if !holds {
		panic(fmt.Sprintf(what, more...))
	}
}

// refusal is what the action fails with.
func refusal(action func()) (why string) {
	defer func() {
		if problem := recover(); problem != nil {
			why = fmt.Sprint(problem)
		}
	}()
	action()
	return ""
}

func is(err, wanted error) {
	check(errors.Is(err, wanted), "expected %v, saw %v", wanted, err)
}

func between(low, high, seen time.Duration) {
	check(low <= seen && seen <= high, "expected %v to %v, saw %v", low, high, seen)
}

func waitUntil(what string, condition func() bool) {
	for end := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		check(time.Now().Before(end), "not in time: %s", what)
	}
}

func restartServer() {
	control, err := net.Dial("tcp", "127.0.0.1:"+os.Getenv("LOCK_CONTROL"))
	must(err)
	defer control.Close()
	fmt.Fprintln(control, "restart")
	answer, _ := bufio.NewReader(control).ReadString('\n')
	check(answer == "done\n", "the server could not be restarted")
}

// inGoroutines runs the function so many times at once, and panics if one of them did.
func inGoroutines(count int, work func(me int)) {
	var all sync.WaitGroup
	problems := make(chan any, count)
	for me := range count {
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() {
				if problem := recover(); problem != nil {
					problems <- problem
				}
			}()
			work(me)
		}()
	}
	all.Wait()
	select {
	case problem := <-problems:
		panic(problem)
	default:
	}
}

// take waits for a lock and gives its release.
type take func(key string, lease time.Duration) (release func())

func counter(get take) string {
	count := 0
	inGoroutines(workers, func(int) {
		for range increments {
			release := get("counter", forever)
			seen := count
			runtime.Gosched() // another goroutine may run
			count = seen + 1
			release()
		}
	})
	check(count == workers*increments, "%d of %d", count, workers*increments)
	return ""
}

func fairness(get take) string {
	turns := make([]atomic.Int32, 5)
	everybody := func() bool {
		for i := range turns {
			if turns[i].Load() < 5 {
				return false
			}
		}
		return true
	}
	inGoroutines(len(turns), func(me int) {
		for !everybody() {
			release := get("fair", forever)
			turns[me].Add(1)
			release()
			time.Sleep(time.Millisecond)
		}
	})
	text := "turns until everybody had 5:"
	for i := range turns {
		text += fmt.Sprint(" ", turns[i].Load())
	}
	return text
}

func wakesOnRelease(get take) string {
	release := get("wakes", forever)
	var isWoken atomic.Bool
	var woken, released time.Time
	inGoroutines(2, func(me int) {
		if me == 0 {
			other := get("wakes", forever)
			woken = time.Now()
			isWoken.Store(true)
			other()
			return
		}
		time.Sleep(500 * time.Millisecond) // the other one has asked a few times by now
		check(!isWoken.Load(), "two have it")
		release()
		released = time.Now()
	})
	return fmt.Sprint(max(0, woken.Sub(released)).Round(time.Millisecond))
}

// A holder is another process of this suite that takes the lock `key`, says so, and keeps it until it is killed.
type holder struct{ process *exec.Cmd }

func startHolder(key string) holder {
	process := exec.Command(os.Args[0], "hold", key)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	must(err)
	must(process.Start())
	line, _ := bufio.NewReader(output).ReadString('\n')
	check(line == "held\n", "the holder said %q", line)
	return holder{process}
}

func (one holder) kill() {
	must(one.process.Process.Kill())
	_ = one.process.Wait()
}

// holderKey is the lock that this process is to hold, or "".
func holderKey() string {
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		return os.Args[2]
	}
	return ""
}

func hold() {
	fmt.Println("held")
	time.Sleep(forever)
}

// outlives looks again and again whether the lock is still taken, for longer than three leases.
func outlives(lease time.Duration, taken func() bool) {
	for end := time.Now().Add(3*lease + 500*time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		check(taken(), "it was lost while its process lived")
	}
}

// version of a module that this program was built with.
func version(module string) string {
	about, _ := debug.ReadBuildInfo()
	for _, one := range about.Deps {
		if one.Path == module {
			return strings.TrimPrefix(one.Version, "v")
		}
	}
	return "?"
}

func main() {
	switch variant := os.Getenv("LOCK_VARIANT"); variant {
	case "go-redis":
		playGoRedis()
	case "rueidis":
		playRueidis()
	case "redsync":
		playRedsync()
	case "redislock", "redislock-0.9":
		playRedislock()
	case "rueidislock":
		playRueidislock()
	default:
		panic("no such variant: " + variant)
	}
}
