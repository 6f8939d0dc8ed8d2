// Preloaded into a redis-server: its wall clock is off by as many milliseconds as the file says
// that STEPPED_CLOCK names, eight bytes, which a test changes while the server runs. Other clocks
// are left alone. It asks the kernel itself: the server's allocator wants the time before any
// library is ready.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const volatile int64_t* open_offset() {
    const char* const path = getenv("STEPPED_CLOCK");
    const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return nullptr;
    }
    void* const memory = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return memory != MAP_FAILED ? static_cast<const volatile int64_t*>(memory) : nullptr;
}

const volatile int64_t* offset = nullptr;

[[gnu::constructor]] void begin() {
    offset = open_offset();
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* now) noexcept {
    const int result = static_cast<int>(syscall(SYS_clock_gettime, which, now));
    const bool is_wall = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
    if (result == 0 && is_wall && offset != nullptr) {
        const int64_t by = *offset;
        const int64_t nanoseconds = now->tv_nsec + by % 1000 * 1'000'000;
        // Rounded down, whatever the sign.
        const int64_t carry = nanoseconds < 0 ? -1 : nanoseconds / 1'000'000'000;
        now->tv_sec += by / 1000 + carry;
        now->tv_nsec = nanoseconds - carry * 1'000'000'000;
    }
    return result;
}

int gettimeofday(timeval* now, void*) noexcept {
    timespec fine{};
    const int result = clock_gettime(CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return result;
}

time_t time(time_t* told) noexcept {
    timespec fine{};
    clock_gettime(CLOCK_REALTIME, &fine);
    if (told != nullptr) {
        *told = fine.tv_sec;
    }
    return fine.tv_sec;
}
}
