// A vector register of floats: 16 with AVX-512, 8 with AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace penumbra {

#ifdef __AVX512F__

using Lanes = __m512;
constexpr int kLanes = 16;

inline Lanes zeros() { return _mm512_setzero_ps(); }
inline Lanes broadcast(float x) { return _mm512_set1_ps(x); }
inline Lanes load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Lanes x) { _mm512_storeu_ps(to, x); }
inline Lanes add(Lanes a, Lanes b) { return _mm512_add_ps(a, b); }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
inline Lanes relu(Lanes x) { return _mm512_max_ps(x, zeros()); }
inline float sum(Lanes x) { return _mm512_reduce_add_ps(x); }

template <class Whole>
inline Lanes to_floats(Whole x) {
  return _mm512_cvtepi32_ps(reinterpret_cast<__m512i>(x));
}

// Twice as many bytes as there are lanes, in 16 bits each.
inline __m512i widen_bytes(const std::uint8_t* from) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

inline Lanes load_bytes(const std::uint8_t* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

// Negative values become 0, those past 255 become 255.
inline void store_bytes(std::uint8_t* to, Lanes x) {
  const __m512i whole = _mm512_cvtps_epi32(relu(x));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtusepi32_epi8(whole));
}

#else

using Lanes = __m256;
constexpr int kLanes = 8;

inline Lanes zeros() { return _mm256_setzero_ps(); }
inline Lanes broadcast(float x) { return _mm256_set1_ps(x); }
inline Lanes load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Lanes x) { _mm256_storeu_ps(to, x); }
inline Lanes add(Lanes a, Lanes b) { return _mm256_add_ps(a, b); }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
inline Lanes relu(Lanes x) { return _mm256_max_ps(x, zeros()); }

inline float sum(Lanes x) {
  const __m128 fours = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
  return _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)));
}

template <class Whole>
inline Lanes to_floats(Whole x) {
  return _mm256_cvtepi32_ps(reinterpret_cast<__m256i>(x));
}

inline __m256i widen_bytes(const std::uint8_t* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

inline Lanes load_bytes(const std::uint8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

// Negative values become 0, those past 255 become 255.
inline void store_bytes(std::uint8_t* to, Lanes x) {
  const __m256i whole = _mm256_cvtps_epi32(relu(x));
  const __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(shorts, shorts));
}

#endif

}  // namespace penumbra
