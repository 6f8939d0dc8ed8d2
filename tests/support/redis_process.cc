#include "tests/support/redis_process.hh"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <seastar/core/coroutine.hh>
#include <seastar/core/seastar.hh>
#include <seastar/core/sleep.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/api.hh>
#include <seastar/net/inet_address.hh>
#include <stdexcept>

#include "tests/support/free_port.hh"

extern char** environ;

namespace lockkeeper::tests {

namespace {

using namespace std::chrono_literals;

/// A start on a busy machine may take seconds.
constexpr auto patience = 60s;
constexpr auto between_looks = 2ms;

/// Without the signal mask and handlers of the reactor, and without its output.
pid_t spawn_process(std::vector<std::string> arguments) {
    std::vector<char*> words;
    for (std::string& argument : arguments) {
        words.push_back(argument.data());
    }
    words.push_back(nullptr);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

    pid_t pid = -1;
    const int problem =
        posix_spawnp(&pid, words.front(), &files, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (problem != 0) {
        throw std::system_error(problem, std::system_category(), arguments.front());
    }
    return pid;
}

}  // namespace

scratch_folder::scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lockkeeper-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::system_error(errno, std::system_category(), name);
    }
    _path = name;
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(_path, ignored);
}

void run_command(std::vector<std::string> arguments) {
    const std::string name = arguments.front();
    const pid_t pid = spawn_process(std::move(arguments));
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw std::runtime_error(name + " failed");
    }
}

redis_process::redis_process(std::vector<std::string> options)
    : _port(free_port()), _options(std::move(options)) {}

redis_process::~redis_process() {
    if (_pid > 0) {
        ::kill(_pid, SIGKILL);
        waitpid(_pid, nullptr, 0);
    }
}

void redis_process::spawn() {
    // setpriv: a test that crashes takes its servers along.
    std::vector<std::string> arguments = {"setpriv",
                                          "--pdeathsig",
                                          "KILL",
                                          "redis-server",
                                          "--port",
                                          std::to_string(_port),
                                          "--bind",
                                          "127.0.0.1",
                                          "--save",
                                          "",
                                          "--appendonly",
                                          "no",
                                          "--dir",
                                          _folder.path().string(),
                                          "--enable-debug-command",
                                          "yes"};
    arguments.insert(arguments.end(), _options.begin(), _options.end());
    _pid = spawn_process(std::move(arguments));
}

bool redis_process::has_exited() {
    if (waitpid(_pid, nullptr, WNOHANG) == _pid) {
        _pid = -1;
        return true;
    }
    return false;
}

ss::future<bool> redis_process::accepts() {
    const ss::socket_address where(ss::net::inet_address("127.0.0.1"), _port);
    auto connected = co_await ss::coroutine::as_future(ss::connect(where));
    const bool works = !connected.failed();
    if (works) {
        connected.get();
    } else {
        connected.ignore_ready_future();
    }
    co_return works;
}

ss::future<> redis_process::start() {
    spawn();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!co_await accepts()) {
        if (has_exited()) {
            throw std::runtime_error("redis-server did not start: is it installed?");
        }
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error("redis-server does not accept connections");
        }
        co_await ss::sleep(between_looks);
    }
}

void redis_process::freeze() {
    ::kill(_pid, SIGSTOP);
}

void redis_process::thaw() {
    ::kill(_pid, SIGCONT);
}

ss::future<> redis_process::kill() {
    ::kill(_pid, SIGKILL);
    while (!has_exited()) {
        co_await ss::sleep(between_looks);
    }
}

}  // namespace lockkeeper::tests
