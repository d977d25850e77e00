// Owners of objects that a C library frees by a function of its own.
#pragma once

namespace drover::engine {

// std::unique_ptr<BIO, Freed<BIO_free_all>>
template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace drover::engine
