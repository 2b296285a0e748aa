// A fixed crew of threads that share out numbered items. Which worker takes an item is left to chance, so what an item
// computes must not depend on it. Between jobs a worker spins for some microseconds and then sleeps.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Workers {
public:
    explicit Workers(int count);  // count >= 1; the caller of run() is one of them
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    int count() const { return (int)threads_.size() + 1; }

    // Calls job(item, worker) once for every item in [0, items) and returns when all have been done.
    void run(int items, const std::function<void(int item, int worker)>& job);

private:
    void serve(int worker);
    void take_items(int worker);

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(int, int)>* job_ = nullptr;
    int items_ = 0;
    // Each on a cache line of its own: they are written by different threads at the same time.
    alignas(64) std::atomic<unsigned> generation_{0};  // counts jobs; a change is the call to work
    alignas(64) std::atomic<int> next_{0};
    alignas(64) std::atomic<int> busy_{0};  // threads that have not finished the present job
    alignas(64) std::atomic<bool> stop_{false};
};
