// What a GPU product's name says: the card, whether NVLink joins its GPUs, and in which form its
// GPUs are offered. Names are those of NVIDIA's feature discovery (label nvidia.com/gpu.product):
// "NVIDIA-H100-80GB-HBM3", with "-MIG-1g.10gb" behind it where every card is cut into such slices
// (MIG strategy single), and "-SHARED" where each GPU is given out several times.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "placement/request.h"

namespace subak {

// The card alone: "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED" -> "NVIDIA-H100-80GB-HBM3". The result
// is a part of `product`.
std::string_view base_product(std::string_view product);
// The profile of the slices, "1g.10gb" above; empty where cards are not cut.
std::string_view product_profile(std::string_view product);

// Can NVLink join GPUs of this product? False for cards that have no connector for it; true for all
// others, also unknown ones, for which the node's own domain size speaks. A clique or a domain size
// that somebody wrote down for a card without connector does not make a link.
// Source: NVIDIA's data sheets of A2, A10, A16, L2, L4, L20, L40, L40S, T4, P4, P40, M10, M60, of
// the RTX Ada generation and of RTX PRO Blackwell.
bool has_nvlink(std::string_view product);

// Can NVLink join GPUs of this product across nodes? True for the superchips (GH200, GB200, GB300, ...) and
// for unknown products. False for boards and cards whose NVLink ends inside the node: P100, V100, and the
// SXM boards of A100, H100, H200, B200, B300 and their variants; cards that bridges join; cards without
// NVLink.
// Source: NVIDIA's data sheets of HGX and DGX systems, GH200 NVL32, GB200 NVL72, GB300 NVL72.
bool nvlink_joins_nodes(std::string_view product);

// The product as feature discovery would name it, of GKE's label gke-accelerator: "nvidia-l4" ->
// "NVIDIA-L4". The same text where it is not known.
// Source: GKE documentation, "Available GPU models"; feature discovery's names of these cards.
std::string_view gke_product(std::string_view accelerator);

// How many GPUs of a node NVLink joins as far as the product's name says it, as
// NodeSpec::gpus_per_domain: 0 = all of the node, 1 = none.
//   boards (SXM; HGX, DGX, GH200, GB200, GB300)     0: switches or the board join all of them
//   cards that bridges may join (PCIe and NVL forms  1: no label says whether there are bridges, nor
//     of A100, H100, H200 ...; A30, A40, RTX, Quadro,   which cards they join
//     TITAN, GeForce)
//   cards without a connector (has_nvlink())         1
//   products that are not known                      0: the name says nothing, and is believed
// Source: NVIDIA's data sheets and product briefs of A30, A40, A100 PCIe, H100 PCIe, H100 NVL, H200 NVL
// (bridges between two or four cards), of RTX A6000, and of HGX A100, HGX H100, DGX B200, GB200 NVL72.
std::int64_t gpus_per_nvlink_domain(std::string_view product);

// What the pod takes when it is there. On products whose name ends in "-MIG-..." or "-SHARED" the
// plain resource nvidia.com/gpu is a slice or a replica, so a pod of whole GPUs that names such
// products alone (by selector, required affinity or `products`) asks for these. So does one that names
// GKE's pools of slices (gke-gpu-partition-size) or of shared GPUs (gke-max-shared-clients-per-gpu,
// gke-gpu-sharing-strategy). A pod that names them beside whole ones, or names none, asks for whole
// GPUs. Slices that are shared again count as slices. Of other pods: the pod as it is.
// Source: k8s-device-plugin, strategies of MIG and of time-slicing; GKE documentation, "Run multi-instance
// GPUs" and "GPU time-sharing".
PodShape as_offered(PodShape pod);

}  // namespace subak
