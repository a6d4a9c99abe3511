// The modules _int8_avx512 and _int8_avx2: networks quantized to int8. Whoever loads one has asked _cpu what the processor
// can do.
#include "network/int8_network.h"
#include "base/parallel.h"
#include "bindings/arrays.h"
#include "rbc/rules.h"
#include "rbc/synopsis.h"

using namespace penumbra;

namespace {

// The network knows no game: it has the numbers of planes and actions of its own.
static_assert(kBinary.bits == kPlanes && kBytePlanes == kShares && kFirstMove == kMoveBase && kPassMove == kPassAction);

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using Floats = Array<float>;

template <class T>
std::vector<T> copied(const Array<T>& array, std::size_t size, const char* what) {
  if (array.size() != size)
    throw std::invalid_argument(std::string(what) + " has " + std::to_string(array.size()) + " numbers, not " +
                                std::to_string(size));
  return {array.data(), array.data() + size};
}

// `channels` is at least `inputs`: what lies behind those has no weight.
Convolution convolution(const nb::tuple& parts, std::size_t inputs, std::size_t channels, std::size_t outputs,
                        std::size_t taps) {
  const auto given = copied(nb::cast<Array<std::int8_t>>(parts[0]), inputs * outputs * taps, "a convolution");
  std::vector<std::int8_t> weights(channels * outputs * taps);
  for (std::size_t output = 0; output < outputs; ++output)
    std::copy_n(&given[output * inputs * taps], inputs * taps, &weights[output * channels * taps]);
  return {pack(weights, static_cast<int>(channels), static_cast<int>(outputs), static_cast<int>(taps)),
          copied(nb::cast<Floats>(parts[1]), outputs, "a convolution's scale"),
          copied(nb::cast<Floats>(parts[2]), outputs, "a convolution's bias")};
}

Dense dense(const nb::tuple& parts, std::size_t width, std::size_t channels, std::size_t hidden) {
  return {copied(nb::cast<Floats>(parts[0]), width * channels, "a head"),
          copied(nb::cast<Floats>(parts[1]), channels, "a head"),
          copied(nb::cast<Floats>(parts[2]), 64 * channels * hidden, "a head"),
          copied(nb::cast<Floats>(parts[3]), hidden, "a head"),
          copied(nb::cast<Floats>(parts[4]), hidden, "a head"),
          nb::cast<float>(parts[5])};
}

}  // namespace

NB_MODULE(PENUMBRA_MODULE, m) {
  m.def("set_threads", &set_threads, "n"_a, "Threads that evaluate, the calling one included.");
  nb::class_<Int8Network>(m, "Network", "A tower, the policy of one headset and the value of another.")
      .def(
          "__init__",
          [](Int8Network* self, std::size_t width, int bits, int bytes, const nb::list& blocks, const Floats& policy,
             const Floats& policy_bias, const nb::tuple& pass, const nb::tuple& value) {
            if (width != 64 && width != 128)
              throw std::invalid_argument("a network of " + std::to_string(width) + " channels; it can have 64 or 128");
            const Inputs inputs{bits, bytes};
            if (inputs != kBinary && inputs != kShareInputs && inputs != kGraded)
              throw std::invalid_argument("a network of " + std::to_string(bits) + " planes of bits and " +
                                          std::to_string(bytes) + " of bytes is of no sort that the kernels know");
            if (blocks.size() < 2) throw std::invalid_argument("a network needs two blocks at least");
            Int8Network made;
            made.width = static_cast<int>(width);
            made.inputs = inputs;
            for (std::size_t i = 0; i < blocks.size(); ++i) {
              const auto parts = nb::cast<nb::tuple>(blocks[i]);
              Block block;
              const std::size_t planes = i == 0 ? inputs.planes() : width,
                                channels = i == 0 ? inputs.channels() : width;
              block.first = convolution(nb::cast<nb::tuple>(parts[0]), planes, channels, width, 9);
              block.second = convolution(nb::cast<nb::tuple>(parts[1]), width, width, width, 9);
              if (i == 0) {
                block.shortcut = convolution(nb::cast<nb::tuple>(parts[2]), planes, channels, width, 1);
              } else {
                block.residual_scale = nb::cast<float>(parts[2]);
              }
              made.tower.push_back(std::move(block));
            }
            made.policy_block = std::move(made.tower.back());
            made.tower.pop_back();
            made.policy = copied(policy, 65 * width, "the policy");
            made.policy_bias = copied(policy_bias, 65, "the policy's bias");
            made.pass = dense(pass, width, kPassChannels, kPassHidden);
            made.value = dense(value, width, kValueChannels, kValueHidden);
            new (self) Int8Network(std::move(made));
          },
          "width"_a, "bits"_a, "bytes"_a, "blocks"_a, "policy"_a, "policy_bias"_a, "pass_move"_a, "value"_a,
          nb::sig("def __init__(self, width: int, bits: int, bytes: int, blocks: list[typing.Any], "
                  "policy: numpy.typing.NDArray[numpy.float32], policy_bias: numpy.typing.NDArray[numpy.float32], "
                  "pass_move: tuple[typing.Any, ...], value: tuple[typing.Any, ...]) -> None"),
          "Numbers as penumbra.network.quantization.evaluator has them; the last block is the policy's.")
      .def(
          "evaluate",
          [](const Int8Network& self, nb::ndarray<const std::uint64_t, nb::ndim<2>, nb::c_contig> features,
             nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig> actions,
             nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig> offsets) {
            const std::size_t rows = features.shape(0), words = self.inputs.words();
            if (features.shape(1) != words)
              throw std::invalid_argument("features of " + std::to_string(features.shape(1)) +
                                          " words a row for a network that reads " + std::to_string(words));
            if (offsets.size() != rows + 1 || offsets.data()[0] != 0 ||
                offsets.data()[rows] != static_cast<std::int64_t>(actions.size()))
              throw std::invalid_argument("the offsets are not those of the rows and the actions");
            for (std::size_t i = 0; i < rows; ++i)
              if (offsets.data()[i] > offsets.data()[i + 1]) throw std::invalid_argument("the offsets do not rise");
            for (std::size_t i = 0; i < actions.size(); ++i)
              if (actions.data()[i] < 0 || actions.data()[i] > kPassMove)
                throw std::invalid_argument("there is no action " + std::to_string(actions.data()[i]));
            std::vector<float> priors(actions.size()), values(rows);
            if (rows) {
              const nb::gil_scoped_release release;
              self.evaluate({features.data(), rows * words}, {actions.data(), actions.size()},
                            {offsets.data(), rows + 1}, priors.data(), values.data());
            }
            return nb::make_tuple(to_numpy(std::move(priors)), to_numpy(std::move(values)));
          },
          "features"_a, "actions"_a, "offsets"_a,
          nb::sig("def evaluate(self, features: numpy.typing.NDArray[numpy.uint64], "
                  "actions: numpy.typing.NDArray[numpy.int32], offsets: numpy.typing.NDArray[numpy.int64]) -> "
                  "tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32]]"),
          "Priors along the legal actions of each row, and values from -1 to 1.");
}
