#include "bench/micro/allocations.hh"

#include <cstdlib>
#include <new>

namespace {

std::uint64_t counted = 0;

void* checked(void* memory) {
    ++counted;
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

namespace lockkeeper::bench {

std::uint64_t allocations() {
    return counted;
}

}  // namespace lockkeeper::bench

// The other forms, for arrays and without exceptions, end in these.

void* operator new(std::size_t size) {
    return checked(std::malloc(size == 0 ? 1 : size));
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto step = static_cast<std::size_t>(alignment);
    // A whole number of steps, at least one.
    return checked(std::aligned_alloc(step, (size == 0 ? step : size + step - 1) / step * step));
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
