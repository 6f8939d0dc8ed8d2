#include "shards/fence_ceiling.hh"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <seastar/core/align.hh>
#include <seastar/core/coroutine.hh>
#include <seastar/core/file.hh>
#include <seastar/core/seastar.hh>
#include <seastar/core/smp.hh>
#include <seastar/util/log.hh>
#include <stdexcept>
#include <system_error>

#include "shards/background.hh"
#include "shards/core/fence_record.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

ss::logger log("fences");

/// A record has one line.
constexpr size_t file_bytes_max = 256;

/// After a failure: a full disk does not get better faster, and says so in the log each time.
constexpr auto retry_pause = 1s;

std::string file_in(const std::string& folder) {
    return folder + "/fence-ceiling";
}

std::runtime_error unusable(const std::string& folder, std::string_view why) {
    return std::runtime_error(
        fmt::format("embedded.state: the folder {} cannot be used: {}", folder, why));
}

bool is_missing(const std::system_error& problem) {
    return problem.code() == std::errc::no_such_file_or_directory;
}

}  // namespace

uint64_t wall_clock_seconds() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(since_1970).count()));
}

ss::future<uint64_t> fence_ceiling::start(std::string folder, uint64_t unix_seconds) {
    const uint64_t by_clock = fences_by_clock(unix_seconds);
    if (by_clock >= fence_limit) {
        throw std::runtime_error(
            "the wall clock says that it is after the year 2242, too late for fences; set it");
    }
    if (folder.empty()) {
        _ceiling = fence_limit;
        co_return by_clock;
    }
    _folder = std::move(folder);
    lock_folder();
    std::optional<uint64_t> before;
    try {
        before = co_await read_file();
    } catch (const std::system_error& problem) {
        throw unusable(_folder, problem.code().message());
    }
    const uint64_t floor = std::max(before.value_or(0), by_clock);
    if (before > by_clock) {
        log.info("fences go on above {}, which is ahead of the wall clock", floor);
    }
    _ceiling = floor;
    try {
        co_await raise(floor + fence_block);
    } catch (const std::system_error& problem) {
        throw unusable(_folder, problem.code().message());
    }
    co_return floor;
}

ss::future<> fence_ceiling::stop() {
    co_await _gate.close();
    _lock.reset();
}

ss::future<uint64_t> fence_ceiling::raise(uint64_t wanted) {
    assert(ss::this_shard_id() == 0);
    const auto holder = _gate.hold();
    const auto turn = co_await ss::get_units(_writing, 1);
    // Another core's wish may have raised it while this one waited.
    if (wanted <= _ceiling || _ceiling == fence_limit) {
        co_return _ceiling;
    }
    const uint64_t next = std::min(std::max(wanted, _ceiling + fence_block), fence_limit);
    co_await write_file(next);
    _ceiling = next;
    co_return _ceiling;
}

/// At start only, so these calls may take their time. The lock goes with the process, however that
/// ends.
void fence_ceiling::lock_folder() {
    const std::string path = file_in(_folder) + ".lock";
    const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (opened < 0) {
        throw unusable(_folder, std::strerror(errno));
    }
    _lock = ss::file_desc::from_fd(opened);
    if (::flock(opened, LOCK_EX | LOCK_NB) == 0) {
        return;
    }
    const int problem = errno;
    _lock.reset();
    throw unusable(_folder, problem == EWOULDBLOCK
                                ? "another server uses it; give each a folder of its own"
                                : std::strerror(problem));
}

ss::future<std::optional<uint64_t>> fence_ceiling::read_file() {
    const std::string path = file_in(_folder);
    ss::file file;
    try {
        file = co_await ss::open_file_dma(path, ss::open_flags::ro);
    } catch (const std::system_error& problem) {
        if (is_missing(problem)) {
            co_return std::nullopt;
        }
        throw;
    }
    std::exception_ptr failure;
    ss::temporary_buffer<char> bytes;
    try {
        bytes = co_await file.dma_read_bulk<char>(0, file_bytes_max);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await file.close();
    if (failure) {
        std::rethrow_exception(failure);
    }
    const auto ceiling = parse_fence_record({bytes.get(), bytes.size()});
    if (!ceiling) {
        throw std::runtime_error(fmt::format(
            "{} is damaged ({}): it is not known which fences were given. Restore it, or remove it "
            "if they may go on from the wall clock",
            path, ceiling.error()));
    }
    co_return *ceiling;
}

/// A file beside it that is whole and on the disk takes its name: whenever the machine stops, the
/// name leads to a whole record. The new one counts once the folder is on the disk too.
ss::future<> fence_ceiling::write_file(uint64_t ceiling) {
    const std::string path = file_in(_folder);
    const std::string fresh = path + ".new";
    const std::string text = show_fence_record(ceiling);
    ss::file file = co_await ss::open_file_dma(
        fresh, ss::open_flags::wo | ss::open_flags::create | ss::open_flags::truncate);
    std::exception_ptr failure;
    try {
        const size_t bytes = ss::align_up<size_t>(text.size(), file.disk_write_dma_alignment());
        auto buffer = ss::temporary_buffer<char>::aligned(file.memory_dma_alignment(), bytes);
        std::ranges::fill(buffer.get_write(), buffer.get_write() + bytes, '\0');
        std::ranges::copy(text, buffer.get_write());
        const size_t written = co_await file.dma_write(0, buffer.get(), bytes);
        if (written != bytes) {
            throw std::system_error(ENOSPC, std::generic_category(), fresh);
        }
        co_await file.truncate(text.size());
        co_await file.flush();
    } catch (...) {
        failure = std::current_exception();
    }
    co_await file.close();
    if (failure) {
        std::rethrow_exception(failure);
    }
    co_await ss::rename_file(fresh, path);
    co_await ss::sync_directory(_folder);
}

void fence_supply::look() {
    const bool is_last_block = _fences.last() + _fences.left() == fence_limit;
    if (_fences.left() >= fence_block / 2 || is_last_block || _is_asking || _gate.is_closed() ||
        ss::lowres_clock::now() < _not_before) {
        return;
    }
    _is_asking = true;
    background(_gate, log, "raise fences", [this] { return ask(); });
}

ss::future<> fence_supply::ask() {
    const uint64_t wanted = std::min(_fences.last() + fence_block, fence_limit);
    try {
        _fences.raise_limit(co_await ss::smp::submit_to(
            0, [&ceiling = _ceiling, wanted] { return ceiling.raise(wanted); }));
    } catch (const std::exception& problem) {
        _not_before = ss::lowres_clock::now() + retry_pause;
        log.error("no more fences can be written down: {}; after {} more no lock can be given",
                  problem.what(), _fences.left());
    }
    _is_asking = false;
}

ss::future<> fence_supply::stop() {
    return _gate.close();
}

}  // namespace lockkeeper::shards
