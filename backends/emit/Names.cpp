// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/Names.h"

#include "backends/emit/host/Entries.h"
#include "backends/emit/kernel/GridDivisors.h"
#include "backends/emit/kernel/KernelPrinter.h"
#include "backends/emit/kernel/Types.h"

#include <algorithm>
#include <initializer_list>

namespace tkc::cuda {
namespace {

/// Names of one scope: `name`, else `name2`, `name3`, …
class Scope {
public:
  explicit Scope(std::initializer_list<std::string> taken) : taken(taken) {}

  std::string take(const std::string &wanted) {
    std::string name = wanted;
    for (int n = 2; !taken.insert(name).second; ++n)
      name = wanted + std::to_string(n);
    return name;
  }

private:
  std::set<std::string> taken;
};

std::string wantedName(const planner::PlannedKernel &planned) {
  std::string suffix = planned.specialization.suffix();
  if (!planned.variant.empty())
    suffix += (suffix.empty() ? "" : "_") + planned.variant;
  return suffix.empty() ? entryName(planned.plan->kernel) : identifier(planned.plan->kernel + "_" + suffix);
}

} // namespace

std::string argumentsOf(const std::string &kernel) { return kernel + "_arguments"; }
std::string sharedOf(const std::string &kernel) { return kernel + "_shared"; }

KernelNames kernelNames(const std::vector<planner::PlannedKernel> &kernels) {
  // The C functions that launch them have parameters and symbols, which would hide them.
  std::set<std::string> hiding;
  for (const planner::PlannedKernel &planned : kernels) {
    for (const ir::Param &param : planned.plan->params)
      hiding.insert(identifier(param.name));
    for (const std::string &name : planned.kernel->signature.order)
      hiding.insert(identifier(name));
    for (const std::string &symbol : planned.kernel->signature.symbols)
      hiding.insert(identifier(symbol));
  }
  KernelNames names;
  std::map<std::string, std::set<std::string>> taken; // by GPU
  for (const planner::PlannedKernel &planned : kernels) {
    std::set<std::string> &ofGpu = taken[planned.plan->arch];
    const auto isFree = [&](const std::string &name) { return ofGpu.count(name) == 0 && hiding.count(name) == 0; };
    std::string name = wantedName(planned);
    while (!isFree(name) || !isFree(argumentsOf(name)) || !isFree(sharedOf(name)))
      name += "_kernel";
    ofGpu.insert({name, argumentsOf(name), sharedOf(name)});
    names[planned.plan.get()] = name;
  }
  return names;
}

MemberNames::MemberNames(const plan::Plan &plan, const std::string &kernel) {
  Scope ofArguments{argumentsOf(kernel), "tk_claims", "tk_trace"}, ofShared{sharedOf(kernel), "tensor"};
  for (const ir::Param &param : plan.params)
    arguments[param.name] = ofArguments.take(identifier(param.name));
  for (const std::string &symbol : runtimeSymbols(plan))
    arguments[symbol] = ofArguments.take(identifier(symbol));
  for (const plan::TensorMap &map : plan.maps)
    maps[map.name] = ofArguments.take(identifier(map.name));
  for (const std::string &flag : fitFlags(plan))
    flags[flag] = ofArguments.take(flag);
  for (const plan::TensorMap &map : plan.maps)
    fitting[map.name] = ofArguments.take(maps.at(map.name) + "_fits");
  for (const GridDivisor &divisor : gridDivisors(plan))
    divisors[divisor.key] = ofArguments.take(memberOf(divisor));
  if (const plan::GridAxis *axis = plan.steppedAxis())
    columnsName = ofArguments.take(identifier(axis->name) + "_columns");
  for (const plan::Buffer &buffer : plan.buffers)
    buffers[buffer.name] = ofShared.take(identifier(buffer.name));
  for (const plan::Barrier &barrier : plan.barriers)
    barriers[barrier.name] = ofShared.take(identifier(barrier.name));
}

Architectures architecturesOf(const std::vector<planner::PlannedKernel> &kernels) {
  Architectures all;
  for (const planner::PlannedKernel &kernel : kernels)
    if (const arch::Description *gpu = arch::find(kernel.plan->arch);
        gpu && std::find(all.begin(), all.end(), gpu) == all.end())
      all.push_back(gpu);
  std::stable_sort(all.begin(), all.end(), [](const auto *a, const auto *b) { return isLessCapable(*a, *b); });
  return all;
}

std::string namespaceOf(const arch::Description &gpu, const std::set<std::string> &entries) {
  std::string name = identifier(gpu.name);
  while (entries.count(name))
    name += '_';
  return name;
}

} // namespace tkc::cuda
