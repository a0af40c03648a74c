// Computes how fragmented the free GPUs of a fleet are over time, by the measure F of FGD. For a
// node n and a typical pod shape m, the loss is the part of n's free GPUs that m could not use.
// If n cannot run m, all free GPUs of n are lost. Otherwise, those GPUs are lost whose free part
// is less than m needs of each GPU. F_n is the mean loss over the shapes, weighted by popularity,
// and F is the sum of F_n over the nodes. The result is the mean of F / (sum of free GPUs) over
// time.
//
// Source: Weng et al., Beware of Fragmentation, USENIX ATC 2023,
// https://www.usenix.org/conference/atc23/presentation/weng
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/quantity.h"
#include "model/node.h"
#include "model/request.h"

namespace subak::sim {

// The fragmentation of one fleet from the time `from` on. The times of the calls must never go
// backwards.
class Fragmentation {
 public:
  // `requests[i]` was requested `counts[i]` times; every pod of a gang counts. The integral covers
  // [from, to).
  Fragmentation(const std::vector<NodeSpec>& nodes, const std::vector<GangRequest>& requests,
                const std::vector<std::uint64_t>& counts, TimeMs from, TimeMs to);
  // Records that a pod took GPUs of a node or released them. `taken` is the amount on each GPU of
  // the mask: positive if taken, negative if released. Unknown nodes are ignored.
  void change(const std::string& node, std::uint64_t gpu_mask, MilliGpu taken, TimeMs t);
  // Returns F / free now, from 0 to 1; 0 if no GPU is free.
  double now() const;
  // Returns the mean of F / free up to `to`, over the time in which some GPU was free.
  double time_mean(TimeMs to);

 private:
  // A typical pod. Equal pods share one entry.
  struct Shape {
    // The number of whole GPUs; 0: a part of one GPU.
    std::int64_t gpus = 0;
    // The milli-GPU that the pod needs of each GPU.
    MilliGpu per_gpu = 0;
    // The share of this shape among all requested pods, 0 to 1.
    double popularity = 0;
    // The allowed products; empty: any.
    std::vector<std::string> products;
  };
  // The present state of a node.
  struct Node {
    std::string product;
    // The free milli-GPU of each GPU, by index.
    std::vector<MilliGpu> free;
    // The loss of this node, in milli-GPU: the mean over the shapes.
    double f = 0;
    // The sum of `free`.
    MilliGpu free_total = 0;
  };
  // Counts the pods of a request that was made `count` times.
  void add_shapes(const GangRequest& request, std::uint64_t count);
  // Computes the loss of one node. O(GPUs x shapes).
  void recount(Node& node);
  // Adds the time since the last change to the integral.
  void advance(TimeMs t);
  // The end of the window, and the time up to which the integral is complete.
  TimeMs to_, since_;
  std::vector<Shape> shapes_;
  std::vector<Node> nodes_;
  // The index of each node in `nodes_`. The map serves for look-up only, because its order is
  // arbitrary.
  std::unordered_map<std::string, std::size_t> by_name_;
  // The loss and the free amount of all nodes, in milli-GPU.
  double f_ = 0;
  MilliGpu free_ = 0;
  // The integral of F / free over the time in which some GPU was free, and that time in ms.
  double integral_ = 0, observed_ms_ = 0;
};

}  // namespace subak::sim
