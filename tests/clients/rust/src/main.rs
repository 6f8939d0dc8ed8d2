mod redis_rs;
mod rslock_suite;
mod scenarios;

fn main() {
    match scenarios::setting("LOCK_VARIANT", "").as_str() {
        "redis-rs" => redis_rs::run_all(),
        "rslock" => rslock_suite::run_all(),
        other => panic!("no such variant: {other}"),
    }
}
