//! What the suites in Rust share: where the server is, how an outcome is told, workers, processes that die.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::panic::{self, AssertUnwindSafe};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; only something broken takes it.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Nobody has a lock of this lease for any other reason than its release.
pub const FOREVER: Duration = Duration::from_secs(3600);
const WORKERS: usize = 50;

pub type Release = Box<dyn FnOnce()>;
/// Waits for a lock and gives its release.
pub type Take = Box<dyn Fn(&str, Duration) -> Release>;
/// Connects anew; every thread does so once.
pub type Open<'a> = &'a (dyn Fn() -> Take + Sync);

pub enum Play<'a> {
    /// Panics when it fails, and may say what it saw, to stand in the report.
    Scenario(Box<dyn Fn() -> String + 'a>),
    /// The library has no call for it, and why.
    NotApplicable(&'static str),
}

pub fn play<'a>(what: impl Fn() + 'a) -> Play<'a> {
    tell(move || {
        what();
        String::new()
    })
}

pub fn tell<'a>(what: impl Fn() -> String + 'a) -> Play<'a> {
    Play::Scenario(Box::new(what))
}

pub fn setting(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_string())
}

/// Somebody who needs a password, on every server; who does not log in may do everything as well.
pub fn user() -> (String, String) {
    (setting("LOCK_USER", "default"), setting("LOCK_PASSWORD", "any"))
}

pub fn addresses() -> Vec<(String, u16)> {
    let host = setting("LOCK_HOST", "127.0.0.1");
    let ports = setting("LOCK_PORTS", &setting("LOCK_PORT", ""));
    ports.split(',').map(|port| (host.clone(), port.parse().expect("LOCK_PORTS"))).collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub fn run(version: &str, scenarios: Vec<(&str, Play)>) {
    static TROUBLE: Mutex<String> = Mutex::new(String::new());
    // The first panic is the cause; those of threads come on the way of the one that waits for them.
    panic::set_hook(Box::new(|info| {
        let mut trouble = TROUBLE.lock().unwrap();
        if trouble.is_empty() {
            *trouble = info.to_string();
        }
    }));
    println!("{{\"version\": {}}}", quoted(version));
    let only = env::var("LOCK_ONLY").ok(); // for those who look into one of them
    for (name, play) in scenarios {
        if only.as_ref().is_some_and(|only| !only.split(',').any(|one| one == name)) {
            continue;
        }
        let (outcome, reason) = match play {
            Play::NotApplicable(why) => ("na", why.to_string()),
            Play::Scenario(function) => {
                TROUBLE.lock().unwrap().clear();
                match panic::catch_unwind(AssertUnwindSafe(|| function())) {
                    Ok(saw) => ("pass", saw),
                    Err(_) => ("fail", TROUBLE.lock().unwrap().clone()),
                }
            }
        };
        println!("{{\"scenario\": \"{name}\", \"outcome\": \"{outcome}\", \"reason\": {}}}", quoted(&reason));
    }
}

pub fn between(low: Duration, high: Duration, seen: Duration) {
    assert!(low <= seen && seen <= high, "expected {low:?} to {high:?}, saw {seen:?}");
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "not in time: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

pub fn restart_server() {
    let port = setting("LOCK_CONTROL", "").parse().expect("LOCK_CONTROL");
    let mut control = TcpStream::connect(("127.0.0.1", port)).unwrap();
    control.write_all(b"restart\n").unwrap();
    let mut answer = String::new();
    BufReader::new(control).read_line(&mut answer).unwrap();
    assert_eq!(answer, "done\n", "the server could not be restarted");
}

/// Runs the function so many times at once, and panics if one of them did.
fn in_threads(count: usize, work: impl Fn(usize) + Sync) {
    thread::scope(|all| {
        for me in 0..count {
            let work = &work;
            all.spawn(move || work(me));
        }
    });
}

pub fn counter(open: Open) {
    let increments: u32 = setting("LOCK_INCREMENTS", "200").parse().unwrap();
    // Each load and store is atomic, what is done between them is not.
    let count = AtomicU32::new(0);
    in_threads(WORKERS, |_| {
        let take = open();
        for _ in 0..increments {
            let release = take("counter", FOREVER);
            let seen = count.load(Ordering::Relaxed);
            thread::yield_now(); // another thread may run
            count.store(seen + 1, Ordering::Relaxed);
            release();
        }
    });
    assert_eq!(count.into_inner(), WORKERS as u32 * increments);
}

pub fn fairness(open: Open) -> String {
    let turns: [AtomicU32; 5] = Default::default();
    let hungry = || turns.iter().any(|one| one.load(Ordering::Relaxed) < 5);
    in_threads(turns.len(), |me| {
        let take = open();
        while hungry() {
            let release = take("fair", FOREVER);
            turns[me].fetch_add(1, Ordering::Relaxed);
            release();
            thread::sleep(Duration::from_millis(1));
        }
    });
    format!("turns until everybody had 5: {turns:?}")
}

pub fn wakes_on_release(open: Open) -> String {
    let release = open()("wakes", FOREVER);
    let woken = Mutex::new(None);
    let released = thread::scope(|all| {
        all.spawn(|| {
            let other = open()("wakes", FOREVER);
            *woken.lock().unwrap() = Some(Instant::now());
            other();
        });
        thread::sleep(Duration::from_millis(500)); // it has asked a few times by now
        assert!(woken.lock().unwrap().is_none(), "two have it");
        release();
        Instant::now()
    });
    let woken = woken.into_inner().unwrap().expect("it never had it");
    format!("{} ms", woken.saturating_duration_since(released).as_millis())
}

/// Another process of this suite, which takes the lock `key`, says so, and keeps it until it is killed.
pub struct Holder(Child);

impl Holder {
    pub fn start(key: &str) -> Holder {
        let program = env::current_exe().unwrap();
        let mut child = Command::new(program).args(["hold", key]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Holder(child)
    }

    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The lock that this process is to hold.
pub fn holder_key() -> Option<String> {
    let mut arguments = env::args().skip(1);
    (arguments.next()? == "hold").then(|| arguments.next())?
}

pub fn hold() {
    println!("held");
    thread::sleep(FOREVER);
}

/// Looks again and again whether `taken()` still holds, for longer than three leases.
pub fn outlives(lease: Duration, mut taken: impl FnMut() -> bool) {
    let end = Instant::now() + 3 * lease + Duration::from_millis(500);
    while Instant::now() < end {
        assert!(taken(), "it was lost while its process lived");
        thread::sleep(Duration::from_millis(50));
    }
}
