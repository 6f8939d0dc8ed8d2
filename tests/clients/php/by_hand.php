<?php
// What applications write by hand on a driver: SET NX PX, and the two scripts that everybody copies.

declare(strict_types=1);

require __DIR__ . '/../harness/scenarios.php';

const RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
const EXTEND = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end';

/** A connected client of some library. An error reply is an exception. */
interface Driver
{
    /** Whether the key was free. */
    public function setNx(string $key, string $token, int $ms): bool;

    /** RELEASE or EXTEND, by its SHA-1 first. */
    public function evaluate(string $script, string $key, string ...$arguments): int;

    /** null for null, whatever the library says. */
    public function command(string ...$words): mixed;
}

final class HandLock
{
    private function __construct(private Driver $on, private string $key, public readonly string $token)
    {
    }

    /** null if somebody else has it. */
    public static function try(Driver $on, string $key, int $ms): ?self
    {
        $token = bin2hex(random_bytes(16));
        return $on->setNx($key, $token, $ms) ? new self($on, $key, $token) : null;
    }

    public function release(): int
    {
        return $this->on->evaluate(RELEASE, $this->key, $this->token);
    }

    public function extend(int $ms): int
    {
        return $this->on->evaluate(EXTEND, $this->key, $this->token, (string) $ms);
    }
}

function taking(Driver $on): callable
{
    return function (string $key, int $ms) use ($on) {
        while (!($lock = HandLock::try($on, $key, $ms))) {
            usleep(20_000);
        }
        return fn () => check($lock->release() === 1, 'not released');
    };
}

/** `$open(user:, password:, name:, database:)` gives a Driver. */
function scenarios(callable $open): array
{
    $client = $open();
    $take = taking($client);
    $anew = fn () => taking($open());

    $acquire_release = function () use ($client) {
        $lock = HandLock::try($client, 'acquire', 10_000);
        check($lock !== null, 'a free lock was refused');
        between(9_000, 10_000, $client->command('PTTL', 'acquire'));
        check($lock->release() === 1, 'not released');
        check($client->command('EXISTS', 'acquire') === 0, 'it is still there');
        check($client->command('GET', 'acquire') === null, 'null has another shape');
    };

    return [
        'handshake' => function () use ($open, $client) {
            $one = $open(user: USER, password: PASSWORD, name: 'suite', database: 3);
            check($one->command('CLIENT', 'GETNAME') === 'suite', 'it has no name');
            $lock = HandLock::try($one, 'hello', 10_000);
            check($client->command('EXISTS', 'hello') === 0, 'another database has the same lock');
            $lock->release();
        },
        'acquire_release' => $acquire_release,
        'refused_while_held' => function () use ($client) {
            $lock = HandLock::try($client, 'refused', FOREVER);
            check(HandLock::try($client, 'refused', FOREVER) === null, 'two have it');
            check($client->command('GET', 'refused') === $lock->token, 'it changed hands');
            $lock->release();
        },
        'wakes_on_release' => fn () => wakes_on_release($anew) . ', polls every 20 ms',
        'extend' => function () use ($client) {
            $lock = HandLock::try($client, 'extend', 10_000);
            check($lock->extend(100_000) === 1, 'not extended');
            between(90_000, 100_000, $client->command('PTTL', 'extend'));
            $lock->release();
            check($lock->extend(1_000) === 0, 'extended after its end');
        },
        'expiry_frees' => function () use ($client, $take) {
            HandLock::try($client, 'expiry', 300);
            $take('expiry', FOREVER)();
        },
        'release_of_expired_or_foreign' => function () use ($client, $take) {
            $late = HandLock::try($client, 'foreign', 300);
            $release = $take('foreign', FOREVER);
            check($late->release() === 0, 'released what is not its own');
            check($late->extend(1_000) === 0, 'extended what is not its own');
            $release();
        },
        'reentrancy' => none('a driver has no locks of its own; SET NX is not reentrant'),
        'watchdog' => none('a driver has no locks of its own'),
        'counter' => fn () => counter($anew),
        'fairness' => fn () => fairness($anew),
        'resp2' => $acquire_release,
        'resp3' => none("Debian 12's version of it speaks RESP2 only"),
        'usage_errors' => fn () => usage_errors($client),
        'reconnect' => fn () => reconnect($open),
    ];
}

function usage_errors(Driver $client): void
{
    $client->command('RPUSH', 'errors', 'a list');
    check(HandLock::try($client, 'errors', 1_000) === null, 'a lock that is a list');
    fails_with('WRONGTYPE Operation against a key holding the wrong kind of value', fn () => $client->command('GET', 'errors'));
    fails_with('WRONGTYPE', fn () => $client->evaluate(RELEASE, 'errors', 'x'));
    $client->command('DEL', 'errors');
    fails_with("ERR invalid expire time in 'set' command", fn () => $client->command('SET', 'errors', 'x', 'NX', 'PX', '0'));
    fails_with('ERR syntax error', fn () => $client->command('SET', 'errors', 'x', 'NX', 'XX'));
}

/** With a client of its own. A new lock each time: a connection that ends may leave one behind. */
function reconnect(callable $open): void
{
    $take = taking($open());
    $take('restart', FOREVER)();
    restart_server();
    $tries = 0;
    wait_until('a lock after a restart', function () use ($take, &$tries) {
        try {
            $take('after:' . ++$tries, FOREVER)();
            return true;
        } catch (Exception $lost) {
            return false;
        }
    });
}
