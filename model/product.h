// Reads the name of a GPU product: the model of the GPU, whether NVLink joins such GPUs, and in
// which form the node offers its GPUs. The names come from NVIDIA's feature discovery (label
// nvidia.com/gpu.product), such as "NVIDIA-H100-80GB-HBM3". The suffix "-MIG-1g.10gb" says that
// every GPU is cut into slices of this profile (MIG strategy single). The suffix "-SHARED" says
// that each GPU has several replicas.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/request.h"

namespace subak {

// Returns the name of the product without these suffixes:
// "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED" -> "NVIDIA-H100-80GB-HBM3". The result is a view into
// `product`.
std::string_view base_product(std::string_view product);
// Returns the profile of the MIG slices, such as "1g.10gb"; empty if the name has no "-MIG-"
// suffix.
std::string_view product_profile(std::string_view product);

// True if NVLink can join GPUs of this product. False for GPUs without an NVLink connector: even a
// configured clique or domain size does not join such GPUs. True for all other products, even
// unknown ones. If the result is true, NodeSpec::gpus_per_domain says which GPUs of the node NVLink
// joins.
// Source: NVIDIA's data sheets of A2, A10, A16, L2, L4, L20, L40, L40S, T4, P4, P40, M10, M60, of
// the RTX Ada generation and of RTX PRO Blackwell.
bool has_nvlink(std::string_view product);

// True if NVLink can join GPUs of this product across nodes: the superchips (GH200, GB200, GB300,
// ...) and unknown products. False for boards and cards whose NVLink ends inside the node: P100,
// V100, and the SXM boards of A100, H100, H200, B200, B300 and their variants. It is also false for
// PCIe cards that NVLink bridges join, and for cards without NVLink.
// Source: NVIDIA's data sheets of HGX and DGX systems, GH200 NVL32, GB200 NVL72, GB300 NVL72.
bool nvlink_joins_nodes(std::string_view product);

// Converts the value of GKE's label gke-accelerator to the name that feature discovery gives the
// product: "nvidia-l4" -> "NVIDIA-L4". Returns the same text if the product is unknown.
// Source: GKE documentation, "Available GPU models"; feature discovery's names of these cards.
std::string_view gke_product(std::string_view accelerator);

// Returns how many GPUs of a node NVLink joins, as far as the product's name tells. The result is a
// value for NodeSpec::gpus_per_domain: 0 = all GPUs of the node, 1 = none.
//   boards (SXM; HGX, DGX, GH200, GB200, GB300)     0: switches or the board join all of them
//   cards that bridges may join (PCIe and NVL forms  1: no label says which cards bridges join
//     of A100, H100, H200 ...; A30, A40, RTX, Quadro,
//     TITAN, GeForce)
//   cards without a connector (has_nvlink())         1
//   unknown products                                 0: the name says nothing else
// Source: NVIDIA's data sheets and product briefs of A30, A40, A100 PCIe, H100 PCIe, H100 NVL, H200
// NVL (bridges between two or four cards).
// Source: the same documents of RTX A6000, HGX A100, HGX H100, DGX B200, GB200 NVL72.
std::int64_t gpus_per_nvlink_domain(std::string_view product);

// Returns the pod with its GPUs in the form in which the node's device plugin counts them. On
// products whose name ends in "-MIG-..." or "-SHARED", one nvidia.com/gpu is a slice or a replica.
// So a pod that asks for nvidia.com/gpu asks for slices or replicas in two cases:
//   - the pod names only such products, by selector, required affinity or `products`
//   - the pod names GKE's pools of slices (gke-gpu-partition-size) or of shared GPUs
//     (gke-max-shared-clients-per-gpu, gke-gpu-sharing-strategy)
// A pod asks for whole GPUs if it also names products or pools of whole GPUs, or if it names no
// product. Slices that are also shared count as slices. The function returns all other pods
// unchanged. Source: k8s-device-plugin, strategies of MIG and of time-slicing; GKE documentation,
// "Run multi-instance GPUs" and "GPU time-sharing".
PodShape as_offered(PodShape pod);

}  // namespace subak
