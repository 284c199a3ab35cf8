// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Job.h"

#include "backends/emit/RuntimeHeaders.h"
#include "backends/targets/nvidia/Nvcc.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace tkc::tune {
namespace {

std::string caseName(const std::string &encoded) { return contentHash(encoded) + ".case"; }

/// A script for sh; what is built or measured already is left alone.
std::string script(const arch::Description &target) {
  return fmt::format(R"sh(#!/bin/sh
# Builds the schedules that `job` names, several at a time, and checks and times them on the GPU; figures are added to
# {3}. What is built or measured already stays. Arguments are further ones of nvcc.
set -eu
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
export PATH flags="{0} $*"
[ -x {4} ] || nvcc $flags {2} -o {4} {5} &
cut -f 1,2 {6} | sed -n 's/^candidate\t//p' | sort -u | while read -r code; do
  [ -e "$code.so" ] || echo "$code"
done | xargs -P "$(nproc)" -I@ sh -c 'nvcc $flags {1} -o @.part.so @.cu > @.log 2>&1 && mv @.part.so @.so || true'
wait
exec ./{4} {6} {3}
)sh",
                     fmt::join(compilerFlags(target), " "), fmt::join(candidateFlags(), " "),
                     fmt::join(runnerFlags(), " "), logFile, runnerProgram, runnerSource, jobFile);
}

} // namespace

std::vector<std::string> compilerFlags(const arch::Description &target) {
  return {"-std=c++20", "-O3", "-gencode", cuda::gencodeOf(target), "-I", "include"};
}

std::vector<std::string> candidateFlags() {
  // Each calls its own functions, though all have the same names.
  return {"-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-Bsymbolic"};
}

std::vector<std::string> runnerFlags() { return {"-ldl"}; }

Job makeJob(const std::vector<Batch> &batches, const arch::Description &target) {
  Job job;
  std::set<std::string> codes;
  std::string lines;
  const auto addFile = [&](const std::string &encoded) {
    std::string name = caseName(encoded);
    job.files.try_emplace(name, encoded);
    return name;
  };
  const auto addCandidate = [&](const Built &candidate, const std::string &schedule) {
    lines += fmt::format("candidate\t{}\t{}\n", candidate.code, schedule);
    if (codes.insert(candidate.code).second)
      job.files[candidate.code + ".cu"] = candidate.source;
  };
  for (const auto &[search, candidates] : batches) {
    if (candidates.empty())
      continue;
    const Work &work = search->subject();
    lines += fmt::format("group\t{}\t{}\n", work.kernel->signature.name, search->standard().code);
    for (const Check &check : work.checks)
      lines += fmt::format("check\t{}\t{}\n", addFile(check.encoded), check.description);
    for (const Shape &shape : work.shapes)
      lines += fmt::format("shape\t{}\t{}\t{}\n", addFile(shape.encoded), shape.prepared.description, shape.roundoff);
    addCandidate(search->standard(), "as the file has it");
    for (const Built *candidate : candidates)
      if (candidate->code != search->standard().code)
        addCandidate(*candidate, work.describe(candidate->settings));
    job.numLines += work.shapes.size() * candidates.size();
  }
  job.codes.assign(codes.begin(), codes.end());
  job.files[jobFile] = lines;
  job.files[runnerSource] =
      "#include \"tk/host/tune.h\"\n\nint main(int argc, char **argv) { return tk::tune::run(argc, argv); }\n";
  job.files[scriptFile] = script(target);
  for (const cuda::RuntimeHeader &header : cuda::runtimeHeaders())
    if (header.name.substr(0, 4) != "hip/")
      job.files["include/" + std::string(header.name)] = header.text;
  return job;
}

} // namespace tkc::tune
