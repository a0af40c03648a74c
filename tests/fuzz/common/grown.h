// Makes an AdmissionReview longer: repeats one of its lists or maps until the text has about the
// wanted number of bytes. Repeated keys of maps, and names with a slash in the repeated part, get
// numbers. So a map stays a map, and each container has resources of its own.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "admission/review.h"

namespace subak::fuzz {

class Grower {
 public:
  // `which`: the number, from 0, of the repeated list or map, among those that are not empty.
  Grower(std::size_t which, std::size_t bytes) : which_(which), bytes_(bytes) {}

  std::string grow(json::Value root) {
    write(root);
    return std::move(out_);
  }

 private:
  void write(json::Value v) {
    simdjson::dom::object object;
    simdjson::dom::array array;
    if (v.get(object) == simdjson::SUCCESS) {
      out_ += '{';
      repeat(object.begin() != object.end(), [&] { members(object); });
      close('}');
    } else if (v.get(array) == simdjson::SUCCESS) {
      out_ += '[';
      repeat(array.begin() != array.end(), [&] {
        for (const json::Value item : array) {
          write(item);
          out_ += ',';
        }
      });
      close(']');
    } else {
      out_ += simdjson::minify(v);
    }
  }

  void members(simdjson::dom::object object) {
    const bool mine = depth_ == repeating_;  // this map itself is repeated
    for (const auto& [key, value] : object) {
      const bool numbered = round_ > 0 && (mine || key.find('/') != std::string_view::npos);
      append_json_string(out_, std::string(key) + (numbered ? std::to_string(round_) : ""));
      out_ += ':';
      write(value);
      out_ += ',';
    }
  }

  template <class F>
  void repeat(bool any, const F& once) {
    ++depth_;
    const bool chosen = any && repeating_ == 0 && which_-- == 0;
    if (!chosen) {
      once();
    } else {
      repeating_ = depth_;
      const std::size_t end = out_.size() + bytes_;
      for (round_ = 0; round_ == 0 || out_.size() < end; ++round_) once();
      round_ = 0;
      repeating_ = static_cast<std::size_t>(-1);
    }
    --depth_;
  }

  void close(char bracket) {
    if (out_.back() == ',') out_.pop_back();
    out_ += bracket;
  }

  std::string out_;
  std::size_t which_, bytes_, round_ = 0, depth_ = 0;
  std::size_t repeating_ = 0;  // its depth; 0: not found yet, -1: done
};

}  // namespace subak::fuzz
