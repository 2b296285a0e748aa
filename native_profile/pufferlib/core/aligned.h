// Zeroed memory aligned for the widest vectors, owned by an object.
#pragma once
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

class AlignedMemory {
public:
    AlignedMemory() = default;
    explicit AlignedMemory(size_t bytes) : bytes_((bytes + 63) / 64 * 64) {
        if (bytes_ == 0) bytes_ = 64;
        data_ = std::aligned_alloc(64, bytes_);
        if (!data_) throw std::bad_alloc();
        std::memset(data_, 0, bytes_);
    }
    AlignedMemory(AlignedMemory&& other) noexcept { *this = std::move(other); }
    AlignedMemory& operator=(AlignedMemory&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    AlignedMemory(const AlignedMemory&) = delete;
    AlignedMemory& operator=(const AlignedMemory&) = delete;
    ~AlignedMemory() { std::free(data_); }

    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

// Cuts one block of memory into aligned arrays: first measure with a null base, then hand out.
class Carver {
public:
    explicit Carver(void* base) : base_(static_cast<char*>(base)) {}
    template <class T>
    T* take(size_t count) {
        T* p = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
        used_ += (count * sizeof(T) + 63) / 64 * 64;
        return p;
    }
    size_t used() const { return used_; }

private:
    char* base_;
    size_t used_ = 0;
};
