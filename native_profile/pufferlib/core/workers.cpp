#include "workers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int SPINS = 4000;  // some tens of microseconds: longer than the gap between two jobs of an update

inline void pause_briefly() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

}  // namespace

Workers::Workers(int count) {
    threads_.reserve((size_t)(count > 1 ? count - 1 : 0));
    for (int i = 1; i < count; ++i) threads_.emplace_back([this, i] { serve(i); });
}

Workers::~Workers() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stop_.store(true, std::memory_order_relaxed);
        generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
}

void Workers::take_items(int worker) {
    for (int item = next_.fetch_add(1, std::memory_order_relaxed); item < items_;
         item = next_.fetch_add(1, std::memory_order_relaxed))
        (*job_)(item, worker);
}

void Workers::run(int items, const std::function<void(int, int)>& job) {
    if (threads_.empty() || items <= 1) {
        for (int i = 0; i < items; ++i) job(i, 0);
        return;
    }
    {
        std::lock_guard<std::mutex> lock(mutex_);
        job_ = &job;
        items_ = items;
        next_.store(0, std::memory_order_relaxed);
        busy_.store((int)threads_.size(), std::memory_order_relaxed);
        generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    take_items(0);
    for (int spin = 0; spin < SPINS; ++spin) {
        if (busy_.load(std::memory_order_acquire) == 0) return;
        pause_briefly();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return busy_.load(std::memory_order_acquire) == 0; });
}

void Workers::serve(int worker) {
    unsigned seen = 0;
    for (;;) {
        for (int spin = 0; spin < SPINS && generation_.load(std::memory_order_acquire) == seen; ++spin) pause_briefly();
        if (generation_.load(std::memory_order_acquire) == seen) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
        }
        seen = generation_.load(std::memory_order_acquire);
        if (stop_.load(std::memory_order_relaxed)) return;
        take_items(worker);
        if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::lock_guard<std::mutex> lock(mutex_);
            done_.notify_one();
        }
    }
}
