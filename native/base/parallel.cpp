#include "base/parallel.h"

#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace penumbra {

namespace {

struct Job {
  Job(int tasks, const std::function<void(int)>& body) : n(tasks), task(body) {}

  // Takes tasks until none is left.
  void work() {
    for (int i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == n) {
        const std::lock_guard lock(mutex);
        finished.notify_all();
      }
    }
  }

  const int n;
  const std::function<void(int)>& task;
  std::atomic<int> next{0}, done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;
};

class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void offer(const std::shared_ptr<Job>& job, int helpers) {
    {
      const std::lock_guard lock(mutex_);
      while (static_cast<int>(workers_.size()) < helpers) workers_.emplace_back([this] { serve(); });
      for (int i = 0; i < helpers; ++i) jobs_.push_back(job);
    }
    helpers == 1 ? wake_.notify_one() : wake_.notify_all();
  }

 private:
  void serve() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job->work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::vector<std::thread> workers_;
  bool stopping_ = false;
};

std::mutex pool_mutex;
std::unique_ptr<Pool> pool;

// A forked child has none of its parent's threads: forget the pool, do not join it.
void forget_pool() { static_cast<void>(pool.release()); }

Pool& get_pool() {
  const std::lock_guard lock(pool_mutex);
  if (!pool) {
    static const int registered = pthread_atfork([] { pool_mutex.lock(); }, [] { pool_mutex.unlock(); },
                                                 [] {
                                                   pool_mutex.unlock();
                                                   forget_pool();
                                                 });
    static_cast<void>(registered);
    pool = std::make_unique<Pool>();
  }
  return *pool;
}

int default_threads() {
  if (const char* text = std::getenv("PENUMBRA_THREADS"))
    if (const int n = std::atoi(text); n > 0) return std::min(n, 1024);
#ifdef __linux__
  cpu_set_t usable;  // fewer than there are, where this process is kept on some of them
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(1, CPU_COUNT(&usable));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int> thread_count{0};

}  // namespace

int threads() {
  const int n = thread_count.load();
  return n > 0 ? n : default_threads();
}

void set_threads(int n) { thread_count = std::clamp(n, 1, 1024); }

void parallel_for(int n, const std::function<void(int)>& task) {
  const int helpers = std::min(threads(), n) - 1;
  if (helpers <= 0) {
    for (int i = 0; i < n; ++i) task(i);
    return;
  }
  const auto job = std::make_shared<Job>(n, task);
  get_pool().offer(job, helpers);
  job->work();
  std::unique_lock lock(job->mutex);
  job->finished.wait(lock, [&] { return job->done.load(std::memory_order_acquire) == n; });
  if (job->error) std::rethrow_exception(job->error);
}

}  // namespace penumbra
