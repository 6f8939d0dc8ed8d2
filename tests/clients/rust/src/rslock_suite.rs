//! rslock on redis-rs and tokio, over one server and over three. Threads share one manager.

use std::sync::OnceLock;
use std::time::Duration;

use redis::{Client, IntoConnectionInfo, ProtocolVersion};
use rslock::{Lock, LockError, LockManager};
use tokio::runtime::Runtime;

use crate::redis_rs::{usage_errors, Driver};
use crate::scenarios::*;

/// rslock waits half a second for an answer and cannot know then whether it has the lock: should a slow machine ever
/// cost it one, that must end.
const LONG: Duration = Duration::from_secs(60);
const ON_WATCH: Duration = Duration::from_millis(1500);

fn runtime() -> &'static Runtime {
    static ONLY: OnceLock<Runtime> = OnceLock::new();
    ONLY.get_or_init(|| Runtime::new().unwrap())
}

fn manager_of(addresses: Vec<(String, u16)>, protocol: ProtocolVersion, database: i64) -> LockManager {
    let clients = addresses.into_iter().map(|one| {
        let address = one.into_connection_info().unwrap();
        let settings = address.redis_settings().clone().set_protocol(protocol).set_db(database);
        let settings = settings.set_username(user().0).set_password(user().1);
        Client::open(address.set_redis_settings(settings)).unwrap()
    });
    let mut manager = LockManager::from_clients(clients.collect());
    manager.set_retry(1, Duration::from_millis(20));
    manager
}

fn plain() -> LockManager {
    manager_of(addresses()[..1].to_vec(), ProtocolVersion::RESP2, 0)
}

/// As often as it takes: up to 20 ms between two attempts.
fn take(manager: &LockManager, key: &str, lease: Duration) -> Lock {
    let mut patient = manager.clone();
    patient.set_retry(u32::MAX, Duration::from_millis(20));
    runtime().block_on(patient.acquire_no_guard(key.as_bytes(), lease)).unwrap()
}

fn attempt(manager: &LockManager, key: &str, lease: Duration) -> Result<Lock, LockError> {
    runtime().block_on(manager.lock(key.as_bytes(), lease))
}

fn release(lock: Lock) {
    runtime().block_on(lock.release());
}

fn taking() -> Take {
    static SHARED: OnceLock<LockManager> = OnceLock::new();
    let manager = SHARED.get_or_init(plain);
    Box::new(move |key, lease| {
        let lock = take(manager, key, lease.min(LONG));
        Box::new(move || release(lock))
    })
}

fn acquire_release(manager: &LockManager, client: &Driver) {
    let lock = attempt(manager, "acquire", Duration::from_secs(10)).expect("a free lock was refused");
    between(Duration::from_secs(9), Duration::from_secs(10), client.time_left("acquire"));
    assert_eq!(client.command::<Vec<u8>>(&["GET", "acquire"]).unwrap(), lock.val, "it has another value");
    release(lock);
    assert!(!client.exists("acquire"), "it is still there");
}

pub fn run_all() {
    let manager = &plain();
    if let Some(key) = holder_key() {
        let held = manager.using(key.as_bytes(), ON_WATCH, async || tokio::task::spawn_blocking(hold).await);
        let _ = runtime().block_on(held);
        return;
    }
    let client = &Driver::plain();
    let seconds = Duration::from_secs;
    run(
        "rslock 0.10.0",
        vec![
            (
                "handshake",
                play(|| {
                    let one = manager_of(addresses()[..1].to_vec(), ProtocolVersion::RESP3, 3);
                    let lock = take(&one, "hello", seconds(10));
                    assert!(!client.exists("hello"), "another database has the same lock");
                    release(lock);
                }),
            ),
            ("acquire_release", play(|| acquire_release(manager, client))),
            (
                "refused_while_held",
                play(|| {
                    let lock = take(manager, "refused", LONG);
                    let error = attempt(manager, "refused", LONG).expect_err("two have it");
                    assert!(matches!(error, LockError::Unavailable), "it says {error}");
                    assert_eq!(client.command::<Vec<u8>>(&["GET", "refused"]).unwrap(), lock.val, "it changed hands");
                    release(lock);
                }),
            ),
            ("wakes_on_release", tell(|| wakes_on_release(&taking) + ", polls every 0 to 20 ms")),
            (
                "extend",
                play(|| {
                    let lock = take(manager, "extend", seconds(10));
                    let longer = runtime().block_on(manager.extend(&lock, seconds(100))).expect("not extended");
                    assert_eq!(longer.val, lock.val);
                    between(seconds(90), seconds(100), client.time_left("extend"));
                    release(longer);
                    runtime().block_on(manager.extend(&lock, seconds(1))).expect_err("extended after its end");
                }),
            ),
            (
                "expiry_frees",
                play(|| {
                    client.command::<()>(&["SET", "expiry", "somebody", "PX", "300"]).unwrap();
                    release(take(manager, "expiry", LONG));
                }),
            ),
            (
                "release_of_expired_or_foreign",
                tell(|| {
                    let late = take(manager, "foreign", LONG);
                    client.command::<i64>(&["PEXPIRE", "foreign", "1"]).unwrap();
                    let lock = take(manager, "foreign", LONG);
                    let error =
                        runtime().block_on(manager.extend(&late, LONG)).expect_err("extended what is not its own");
                    let whose = runtime().block_on(manager.is_freed(&late));
                    assert!(matches!(whose, Err(LockError::RedisKeyMismatch)), "it says {whose:?}");
                    release(late);
                    assert_eq!(client.command::<Vec<u8>>(&["GET", "foreign"]).unwrap(), lock.val, "it was taken away");
                    release(lock);
                    format!("extend: {error}; a release says nothing")
                }),
            ),
            ("reentrancy", Play::NotApplicable("a Lock is not reentrant")),
            (
                "watchdog",
                play(|| {
                    let holder = Holder::start("watchdog");
                    outlives(ON_WATCH, || client.exists("watchdog"));
                    holder.kill();
                    release(take(manager, "watchdog", LONG));
                }),
            ),
            ("counter", play(|| counter(&taking))),
            ("fairness", tell(|| fairness(&taking))),
            ("resp2", play(|| acquire_release(&plain(), client))),
            (
                "resp3",
                play(|| acquire_release(&manager_of(addresses()[..1].to_vec(), ProtocolVersion::RESP3, 0), client)),
            ),
            (
                "usage_errors",
                play(|| {
                    client.command::<i64>(&["RPUSH", "errors", "a list"]).unwrap();
                    attempt(manager, "errors", LONG).expect_err("a lock that is a list");
                    client.command::<i64>(&["DEL", "errors"]).unwrap();
                    attempt(manager, "errors", Duration::ZERO).expect_err("a lock without a lease");
                    assert!(!client.exists("errors"));
                    usage_errors(client);
                }),
            ),
            (
                "quorum_of_three",
                play(|| {
                    let all = manager_of(addresses(), ProtocolVersion::RESP2, 0);
                    let lock = take(&all, "quorum", LONG);
                    attempt(&all, "quorum", LONG).expect_err("two have it");
                    release(lock);
                    // A minority that somebody else has does not matter.
                    client.command::<()>(&["SET", "quorum", "somebody"]).unwrap();
                    let lock = take(&all, "quorum", LONG);
                    release(lock);
                    assert_eq!(client.command::<String>(&["GET", "quorum"]).unwrap(), "somebody", "it was taken away");
                }),
            ),
            (
                "reconnect",
                play(|| {
                    release(take(manager, "restart", LONG));
                    restart_server();
                    let mut lock = None;
                    wait_until("a lock after a restart", || {
                        lock = attempt(manager, "after", LONG).ok();
                        lock.is_some()
                    });
                    release(lock.unwrap());
                }),
            ),
        ],
    );
}
