<?php
// Laravel's cache locks (illuminate/cache and illuminate/redis) on phpredis, without the rest of the framework.

declare(strict_types=1);

require __DIR__ . '/../harness/scenarios.php';
require 'Illuminate/Redis/autoload.php';
require 'Illuminate/Cache/autoload.php';

use Illuminate\Cache\RedisStore;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Redis\RedisManager;

const POLL_MS = 20;

function store(array $more = []): RedisStore
{
    $default = ['host' => HOST, 'port' => PORT, 'timeout' => PATIENCE, 'read_timeout' => PATIENCE, 'database' => 0];
    return new RedisStore(new RedisManager(null, 'phpredis', ['default' => [...$default, ...$more]]), 'cache', 'default');
}

function taking(RedisStore $store): callable
{
    return function (string $key, int $ms) use ($store) {
        $lock = $store->lock($key, intdiv($ms, 1000))->betweenBlockedAttemptsSleepFor(POLL_MS);
        $lock->block(10 * PATIENCE);
        return fn () => check($lock->release(), 'not released');
    };
}

$store = store();
$redis = $store->connection()->client();
$take = taking($store);
$anew = fn () => taking(store());

$acquire_release = function () use ($store, $redis) {
    $lock = $store->lock('acquire', 10);
    check($lock->get() === true, 'a free lock was refused');
    between(9_000, 10_000, $redis->pttl('cache:acquire'));
    check($redis->get('cache:acquire') === $lock->owner(), 'it has another value');
    check($lock->release() === true, 'not released');
    check($redis->exists('cache:acquire') === 0, 'it is still there');
};

run('Laravel ' . trim((string) shell_exec("dpkg-query -W -f '\${source:Upstream-Version}' php-illuminate-cache"), "+dfsg\n"), [
    'handshake' => function () use ($redis) {
        $one = store(['password' => [USER, PASSWORD], 'name' => 'suite', 'database' => 3]);
        check($one->connection()->client()->client('getname') === 'suite', 'it has no name');
        $lock = $one->lock('hello', 10);
        check($lock->get(), 'a free lock was refused');
        check($redis->exists('cache:hello') === 0, 'another database has the same lock');
        check($lock->release(), 'not released');
    },
    'acquire_release' => $acquire_release,
    'refused_while_held' => function () use ($store, $redis) {
        $lock = $store->lock('refused', 3600);
        check($lock->get(), 'a free lock was refused');
        check($store->lock('refused', 3600)->get() === false, 'two have it');
        check($redis->get('cache:refused') === $lock->owner(), 'it changed hands');
        check($store->restoreLock('refused', $lock->owner())->release(), 'not released by its owner elsewhere');
    },
    'wakes_on_release' => fn () => wakes_on_release($anew) . ', polls every ' . POLL_MS . ' ms',
    'extend' => none('a lock of Laravel 8 cannot be made longer'),
    'expiry_frees' => function () use ($store, $take) {
        $store->lock('expiry', 1)->get();
        $take('expiry', FOREVER)();
    },
    'release_of_expired_or_foreign' => function () use ($store, $redis, $take) {
        $late = $store->lock('foreign', 1);
        $late->get();
        $release = $take('foreign', FOREVER);
        check($late->release() === false, 'released what is not its own');
        $release();
        // Nobody asks whose it is.
        $store->lock('foreign', 3600)->get();
        $late->forceRelease();
        check($redis->exists('cache:foreign') === 0, 'it is still there');
    },
    'reentrancy' => none('a lock of Laravel is not reentrant'),
    'watchdog' => none('a lock of Laravel does not renew itself'),
    'counter' => fn () => counter($anew),
    'fairness' => fn () => fairness($anew),
    'resp2' => $acquire_release,
    'resp3' => none('phpredis speaks RESP2 only'),
    'usage_errors' => function () use ($store, $redis) {
        $redis->rPush('cache:errors', 'a list');
        check($store->lock('errors', 1)->get() === false, 'a lock that is a list');
        $redis->del('cache:errors');
        $held = $store->lock('errors', 3600);
        $held->get();
        try {
            $store->lock('errors', 1)->betweenBlockedAttemptsSleepFor(POLL_MS)->block(1);
            check(false, 'two have it');
        } catch (LockTimeoutException $late) {
        }
        check($held->get(fn () => true) === false, 'its owner took it twice');
        $held->release();
        $endless = $store->lock('errors', 0);
        check($endless->get() && $redis->pttl('cache:errors') === -1, 'a lock without a lease has one');
        check($endless->release(), 'not released');
    },
    'reconnect' => function () {
        $take = taking(store());
        $take('restart', FOREVER)();
        restart_server();
        $tries = 0;
        wait_until('a lock after a restart', function () use ($take, &$tries) {
            try {
                $take('after:' . ++$tries, FOREVER)();
                return true;
            } catch (RedisException $lost) {
                return false;
            }
        });
    },
]);
