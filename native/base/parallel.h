// Splits work into numbered tasks and runs them on all cores. What a task does may depend on its number only, never on
// the thread it runs on, so results are the same for any number of threads.
#pragma once

#include <functional>

namespace penumbra {

// Threads used by `parallel_for`, the calling one included. The default is the number of cores
// that the process may use, or PENUMBRA_THREADS.
int threads();
void set_threads(int n);

// Runs task(0) .. task(n - 1) and returns when all are done. May be called from several threads at once. The first
// exception thrown by a task is thrown again here. Worker threads start at the first call that needs them, never at
// load time, and a forked child starts its own.
void parallel_for(int n, const std::function<void(int)>& task);

}  // namespace penumbra
