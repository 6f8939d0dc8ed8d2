//! A lock by hand on redis-rs: SET NX PX, and the two scripts that everybody copies. A connection for each thread.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use redis::{
    Client, Connection, ConnectionLike, FromRedisValue, IntoConnectionInfo, ProtocolVersion, RedisResult, Script,
};

use crate::scenarios::*;

const RELEASE: &str =
    r#"if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end"#;
const EXTEND: &str =
    r#"if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end"#;

/// Asks anew after the connection has ended, as a pool would.
pub struct Driver {
    client: Client,
    connection: RefCell<Option<Connection>>,
}

impl Driver {
    pub fn open(protocol: ProtocolVersion, user: Option<(&str, &str)>, database: i64) -> Rc<Driver> {
        let address = addresses()[0].clone().into_connection_info().unwrap();
        let mut settings = address.redis_settings().clone().set_protocol(protocol).set_db(database);
        if let Some((name, password)) = user {
            settings = settings.set_username(name).set_password(password);
        }
        let client = Client::open(address.set_redis_settings(settings)).unwrap();
        Rc::new(Driver { client, connection: RefCell::new(None) })
    }

    pub fn plain() -> Rc<Driver> {
        Driver::open(ProtocolVersion::RESP2, None, 0)
    }

    fn on_connection<T>(&self, call: impl FnOnce(&mut Connection) -> RedisResult<T>) -> RedisResult<T> {
        let mut slot = self.connection.borrow_mut();
        let connection = match slot.take() {
            Some(connection) => slot.insert(connection),
            None => {
                let connection = slot.insert(self.client.get_connection()?);
                connection.set_read_timeout(Some(PATIENCE))?;
                connection
            }
        };
        let answer = call(connection);
        if !connection.is_open() || answer.as_ref().is_err_and(|error| error.is_io_error()) {
            *slot = None;
        }
        answer
    }

    pub fn command<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(word);
        });
        self.on_connection(|connection| command.query(connection))
    }

    pub fn exists(&self, key: &str) -> bool {
        self.command(&["EXISTS", key]).unwrap()
    }

    pub fn time_left(&self, key: &str) -> Duration {
        Duration::from_millis(self.command(&["PTTL", key]).unwrap())
    }

    /// By its SHA-1 first.
    fn script(&self, text: &str, key: &str, arguments: &[&str]) -> RedisResult<i64> {
        let script = Script::new(text);
        let mut call = script.key(key);
        arguments.iter().for_each(|one| {
            call.arg(one);
        });
        self.on_connection(|connection| call.invoke(connection))
    }
}

struct HandLock {
    on: Rc<Driver>,
    key: String,
    token: String,
}

impl HandLock {
    fn attempt(on: &Rc<Driver>, key: &str, lease: Duration) -> RedisResult<Option<HandLock>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let token = format!("{}:{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let won: Option<String> = on.command(&["SET", key, &token, "NX", "PX", &lease.as_millis().to_string()])?;
        Ok(won.map(|_| HandLock { on: on.clone(), key: key.to_string(), token }))
    }

    fn take(on: &Rc<Driver>, key: &str, lease: Duration) -> RedisResult<HandLock> {
        loop {
            if let Some(lock) = HandLock::attempt(on, key, lease)? {
                return Ok(lock);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn release(&self) -> RedisResult<i64> {
        self.on.script(RELEASE, &self.key, &[&self.token])
    }

    fn extend(&self, lease: Duration) -> RedisResult<i64> {
        self.on.script(EXTEND, &self.key, &[&self.token, &lease.as_millis().to_string()])
    }
}

fn taking() -> Take {
    let on = Driver::plain();
    Box::new(move |key, lease| {
        let lock = HandLock::take(&on, key, lease).unwrap();
        Box::new(move || assert_eq!(lock.release().unwrap(), 1, "not released"))
    })
}

fn acquire_release(on: &Rc<Driver>) {
    let lock = HandLock::attempt(on, "acquire", Duration::from_secs(10)).unwrap().expect("a free lock was refused");
    between(Duration::from_secs(9), Duration::from_secs(10), on.time_left("acquire"));
    assert_eq!(lock.release().unwrap(), 1, "not released");
    assert!(!on.exists("acquire"), "it is still there");
    assert_eq!(on.command::<redis::Value>(&["GET", "acquire"]).unwrap(), redis::Value::Nil);
}

fn fails_with<T: std::fmt::Debug>(words: &str, answer: RedisResult<T>) {
    let error = answer.expect_err(words).to_string();
    assert!(error.contains(words), "it says {error}");
}

pub fn usage_errors(client: &Rc<Driver>) {
    client.command::<i64>(&["RPUSH", "errors", "a list"]).unwrap();
    assert!(HandLock::attempt(client, "errors", Duration::from_secs(1)).unwrap().is_none(), "a lock that is a list");
    let wrong_type = "Operation against a key holding the wrong kind of value";
    fails_with(wrong_type, client.command::<String>(&["GET", "errors"]));
    fails_with(wrong_type, client.script(RELEASE, "errors", &["x"]));
    client.command::<i64>(&["DEL", "errors"]).unwrap();
    fails_with("invalid expire time in 'set' command", client.command::<()>(&["SET", "errors", "x", "NX", "PX", "0"]));
    fails_with("syntax error", client.command::<()>(&["SET", "errors", "x", "NX", "XX"]));
}

pub fn run_all() {
    let client = &Driver::plain();
    let seconds = Duration::from_secs;
    run(
        "redis-rs 1.8.1",
        vec![
            (
                "handshake",
                play(|| {
                    let (name, password) = user();
                    let one = Driver::open(ProtocolVersion::RESP3, Some((&name, &password)), 3);
                    one.command::<()>(&["CLIENT", "SETNAME", "suite"]).unwrap();
                    assert_eq!(one.command::<String>(&["CLIENT", "GETNAME"]).unwrap(), "suite");
                    let lock = HandLock::take(&one, "hello", seconds(10)).unwrap();
                    assert!(!client.exists("hello"), "another database has the same lock");
                    assert_eq!(lock.release().unwrap(), 1);
                }),
            ),
            ("acquire_release", play(|| acquire_release(client))),
            (
                "refused_while_held",
                play(|| {
                    let lock = HandLock::take(client, "refused", FOREVER).unwrap();
                    assert!(HandLock::attempt(client, "refused", FOREVER).unwrap().is_none(), "two have it");
                    assert_eq!(client.command::<String>(&["GET", "refused"]).unwrap(), lock.token, "it changed hands");
                    assert_eq!(lock.release().unwrap(), 1);
                }),
            ),
            ("wakes_on_release", tell(|| wakes_on_release(&taking) + ", polls every 20 ms")),
            (
                "extend",
                play(|| {
                    let lock = HandLock::take(client, "extend", seconds(10)).unwrap();
                    assert_eq!(lock.extend(seconds(100)).unwrap(), 1, "not extended");
                    between(seconds(90), seconds(100), client.time_left("extend"));
                    assert_eq!(lock.release().unwrap(), 1);
                    assert_eq!(lock.extend(seconds(1)).unwrap(), 0, "extended after its end");
                }),
            ),
            (
                "expiry_frees",
                play(|| {
                    HandLock::take(client, "expiry", Duration::from_millis(300)).unwrap();
                    let lock = HandLock::take(client, "expiry", FOREVER).unwrap();
                    assert_eq!(lock.release().unwrap(), 1);
                }),
            ),
            (
                "release_of_expired_or_foreign",
                play(|| {
                    let late = HandLock::take(client, "foreign", Duration::from_millis(300)).unwrap();
                    let lock = HandLock::take(client, "foreign", FOREVER).unwrap();
                    assert_eq!(late.release().unwrap(), 0, "released what is not its own");
                    assert_eq!(late.extend(seconds(1)).unwrap(), 0, "extended what is not its own");
                    assert_eq!(lock.release().unwrap(), 1, "it was taken away");
                }),
            ),
            ("reentrancy", Play::NotApplicable("a driver has no locks of its own; SET NX is not reentrant")),
            ("watchdog", Play::NotApplicable("a driver has no locks of its own")),
            ("counter", play(|| counter(&taking))),
            ("fairness", tell(|| fairness(&taking))),
            ("resp2", play(|| acquire_release(&Driver::open(ProtocolVersion::RESP2, None, 0)))),
            ("resp3", play(|| acquire_release(&Driver::open(ProtocolVersion::RESP3, None, 0)))),
            ("usage_errors", play(|| usage_errors(client))),
            (
                "reconnect",
                play(|| {
                    let before = HandLock::take(client, "restart", FOREVER).unwrap();
                    assert_eq!(before.release().unwrap(), 1);
                    restart_server();
                    let mut tries = 0;
                    wait_until("a lock after a restart", || {
                        tries += 1;
                        HandLock::take(client, &format!("after:{tries}"), FOREVER)
                            .and_then(|lock| lock.release())
                            .is_ok()
                    });
                }),
            ),
        ],
    );
}
