// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Service.h"

#include "harness/Call.h"
#include "harness/ElementMemory.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

namespace tkc::harness {
namespace {

using llvm::json::Object;

/// Why a request cannot be answered.
struct Refusal {
  std::string message;
};

/// Where a tensor of a request lies in the memory, in bytes from its start.
struct Place {
  uint64_t elements = 0;
  /// Of an output of a reference: its values and how far a result may be from them, both f64.
  uint64_t values = 0, tolerances = 0;
};

class Request {
public:
  Request(const Module &module, const SourceManager &sources, const std::function<char *(uint64_t)> &memory,
          Runnables &runnables, const Object &object)
      : module(module), sources(sources), diagnostics(sources), memory(memory), runnables(runnables), object(object) {}

  std::optional<Refusal> answer() {
    const std::string name = object.getString("call").value_or("").str();
    const std::vector<Subject> subjects = subjectsOf(module);
    const auto subject = std::find_if(subjects.begin(), subjects.end(),
                                      [&](const Subject &each) { return each.signature->name == name; });
    if (subject == subjects.end())
      return Refusal{fmt::format("no kernel or program is called `{}`", name)};
    const bool wantsReference = object.getBoolean("reference").value_or(false);
    if (wantsReference && !subject->reference)
      return Refusal{fmt::format("`{}` has no reference", name)};
    OpenCall call;
    if (std::optional<Refusal> refusal = read(*subject->signature, call))
      return refusal;
    BoundCall bound = bindCall(*subject->signature, std::move(call), sources);
    if (!bound.refusal.empty())
      return Refusal{std::move(bound.refusal)};
    PreparedCase &prepared = bound.prepared;
    const std::optional<Runnable> runnable =
        runnables.prepare(*subject, prepared.specialization, prepared.tunes, diagnostics);
    if (!runnable)
      return reported();
    if (wantsReference) {
      prepared.reference = subject->reference;
      return evaluate(prepared, *runnable);
    }
    return run(prepared, *runnable);
  }

private:
  Refusal reported() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.all())
      text += sources.render(diagnostic, /*color=*/false);
    return {text.empty() ? "it does not compile" : text};
  }

  std::optional<Refusal> read(const Signature &signature, OpenCall &call) {
    if (const Object *numbers = object.getObject("numbers"))
      for (const auto &[name, value] : *numbers) {
        const std::optional<llvm::StringRef> text = value.getAsString(); // what JSON has no number for
        double number = value.getAsNumber().value_or(0);
        if (!value.getAsNumber() && (!text || text->getAsDouble(number)))
          return Refusal{fmt::format("`{}` is no number", name.str())};
        const std::optional<int64_t> whole = value.getAsInteger();
        call.numbers[name.str()] = whole ? Number::ofInteger(*whole) : Number(number);
      }
    if (const Object *tensors = object.getObject("tensors"))
      for (const auto &[name, value] : *tensors)
        if (const Object *tensor = value.getAsObject(); !tensor || !readTensor(signature, name.str(), *tensor, call))
          return Refusal{fmt::format("the request says of `{}` what cannot be", name.str())};
    return std::nullopt;
  }

  bool readTensor(const Signature &signature, const std::string &name, const Object &of, OpenCall &call) {
    const auto param = std::find_if(signature.params.begin(), signature.params.end(),
                                    [&](const ir::Param &each) { return each.isTensor && each.name == name; });
    const std::optional<ElemType> elem = parseElemType(of.getString("type").value_or(""));
    const llvm::json::Array *dims = of.getArray("dims");
    if (param == signature.params.end() || !elem || !dims)
      return false;
    Tensor tensor{*elem, {}, {}};
    double count = 1;
    for (const llvm::json::Value &dim : *dims) {
      tensor.dims.push_back(dim.getAsInteger().value_or(-1));
      count *= static_cast<double>(tensor.dims.back());
      if (tensor.dims.back() < 0 || count > 0x1p40)
        return false;
    }
    Place &place = places[name];
    const auto at = [&](const char *key) { return static_cast<uint64_t>(of.getInteger(key).value_or(0)); };
    place = {at("at"), at("values"), at("tolerances")};
    const auto bytes = static_cast<uint64_t>(bytesOf(*elem, tensor.numElements()));
    const auto doubles = static_cast<uint64_t>(tensor.numElements()) * sizeof(double);
    constexpr uint64_t limit = uint64_t{1} << 48;
    if (std::max({place.elements, place.values, place.tolerances}) > limit || !memory(place.elements + bytes) ||
        !memory(std::max(place.values, place.tolerances) + (of.get("values") ? doubles : 0)))
      return false;
    if (param->mode != ir::ParamMode::Out)
      readElements(memory(place.elements + bytes) + place.elements, tensor);
    call.tensors[name] = std::move(tensor);
    return true;
  }

  std::optional<Refusal> run(PreparedCase &prepared, const Runnable &runnable) {
    if (const std::optional<ir::RuntimeError> error = runnable.run(prepared.arguments))
      return Refusal{fmt::format("{}: {}: {}", prepared.signature->name, sources.fileLine(error->loc), error->message)};
    for (const ir::Param &param : prepared.signature->params)
      if (const auto found = prepared.arguments.tensors.find(param.name);
          param.mode != ir::ParamMode::In && found != prepared.arguments.tensors.end())
        writeElements(found->second, memory(0) + places.at(param.name).elements);
    return std::nullopt;
  }

  std::optional<Refusal> evaluate(PreparedCase &prepared, const Runnable &runnable) {
    const Arithmetic arithmetic = object.getBoolean("gpu").value_or(false) ? Arithmetic::Nvidia : Arithmetic::Exact;
    const std::optional<Expected> expected =
        computeExpected(prepared, module, runnable.errorModel(arithmetic), diagnostics);
    if (!expected)
      return reported();
    for (const auto &[name, of] : *expected) {
      const Place &place = places.at(name);
      auto *values = reinterpret_cast<double *>(memory(0) + place.values);
      for (size_t i = 0; i < of.values.numValues(); ++i)
        values[i] = of.values.at(i).toDouble();
      std::copy(of.tolerances.begin(), of.tolerances.end(), reinterpret_cast<double *>(memory(0) + place.tolerances));
    }
    return std::nullopt;
  }

  const Module &module;
  const SourceManager &sources;
  DiagnosticEngine diagnostics;
  const std::function<char *(uint64_t)> &memory;
  Runnables &runnables;
  const Object &object;
  std::map<std::string, Place> places;
};

std::string lineOf(const char *key, llvm::json::Value value) {
  return llvm::formatv("{0}", llvm::json::Value(Object{{key, std::move(value)}})).str();
}

} // namespace

std::string Service::answer(const std::string &request) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(request);
  const Object *object = value ? value->getAsObject() : nullptr;
  if (!value)
    return lineOf("error", llvm::toString(value.takeError()));
  if (!object)
    return lineOf("error", "a request is a JSON object");
  if (!runnables)
    runnables.emplace(module, options);
  std::optional<Refusal> refusal = Request(module, sources, memory, *runnables, *object).answer();
  if (!refusal)
    return lineOf("done", true);
  runnables.reset(); // so that what does not compile says why each time
  return lineOf("error", llvm::json::fixUTF8(refusal->message));
}

} // namespace tkc::harness
