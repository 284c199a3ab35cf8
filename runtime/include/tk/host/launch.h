// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From checked arguments to a launch: tensor maps, devices, grids. Each kind of GPU has this header of its own.
#pragma once

#include "tk/host/arguments.h"
#include "tk/host/remembered.h"

#include <cuda_runtime_api.h>

namespace tk::host {

/// A box of a tensor for the copy engine. Dims of the box other than the two have size 1.
struct box {
  int row_dim; ///< -1: none
  int rows;
  int cols;    ///< along the last dim
  int swizzle; ///< bytes; 0: none
  bool stored; ///< the copy engine writes through the map

  /// The most bytes of a row that L2 takes from memory at once: 128 or 256.
  int fetched = 256;
};

/// A function of the driver, looked up at run time, so that emitted files link against the CUDA runtime alone. Null
/// where the driver has none of that name.
template <class Function> Function driver_function(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(function) : nullptr;
}

/// What a tensor map is made from, as cuTensorMapEncodeTiled takes it; dims innermost first. Its enumerators are
/// spelled as numbers, since the driver's header is not included.
struct map_description {
  int type = 0, device = 0;
  unsigned rank = 0;
  void *base = nullptr;
  unsigned long long dims[5] = {}, strides[4] = {}; ///< strides in bytes, of all dims but the innermost
  unsigned box_dims[5] = {};
  int swizzle = 0, promotion = 0;

  bool operator==(const map_description &) const = default;
  uint64_t hash() const {
    return hash_of(reinterpret_cast<uintptr_t>(base), dims[0], dims[1], strides[0], box_dims[0], box_dims[1]);
  }
};

/// Source: CUDA Driver API 13.0, cuTensorMapEncodeTiled.
inline bool encode_described(tensor_map &map, const map_description &d) {
  using encode_function = int (*)(void *, int, unsigned, void *, const unsigned long long *, const unsigned long long *,
                                  const unsigned *, const unsigned *, int, int, int, int);
  static const auto encode = driver_function<encode_function>("cuTensorMapEncodeTiled");
  constexpr unsigned element_strides[5] = {1, 1, 1, 1, 1};
  constexpr int no_interleave = 0, zeros_outside = 0;
  return encode && encode(&map, d.type, d.rank, d.base, d.dims, d.strides, d.box_dims, element_strides, no_interleave,
                          d.swizzle, d.promotion, zeros_outside) == 0;
}

/// What L2 fetches for a box. The second half of 256 bytes is a prefetch for the neighbour of a box of 128. Where rows
/// begin at no multiple of 64 bytes, each row of a box lies in several pieces of 128 bytes, and L2 is busy with looking
/// these up: it is not to look for more.
inline int bytes_fetched(const argument &a, const box &b) { return alignment(a) < 64 ? 128 : b.fetched; }

/// Encodes a map; false where the tensor does not suit the copy engine, which is no error: a base or a stride that is
/// no multiple of 16 bytes, a stride of 0, an empty dim, more than 5 dims, and, where it is stored through, a last dim
/// that is no multiple of 16 bytes: on an H200 the engine was seen to write past the end of one such tensor. Of
/// elements of six bits, which it unpacks to 16 bytes for 16, base and strides are multiples of 32 bytes, and the last
/// dim is one of 128 elements.
[[gnu::visibility("hidden")]] inline bool encode_map(tensor_map &map, const argument &a, const box &b) {
  // CU_TENSOR_MAP_DATA_TYPE_* of each element; pairs of four bits go by the byte.
  constexpr int types[] = {8, 7, 6, 9, 0, 0, 5, 3, 0, 0, 0, 0, 0, 15, 15, 0, 0};
  const int in_a_byte = bits_of(a.type) == 4 ? 2 : 1;
  const bool padded = bits_of(a.type) == 6;
  const unsigned alignment = padded ? 32 : 16;
  const int rank = a.rank();
  if (rank < 1 || rank > 5 || a.is_empty() || reinterpret_cast<uintptr_t>(a.data()) % alignment != 0 ||
      (b.stored && bytes_of(a.type, a.dim(rank - 1)) % 16 != 0) || (padded && a.dim(rank - 1) % 128 != 0))
    return false;
  map_description d;
  d.type = types[static_cast<int>(a.type)];
  d.device = a.tensor->device_id;
  d.rank = static_cast<unsigned>(rank);
  d.base = a.data();
  for (int i = 0; i < rank; ++i) { // innermost first
    const int at = rank - 1 - i;
    d.dims[i] = static_cast<unsigned long long>(i == 0 ? a.dim(at) / in_a_byte : a.dim(at));
    d.box_dims[i] = i == 0 ? b.cols / in_a_byte : at == b.row_dim ? b.rows : 1;
    if (i == 0)
      continue;
    long long stride = bytes_of(a.type, a.stride(at));
    if (a.dim(at) == 1) // never stepped along; what PyTorch says there means nothing
      stride = alignment;
    if (stride <= 0 || stride % alignment != 0 || stride >= 1ll << 40)
      return false;
    d.strides[i - 1] = static_cast<unsigned long long>(stride);
  }
  d.swizzle = b.swizzle == 128 ? 3 : b.swizzle == 64 ? 2 : b.swizzle == 32 ? 1 : 0;
  d.promotion = bytes_fetched(a, b) == 256 ? 3 : 2;
  constexpr int of_device = 2;
  if (a.tensor->device_type != of_device) // memory of the host, for whichever device it is mapped
    return encode_described(map, d);
  static constinit remembered<map_description, tensor_map, 256> maps;
  return maps.find(d, map, [&](tensor_map &made) { return encode_described(made, d); });
}

/// A compute capability that code was compiled for: it runs on devices of this one, or of this one and later ones.
struct capability {
  int major, minor;
  bool exactly;
  const char *name = nullptr; ///< of the GPU, in a file for several
};
constexpr bool runs(const capability &code, int major, int minor) {
  return code.exactly ? code.major == major && code.minor == minor
                      : major > code.major || (major == code.major && minor >= code.minor);
}

/// Whether this compilation makes device code from `code`: nvcc says for what it compiles, without the letters.
constexpr bool is_compiled([[maybe_unused]] const capability &code) {
#ifdef __CUDA_ARCH_LIST__
  for (const int arch : {__CUDA_ARCH_LIST__})
    if (runs(code, arch / 100, arch / 10 % 10))
      return true;
  return false;
#else
  return true;
#endif
}

/// "compiled for sm_80 and later, sm_90a; device 0 has compute capability 7.5"
inline void refuse_device(call &c, const capability *codes, int count, const device &on, int major, int minor) {
  if (!codes->name) {
    c.fail(TK_WRONG_DEVICE, "compiled for compute capability %d.%d%s; device %d has %d.%d", codes->major, codes->minor,
           codes->exactly ? "" : " and later", on.id, major, minor);
    return;
  }
  char names[160] = "";
  for (int i = 0, at = 0; i < count && at < int(sizeof names); ++i) {
    at += std::snprintf(names + at, sizeof names - at, "%s%s%s", at ? ", " : "", codes[i].name,
                        codes[i].exactly ? "" : " and later");
    if (runs(codes[i], major, minor))
      c.fail(TK_WRONG_DEVICE, "compiled without -gencode for %s, whose code device %d would run", codes[i].name, on.id);
  }
  c.fail(TK_WRONG_DEVICE, "compiled for %s; device %d has compute capability %d.%d", names, on.id, major, minor);
}

struct device_attributes {
  int major = 0, minor = 0, multiprocessors = 0;
};
[[gnu::visibility("hidden")]] inline cudaError_t attributes_of(int id, device_attributes &attributes) {
  cudaError_t error = cudaSuccess;
  const auto ask = [&](device_attributes &answer) {
    error = cudaDeviceGetAttribute(&answer.major, cudaDevAttrComputeCapabilityMajor, id);
    if (error == cudaSuccess)
      error = cudaDeviceGetAttribute(&answer.minor, cudaDevAttrComputeCapabilityMinor, id);
    if (error == cudaSuccess)
      error = cudaDeviceGetAttribute(&answer.multiprocessors, cudaDevAttrMultiProcessorCount, id);
    return error == cudaSuccess;
  };
  static constinit remembered<device_number, device_attributes, 64> devices;
  devices.find({id}, attributes, ask);
  return error;
}

/// The current device, checked: it must run one of the codes, of which it takes the last, and hold the tensors. Codes
/// stand in a file the least capable first.
template <int Count, class... Arguments>
device find_device(call &c, const capability (&codes)[Count], const Arguments &...arguments) {
  device result;
  if (!c.ok())
    return result;
  device_attributes at{};
  cudaError_t error = cudaGetDevice(&result.id);
  if (error == cudaSuccess)
    error = attributes_of(result.id, at);
  if (error != cudaSuccess)
    c.fail(TK_CUDA_ERROR, "%s", cudaGetErrorString(error));
  result.multiprocessors = at.multiprocessors;
  result.code = -1;
  for (int i = 0; i < Count; ++i)
    if ((Count == 1 || is_compiled(codes[i])) && runs(codes[i], at.major, at.minor))
      result.code = i;
  if (error == cudaSuccess && result.code < 0)
    refuse_device(c, codes, Count, result, at.major, at.minor);
  const auto check = [&](const argument &a) {
    if (c.ok() && a && a.tensor->device_type == 2 && a.tensor->device_id != result.id)
      c.fail(TK_WRONG_DEVICE, "`%s` is on device %d, the current device is %d", a.name, a.tensor->device_id, result.id);
  };
  (check(arguments), ...);
  return result;
}
template <class... Arguments> device find_device(call &c, const capability &code, const Arguments &...arguments) {
  const capability codes[] = {code};
  return find_device(c, codes, arguments...);
}

/// One more than the number of the current context, which no other has as long as the process lives; 0: unknown.
/// Source: CUDA Driver API 13.0, cuCtxGetId, which takes null for the current context.
inline unsigned long long current_context() {
  static const auto ask = driver_function<int (*)(void *, unsigned long long *)>("cuCtxGetId");
  unsigned long long id = 0;
  return ask && ask(nullptr, &id) == 0 ? id + 1 : 0;
}

/// A kernel and how it is launched, in a context: what kernels are told, and where they fit, is a context's own.
struct kernel_use {
  const void *kernel;
  unsigned long long context;
  int threads, shared_bytes, cluster;
  bool resident;

  bool operator==(const kernel_use &) const = default;
  uint64_t hash() const { return hash_of(reinterpret_cast<uintptr_t>(kernel), context, resident); }
};

/// Lets the kernel have its shared memory. `most`: so many blocks run at once, where they are resident.
inline cudaError_t prepare(const kernel_use &use, const device &on, const cudaLaunchConfig_t &config, long long &most) {
  cudaError_t error = cudaSuccess;
  if (use.shared_bytes > 48 * 1024)
    error = cudaFuncSetAttribute(use.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, use.shared_bytes);
  if (error != cudaSuccess || !use.resident)
    return error;
  int each = 0;
  error = use.cluster > 1 ? cudaOccupancyMaxActiveClusters(&each, use.kernel, &config)
                          : cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, use.kernel, use.threads,
                                                                          static_cast<size_t>(use.shared_bytes));
  most = static_cast<long long>(each > 0 ? each : 1) * (use.cluster > 1 ? use.cluster : on.multiprocessors);
  return error;
}

/// The same, asked once in each context.
[[gnu::visibility("hidden")]] inline cudaError_t prepare_once(const kernel_use &use, const device &on,
                                                              const cudaLaunchConfig_t &config, long long &most) {
  if (use.context == 0)
    return prepare(use, on, config, most);
  cudaError_t error = cudaSuccess;
  static constinit remembered<kernel_use, long long, 256> uses;
  uses.find(use, most, [&](long long &answer) {
    error = prepare(use, on, config, answer);
    return error == cudaSuccess;
  });
  return error;
}

/// Blocks of a persistent kernel that take more tiles than so many each begin when the kernel before has ended. Long
/// products that began under another kernel took up to a third longer, and what this saves is a few microseconds
/// (docs/notes/widened-weights.md).
constexpr long long most_tiles_of_early_blocks = 3;

/// Launches `blocks` blocks, or, of a persistent kernel (`resident`), no more than run at once. None: nothing to do.
/// `blocks` is a multiple of `cluster`, the blocks that run together and reach each other's shared memory.
template <class Arguments>
void launch(call &c, const device &on, void (*kernel)(Arguments), const Arguments &arguments, long long blocks,
            bool resident, int threads, int shared_bytes, CUstream_st *stream, order begins = order::after_all,
            int cluster = 1) {
  if (!c.ok() || blocks <= 0)
    return;
  const auto *function = reinterpret_cast<const void *>(kernel);
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = static_cast<unsigned>(cluster);
    attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    ++count;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(cluster));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  cudaError_t error = cudaSuccess;
  bool is_long = false;
  if (resident || shared_bytes > 48 * 1024) {
    long long most = 0;
    error = prepare_once({function, current_context(), threads, shared_bytes, cluster, resident}, on, config, most);
    is_long = resident && blocks > most * most_tiles_of_early_blocks;
    blocks = resident && most < blocks ? most : blocks;
  }
  if (begins == order::overlap_previous && !is_long) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = ++count;
  }
  if (error == cudaSuccess && blocks > INT32_MAX) {
    c.fail(TK_BAD_ARGUMENT, "%lld blocks are more than one launch can have", blocks);
    return;
  }
  if (error == cudaSuccess) {
    void *parameters[] = {const_cast<Arguments *>(&arguments)};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    error = cudaLaunchKernelExC(&config, function, parameters);
  }
  if (error != cudaSuccess)
    c.fail(TK_CUDA_ERROR, "%s", cudaGetErrorString(error));
}

} // namespace tk::host
