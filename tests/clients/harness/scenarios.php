<?php
// What the suites in PHP share: where the server is, how an outcome is told, workers (processes).

declare(strict_types=1);

define('HOST', getenv('LOCK_HOST') ?: '127.0.0.1');
define('PORT', (int) getenv('LOCK_PORT'));
// Somebody who needs a password, on every server; who does not log in may do everything as well.
define('USER', getenv('LOCK_USER') ?: 'default');
define('PASSWORD', getenv('LOCK_PASSWORD') ?: 'any');
// Seconds; long enough for a loaded machine. Only something broken takes it.
const PATIENCE = 60;
// Milliseconds. Nobody has a lock of this lease for any other reason than its release.
const FOREVER = 3_600_000;
const WORKERS = 50;
define('INCREMENTS', (int) (getenv('LOCK_INCREMENTS') ?: 200));

/** Thrown by a scenario for which the library has no call; the text says so. */
class NotApplicable extends Exception
{
}

function none(string $why): callable
{
    return fn () => throw new NotApplicable($why);
}

function say(array $what): void
{
    fwrite(STDOUT, json_encode($what) . "\n");
}

/** Runs name => function and tells the outcomes. A function may return what it saw, to stand in the report. */
function run(string $version, array $scenarios): void
{
    say(['version' => $version]);
    $only = getenv('LOCK_ONLY'); // for those who look into one of them
    foreach ($scenarios as $name => $play) {
        if ($only && !in_array($name, explode(',', $only), true)) {
            continue;
        }
        try {
            [$outcome, $reason] = ['pass', (string) ($play() ?? '')];
        } catch (NotApplicable $why) {
            [$outcome, $reason] = ['na', $why->getMessage()];
        } catch (Throwable $error) {
            [$outcome, $reason] = ['fail', (string) $error];
        }
        say(['scenario' => $name, 'outcome' => $outcome, 'reason' => $reason]);
    }
}

function check(bool $holds, string $what): void
{
    if (!$holds) {
        throw new RuntimeException($what);
    }
}

function between(int $low, int $high, int $seen): void
{
    check($low <= $seen && $seen <= $high, "expected $low to $high, saw $seen");
}

function fails_with(string $words, callable $call): void
{
    try {
        $result = $call();
    } catch (Throwable $error) {
        check(str_contains($error->getMessage(), $words), "it says {$error->getMessage()}");
        return;
    }
    check(false, "no error: $words, but " . json_encode($result));
}

function wait_until(string $what, callable $condition): void
{
    $end = microtime(true) + PATIENCE;
    while (!$condition()) {
        check(microtime(true) < $end, "not in time: $what");
        usleep(10_000);
    }
}

function restart_server(): void
{
    $control = fsockopen('127.0.0.1', (int) getenv('LOCK_CONTROL'));
    stream_set_timeout($control, 3 * PATIENCE);
    fwrite($control, "restart\n");
    check(fgets($control) === "done\n", 'the server could not be restarted');
    fclose($control);
}

/** Runs the function so many times at once, each in a process of its own. */
function in_processes(int $count, callable $work): void
{
    $children = [];
    for ($me = 0; $me < $count; $me++) {
        $child = pcntl_fork();
        check($child >= 0, 'no process');
        if ($child === 0) {
            try {
                $work($me);
            } catch (Throwable $error) {
                fwrite(STDERR, "$error\n");
                posix_kill(getmypid(), SIGKILL);
            }
            // Without the destructors of what was inherited.
            posix_kill(getmypid(), SIGTERM);
            sleep(PATIENCE);
        }
        $children[] = $child;
    }
    $bad = 0;
    foreach ($children as $child) {
        pcntl_waitpid($child, $status);
        $bad += pcntl_wifsignaled($status) && pcntl_wtermsig($status) === SIGTERM ? 0 : 1;
    }
    check($bad === 0, "$bad of $count workers failed");
}

/** A number in a file, which nothing protects. */
function read_number(string $file): int
{
    return (int) file_get_contents($file);
}

function write_number(string $file, int $number): void
{
    file_put_contents($file, (string) $number);
}

// The scenarios that are the same whatever the library. `$open` connects anew, for each process once; what it gives waits for
// a lock (key, milliseconds) and gives its release.

function counter(callable $open): void
{
    $file = tempnam(sys_get_temp_dir(), 'counter');
    in_processes(WORKERS, function () use ($open, $file) {
        $take = $open();
        for ($i = 0; $i < INCREMENTS; $i++) {
            $release = $take('counter', FOREVER);
            write_number($file, 1 + read_number($file));
            $release();
        }
    });
    $count = read_number($file);
    unlink($file);
    check($count === WORKERS * INCREMENTS, $count . ' of ' . WORKERS * INCREMENTS);
}

function fairness(callable $open): string
{
    $files = array_map(fn () => tempnam(sys_get_temp_dir(), 'turns'), range(0, 4));
    // A file that is being written may look empty; whoever has 5 keeps them.
    $hungry = fn () => min(array_map('read_number', $files)) < 5;
    in_processes(count($files), function (int $me) use ($open, $files, $hungry) {
        $take = $open();
        while ($hungry()) {
            $release = $take('fair', FOREVER);
            write_number($files[$me], 1 + read_number($files[$me]));
            $release();
            usleep(1000);
        }
    });
    $turns = implode(' ', array_map('read_number', $files));
    array_map('unlink', $files);
    return "turns until everybody had 5: $turns";
}

function wakes_on_release(callable $open): string
{
    $release = $open()('wakes', FOREVER);
    [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    stream_set_timeout($here, PATIENCE);
    $child = pcntl_fork();
    if ($child === 0) {
        $other = $open()('wakes', FOREVER);
        fwrite($there, hrtime(true) . "\n");
        $other();
        posix_kill(getmypid(), SIGKILL);
    }
    usleep(500_000); // it has asked a few times by now
    $ready = [$here];
    $nobody = null;
    check(stream_select($ready, $nobody, $nobody, 0) === 0, 'two have it');
    $release();
    $released = hrtime(true);
    $woken = (int) fgets($here);
    pcntl_waitpid($child, $status);
    check($woken > 0, 'it never had it');
    return round(max(0, $woken - $released) / 1e6) . ' ms';
}
