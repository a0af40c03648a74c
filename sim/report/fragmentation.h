// FGD's fragmentation F over free GPUs, followed exactly through time: only changed nodes are
// counted again. For a node n and a typical pod shape m, the loss is the part of n's free GPUs that
// m could not use. It is all of them if n cannot run m, else the GPUs with less free than m needs
// of each. F_n is the mean over the shapes by popularity. The result is the time mean of sum F_n /
// sum free.
// Source: Weng et al., Beware of Fragmentation, USENIX ATC 2023,
// https://www.usenix.org/conference/atc23/presentation/weng
// Threads: none.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/quantity.h"
#include "model/node.h"
#include "model/request.h"

namespace subak::sim {

// The fragmentation of one fleet from `from` on. Times of the calls never go backwards.
class Fragmentation {
 public:
  // `requests[i]` was requested `counts[i]` times; every pod of a gang counts. Integrates over
  // [from, to).
  Fragmentation(const std::vector<NodeSpec>& nodes, const std::vector<GangRequest>& requests,
                const std::vector<std::uint64_t>& counts, TimeMs from, TimeMs to);
  // Records that a pod took GPUs of a node (`taken` > 0 per GPU of the mask) or released them (<
  // 0). Unknown nodes are ignored.
  void change(const std::string& node, std::uint64_t gpu_mask, MilliGpu taken, TimeMs t);
  // Returns F / free now, 0 to 1; 0 when nothing is free.
  double now() const;
  // Returns the mean up to `to`, over the time in which anything was free.
  double time_mean(TimeMs to);

 private:
  // A typical pod. Equal ones are one.
  struct Shape {
    // Whole GPUs; 0: a part of one.
    std::int64_t gpus = 0;
    // What it needs of each GPU.
    MilliGpu per_gpu = 0;
    // Its part of all requested pods, 0 to 1.
    double popularity = 0;
    // The allowed products; empty: any.
    std::vector<std::string> products;
  };
  // The present state of a node.
  struct Node {
    std::string product;
    // What is free of each GPU, by its index.
    std::vector<MilliGpu> free;
    // The loss of this node, in milli-GPU: the mean over the shapes.
    double f = 0;
    // The sum of `free`.
    MilliGpu free_total = 0;
  };
  // Counts the pods of a request that came `count` times.
  void add_shapes(const GangRequest& request, std::uint64_t count);
  // Computes the loss of one node. O(GPUs x shapes).
  void recount(Node& node);
  // Adds the time since the last change to the integral.
  void advance(TimeMs t);
  // The end of the window, and the time up to which the integral is complete.
  TimeMs to_, since_;
  std::vector<Shape> shapes_;
  std::vector<Node> nodes_;
  // The index in `nodes_`. For look-ups only: its order is arbitrary.
  std::unordered_map<std::string, std::size_t> by_name_;
  // Of all nodes, in milli-GPU: the loss, and what is free.
  double f_ = 0;
  MilliGpu free_ = 0;
  // The integral of F / free over the time in which anything was free, and that time in ms.
  double integral_ = 0, observed_ms_ = 0;
};

}  // namespace subak::sim
