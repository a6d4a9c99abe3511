// A weight of the evaluation.
#pragma once

namespace penumbra {

struct Weight {
  int middle = 0, end = 0;  // in the middle game and in the endgame

  Weight& operator+=(const Weight& other) {
    middle += other.middle;
    end += other.end;
    return *this;
  }
};

constexpr Weight operator*(const Weight& weight, int n) { return {weight.middle * n, weight.end * n}; }

}  // namespace penumbra
