// The module of the native core. Kernels run without the interpreter's lock.
#include "bindings/core.h"

#include "base/parallel.h"

using namespace penumbra;

NB_MODULE(PENUMBRA_MODULE, m) {
  m.doc() = "Penumbra's native core: rules, exact sets of states, and kernels over batches of information states.";
  nb::set_leak_warnings(false);  // objects that live until a worker process ends are no leaks
  m.attr("SENSE") = 0;
  m.attr("MOVE") = 1;
  m.attr("PASS") = kPassAction;
  m.attr("ACTIONS") = kActions;
  m.attr("CONTENTS") = kContents;
  m.attr("START_FEN") = kStartFen;
  m.def("threads", &threads, "Threads that kernels use.");
  m.def("set_threads", &set_threads, "n"_a);
  m.def(
      "perft", [](const std::string& fen, int depth, bool chess) { return perft(parse_fen(fen), depth, chess); },
      "fen"_a, "depth"_a, "chess"_a = false, nb::call_guard<nb::gil_scoped_release>(),
      "Sequences of taken moves: ordinary chess, or RBC with the pass, where a captured king ends a sequence.");
  bind_game(m);
  bind_state_set(m);
  bind_infostates(m);
  bind_static_analysis(m);
  bind_examples(m);
  bind_dsmcp(m);
  bind_particles(m);
  bind_engine(m);
  bind_game_batch(m);
  bind_game_fleet(m);
}
