#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <seastar/core/future.hh>
#include <string>
#include <vector>

namespace lockkeeper::tests {

namespace ss = seastar;

/// A folder below the system's temporary one, gone at the end.
class scratch_folder {
public:
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::filesystem::path& path() const { return _path; }

private:
    std::filesystem::path _path;
};

/// Runs a command to its end, for setting things up; throws if it fails. It blocks.
void run_command(std::vector<std::string> arguments);

/// A real redis-server as a child process, on a free loopback port, without files. It dies with the
/// test.
class redis_process {
public:
    /// `options` as on the command line, as in {"--requirepass", "x"}.
    explicit redis_process(std::vector<std::string> options = {});
    ~redis_process();
    redis_process(const redis_process&) = delete;
    redis_process& operator=(const redis_process&) = delete;

    /// Until it accepts connections. Again after kill(): another life on the same port.
    ss::future<> start();
    uint16_t port() const { return _port; }

    void freeze();
    void thaw();
    /// kill -9, and until it is gone.
    ss::future<> kill();

private:
    void spawn();
    bool has_exited();
    ss::future<bool> accepts();

    uint16_t _port;
    std::vector<std::string> _options;
    scratch_folder _folder;
    pid_t _pid = -1;
};

}  // namespace lockkeeper::tests
