// Growable arrays of plain data that may hold gigabytes. Large ones are mapped straight from the system: growth moves
// pages instead of copying them, freed memory goes back at once, and huge pages save faults and look-up misses.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace penumbra {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void push_back(const T& value) {
    if (size_ == capacity_) [[unlikely]] {
      const T copy = value;  // may lie in this very buffer
      grow(size_ + 1);
      data_[size_++] = copy;
      return;
    }
    data_[size_++] = value;
  }
  void append(const T* values, std::size_t n) {
    grow(size_ + n);
    if (n) std::memcpy(static_cast<void*>(data_ + size_), values, n * sizeof(T));
    size_ += n;
  }
  // Room for n elements, with half as much again when it must grow.
  void grow(std::size_t n) {
    if (n > capacity_) reallocate(n > capacity_ + capacity_ / 2 ? n : capacity_ + capacity_ / 2);
  }
  void reserve(std::size_t n) {
    if (n > capacity_) reallocate(n);
  }
  // New elements are not initialised.
  void resize(std::size_t n) {
    reserve(n);
    size_ = n;
  }
  void assign_zeros(std::size_t n) {
    if (n > capacity_) release();
    resize(n);
    if (n) std::memset(static_cast<void*>(data_), 0, n * sizeof(T));
  }
  void clear() { size_ = 0; }
  void shrink() {
    if (size_ == 0)
      release();
    else if (size_ < capacity_)
      reallocate(size_);
  }
  void release() {
    if (is_mapped(capacity_))
      munmap(static_cast<void*>(data_), capacity_ * sizeof(T));
    else
      std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static constexpr std::size_t kMapped = std::size_t{1} << 20;

  static bool is_mapped(std::size_t n) { return n * sizeof(T) >= kMapped; }

  void reallocate(std::size_t n) {
    if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = n * sizeof(T), old_bytes = capacity_ * sizeof(T);
    void* moved;
    if (!is_mapped(n) && !is_mapped(capacity_)) {
      moved = std::realloc(static_cast<void*>(data_), bytes);
    } else if (is_mapped(n) && is_mapped(capacity_)) {
      moved = remap(old_bytes, bytes);
    } else {
      moved = is_mapped(n) ? map(bytes) : std::malloc(bytes);
      if (moved && data_) {
        std::memcpy(moved, static_cast<void*>(data_), (size_ < n ? size_ : n) * sizeof(T));
        const std::size_t size = size_;
        release();
        size_ = size;
      }
    }
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = n;
    if (is_mapped(n)) advise();
  }

  // Starts on a huge page, so that all of it can lie on huge pages.
  static void* map(std::size_t bytes) {
    constexpr std::size_t kHuge = std::size_t{2} << 20, kPage = 4096;
    const std::size_t whole = (bytes + kPage - 1) & ~(kPage - 1);
    void* p = mmap(nullptr, whole + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    char* const start = static_cast<char*>(p);
    const std::size_t before = (kHuge - reinterpret_cast<std::uintptr_t>(p) % kHuge) % kHuge;
    if (before) munmap(start, before);
    if (before < kHuge) munmap(start + before + whole, kHuge - before);
    return start + before;
  }

  // What must move goes to the start of a huge page again.
  void* remap(std::size_t old_bytes, std::size_t bytes) {
#if defined(__linux__)
    void* p = mremap(static_cast<void*>(data_), old_bytes, bytes, 0);
    if (p != MAP_FAILED) return p;
    void* const place = map(bytes);
    if (!place) return nullptr;
    p = mremap(static_cast<void*>(data_), old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (p != MAP_FAILED) return p;
    munmap(place, bytes);
    return nullptr;
#else
    void* p = map(bytes);
    if (!p) return nullptr;
    std::memcpy(p, static_cast<void*>(data_), old_bytes < bytes ? old_bytes : bytes);
    munmap(static_cast<void*>(data_), old_bytes);
    return p;
#endif
  }

  void advise() {
#if defined(MADV_HUGEPAGE)
    madvise(static_cast<void*>(data_), capacity_ * sizeof(T), MADV_HUGEPAGE);
#endif
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace penumbra
