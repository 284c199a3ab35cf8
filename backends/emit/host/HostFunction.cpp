// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/HostFunction.h"

#include "backends/emit/host/Conditions.h"
#include "backends/emit/kernel/Types.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tkc::cuda {
namespace {

std::string hostType(ElemType elem) {
  switch (elem) {
  case ElemType::F64:
    return "double";
  case ElemType::I32:
  case ElemType::I8:
  case ElemType::U8:
  case ElemType::I4:
  case ElemType::U4:
    return "int32_t";
  case ElemType::I64:
    return "int64_t";
  case ElemType::Bool:
    return "int";
  case ElemType::F32:
  case ElemType::TF32:
  case ElemType::F16:
  case ElemType::BF16:
  case ElemType::F8E4M3:
  case ElemType::F8E5M2:
  case ElemType::F8E8M0:
  case ElemType::F4E2M1:
  case ElemType::F6E2M3:
  case ElemType::F6E3M2:
    return "float";
  }
  return "";
}

/// What `name` may be; null: it has no choices.
template <class Choice>
const std::vector<Choice> *choicesOf(const std::string &name,
                                     const std::vector<std::pair<std::string, std::vector<Choice>>> &all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto &each) { return each.first == name; });
  return found == all.end() ? nullptr : &found->second;
}

/// `from` of the first of `tensors` that the call has, else `otherwise`.
std::string ofFirstPresent(const std::vector<std::string> &tensors, const std::vector<std::string> &from,
                           const std::string &otherwise) {
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i)
    text += fmt::format("{} ? {} : ", tensors[i], from[i]);
  return text + otherwise;
}

} // namespace

std::string hostElement(ElemType elem) {
  switch (elem) {
  case ElemType::TF32:
    return "tk::element::f32";
  case ElemType::Bool:
    return "tk::element::boolean";
  // Names that `tk` has as types would hide those.
  case ElemType::I8:
    return "tk::element::int8";
  case ElemType::U8:
    return "tk::element::uint8";
  case ElemType::I4:
    return "tk::element::int4";
  case ElemType::U4:
    return "tk::element::uint4";
  case ElemType::I32:
    return "tk::element::int32";
  case ElemType::I64:
    return "tk::element::int64";
  default:
    return fmt::format("tk::element::{}", spelling(elem));
  }
}

HostFunction::HostFunction(const Signature &signature, const SourceManager &sources, const Dialect &dialect,
                           const FileNames &names)
    : signature(signature), sources(sources), dialect(dialect), names(names), taken(namesAround()),
      callName(fresh("call")), deviceName(fresh("device")), argumentsName(fresh("arguments")),
      streamName(fresh("stream")), bytesName(fresh("bytes")), workspaceName(fresh("workspace")),
      availableName(fresh("workspace_bytes")), codesName(fresh("codes")) {
  for (const ir::Param *param : tensors())
    views[param->name] = fresh(identifier(param->name) + "_view");
}

// ---- declarations --------------------------------------------------------------------------------------------------

std::string HostFunction::functionName(EntryKind kind) const {
  const std::string name = entryName(signature.name);
  switch (kind) {
  case EntryKind::WithWorkspace:
    return name + "_with_workspace";
  case EntryKind::WorkspaceQuery:
    return name + "_workspace_bytes";
  case EntryKind::Kernel:
  case EntryKind::Program:
    break;
  }
  return name;
}

std::string HostFunction::parameter(const std::string &name) const {
  const ir::Param *param = findParam(name);
  if (param && param->isTensor)
    return fmt::format("const tk_tensor *{}", identifier(name));
  return fmt::format("{} {}", numberType(name), identifier(name));
}

std::string HostFunction::numberType(const std::string &name) const {
  const ir::Param *param = findParam(name);
  return param ? hostType(param->elem) : "int";
}

std::vector<std::string> HostFunction::parameters() const {
  std::vector<std::string> list;
  for (const std::string &name : signature.order)
    list.push_back(parameter(name));
  return list;
}

std::vector<std::pair<std::string, std::string>> HostFunction::trailing(EntryKind kind) const {
  const std::pair<std::string, std::string> stream{fmt::format("struct {} *", dialect.stream), streamName};
  switch (kind) {
  case EntryKind::Kernel:
    return {stream};
  case EntryKind::Program:
  case EntryKind::WithWorkspace:
    return {{"void *", workspaceName}, {"int64_t ", availableName}, stream};
  case EntryKind::WorkspaceQuery:
    return {};
  }
  return {};
}

std::string HostFunction::declaration(EntryKind kind) const {
  std::vector<std::string> list = parameters();
  for (const auto &[type, name] : trailing(kind))
    list.push_back(type + name);
  return fmt::format("{} {}({})", kind == EntryKind::WorkspaceQuery ? "int64_t" : "tk_status", functionName(kind),
                     fmt::join(list, ", "));
}

/// " = {}" of a tensor that may be left out, " = 1" of a number with a default; empty where there is none.
std::string HostFunction::defaultOf(const std::string &name) const {
  if (const ir::Param *param = findParam(name); param && param->isTensor)
    return param->isOptional ? " = {}" : "";
  if (auto found = signature.scalarDefaults.find(name); found != signature.scalarDefaults.end())
    return " = " + hostNumber(found->second, findParam(name)->elem);
  for (const ConstParam &param : signature.consts)
    if (param.name == name && param.defaultValue)
      return param.elem == ElemType::Bool ? (*param.defaultValue ? " = true" : " = false")
                                          : fmt::format(" = {}", *param.defaultValue);
  return "";
}

std::string HostFunction::overload(EntryKind kind, bool withDefaults) const {
  std::vector<std::string> list;
  for (const std::string &name : signature.order) {
    const ir::Param *param = findParam(name);
    const bool isBool = std::any_of(signature.consts.begin(), signature.consts.end(), [&](const ConstParam &constant) {
      return constant.name == name && constant.elem == ElemType::Bool;
    });
    list.push_back(param && param->isTensor ? fmt::format("const tk::tensor &{}", identifier(name))
                   : isBool                 ? fmt::format("bool {}", identifier(name))
                                            : parameter(name));
  }
  for (const auto &[type, name] : trailing(kind))
    list.push_back(type + name);
  if (withDefaults && kind != EntryKind::WorkspaceQuery)
    list.back() += " = nullptr";
  if (withDefaults && kind != EntryKind::Program && kind != EntryKind::WithWorkspace)
    for (size_t i = signature.order.size(); i-- > 0;) {
      const std::string text = defaultOf(signature.order[i]);
      if (text.empty())
        break;
      list[i] += text;
    }
  return fmt::format("{} {}({})", kind == EntryKind::WorkspaceQuery ? "int64_t" : "tk_status", functionName(kind),
                     fmt::join(list, ", "));
}

std::string HostFunction::overloadDefinition(EntryKind kind) const {
  std::vector<std::string> arguments;
  for (const std::string &name : signature.order) {
    const ir::Param *param = findParam(name);
    arguments.push_back(identifier(name) + (param && param->isTensor ? ".get()" : ""));
  }
  for (const auto &[type, name] : trailing(kind))
    arguments.push_back(name);
  return fmt::format("{} {{\nreturn ::{}({});\n}}\n\n", overload(kind, false), functionName(kind),
                     fmt::join(arguments, ", "));
}

// ---- names ---------------------------------------------------------------------------------------------------------

/// What the caller names, and what functions of the file are called.
std::set<std::string> HostFunction::namesAround() const {
  std::set<std::string> all = names.entries;
  for (const std::vector<std::string> *list : {&signature.order, &signature.symbols})
    for (const std::string &name : *list)
      all.insert(identifier(name));
  for (const auto &[name, choices] : signature.typeParams)
    all.insert(identifier(name));
  for (const auto &[plan, kernel] : names.kernels)
    all.insert({kernel, argumentsOf(kernel), sharedOf(kernel)});
  return all;
}

std::string HostFunction::fresh(std::string name) {
  while (!taken.insert(name).second)
    name += '_';
  return name;
}

bool HostFunction::hidesItself() const {
  const auto isOwn = [&](const std::string &other) { return identifier(other) == functionName(EntryKind::Kernel); };
  return std::any_of(signature.order.begin(), signature.order.end(), isOwn) ||
         std::any_of(signature.symbols.begin(), signature.symbols.end(), isOwn);
}

const ir::Param *HostFunction::findParam(const std::string &name) const { return signature.findParam(name); }

std::vector<const ir::Param *> HostFunction::tensors() const {
  std::vector<const ir::Param *> list;
  for (const ir::Param &param : signature.params)
    if (param.isTensor)
      list.push_back(&param);
  return list;
}

std::string HostFunction::listOfTensors() const {
  std::string list;
  for (const ir::Param *param : tensors())
    list += ", " + view(param->name);
  return list;
}

// ---- checks --------------------------------------------------------------------------------------------------------

void HostFunction::checkArguments() {
  boundTypes.clear();
  line("tk::host::call {}(\"{}\");", callName, signature.name);
  takeTensors();
  bindTypes();
  bindSymbols();
  checkDims();
  checkConditions();
  checkOverlap();
}

void HostFunction::findDevice(const Architectures &gpus) {
  const auto text = [](const arch::Description &gpu) {
    const plan::Capability &needed = gpu.capability;
    return gpu.language == arch::Language::Hip
               ? fmt::format("\"{}\"", gpu.name)
               : fmt::format("{{{}, {}, {}}}", needed.major, needed.minor, needed.exactly);
  };
  std::string code(gpus.empty() ? std::string(dialect.anyDevice) : text(*gpus.front()));
  if (gpus.size() > 1) {
    code = codesName;
    std::vector<std::string> rows;
    for (const arch::Description *gpu : gpus)
      rows.push_back(gpu->language == arch::Language::Hip
                         ? text(*gpu)
                         : fmt::format("{}, \"{}\"}}", text(*gpu).substr(0, text(*gpu).size() - 1), gpu->name));
    line("constexpr {} {}[] = {{{}}};", dialect.deviceType, code, fmt::join(rows, ", "));
  }
  line("const tk::host::device {} = tk::host::find_device({}, {}{});", deviceName, callName, code, listOfTensors());
  line("if (!{0}.ok())\nreturn {0}.status();", callName);
}

void HostFunction::takeTensors() {
  for (const ir::Param *param : tensors()) {
    const bool mayBeBytes =
        isPacked(param->elem) && isInteger(param->elem) && !signature.typeParamOf.count(param->name);
    line("const tk::host::argument {} = {}.tensor(\"{}\", {}, {}{}{});", view(param->name), callName, param->name,
         identifier(param->name), param->dims.size(),
         param->isOptional ? ", true"
         : mayBeBytes      ? ", false"
                           : "",
         mayBeBytes ? ", " + hostElement(param->elem) : "");
  }
}

void HostFunction::bindTypes() {
  std::map<std::string, const ir::Param *> saidBy;
  for (const ir::Param *param : tensors()) {
    auto typeParam = signature.typeParamOf.find(param->name);
    if (typeParam == signature.typeParamOf.end()) {
      line("{}.same_type({}, {}, \"\");", callName, view(param->name), hostElement(param->elem));
      continue;
    }
    const std::string &name = typeParam->second;
    if (boundTypes.insert(name).second)
      saidBy[name] = bindType(name);
    if (saidBy[name] != param)
      line("{}.same_type({}, {}, \", as the other tensors of type `{}`\");", callName, view(param->name),
           identifier(name), name);
  }
}

/// By the first of its tensors that is always there, which is returned, else by the first that this call has.
const ir::Param *HostFunction::bindType(const std::string &name) {
  const ir::Param *always = nullptr;
  std::vector<std::string> views, types;
  for (const ir::Param *param : tensors())
    if (const auto type = signature.typeParamOf.find(param->name);
        type != signature.typeParamOf.end() && type->second == name) {
      views.push_back(view(param->name));
      types.push_back(views.back() + ".type");
      if (!param->isOptional && !always)
        always = param;
    }
  const std::string first = hostElement(choicesOf(name, signature.typeParams)->front());
  line("const tk::element {} = {};", identifier(name),
       always ? view(always->name) + ".type" : ofFirstPresent(views, types, first));
  requireChoice(name);
  return always;
}

void HostFunction::requireChoice(const std::string &name) {
  std::vector<std::string> tests, spellings;
  for (ElemType elem : *choicesOf(name, signature.typeParams)) {
    tests.push_back(fmt::format("{} == {}", identifier(name), hostElement(elem)));
    spellings.emplace_back(spelling(elem));
  }
  line("{}.require({}, \"{} in {{{}}}\");", callName, fmt::join(tests, " || "), name, fmt::join(spellings, ", "));
}

void HostFunction::bindSymbols() {
  for (const std::string &symbol : signature.symbols) {
    std::string always;
    std::vector<std::string> views, binds;
    for (const ir::Param *param : tensors())
      for (size_t i = 0; i < param->dims.size(); ++i)
        if (const std::optional<int64_t> offset = offsetFrom(param->dims[i], symbol)) {
          binds.push_back(fmt::format("{}.bind({}, {}, {})", callName, view(param->name), i, *offset));
          views.push_back(view(param->name));
          if (!param->isOptional && always.empty())
            always = binds.back();
        }
    if (binds.empty() && isConst(symbol)) // a const parameter stands in the dims
      continue;
    const std::vector<int64_t> *choices = choicesOf(symbol, signature.dimChoices);
    const int64_t otherwise = choices ? choices->front() : 0;
    line("const int {} = {};", identifier(symbol),
         always.empty() ? ofFirstPresent(views, binds, std::to_string(otherwise)) : always);
  }
}

bool HostFunction::isConst(const std::string &name) const {
  return std::any_of(signature.consts.begin(), signature.consts.end(),
                     [&](const ConstParam &c) { return c.name == name; });
}

void HostFunction::checkDims() {
  for (const ir::Param *param : tensors())
    for (size_t i = 0; i < param->dims.size(); ++i)
      line("{}.dim({}, {}, {}, \"{}\");", callName, view(param->name), i, hostExpr(param->dims[i], {}),
           param->dims[i].str());
  for (const auto &[symbol, choices] : signature.dimChoices) {
    std::vector<std::string> tests;
    for (int64_t choice : choices)
      tests.push_back(fmt::format("{} == {}", identifier(symbol), choice));
    line("{}.require({}, \"{} in {{{}}}\");", callName, fmt::join(tests, " || "), symbol, fmt::join(choices, ", "));
  }
}

void HostFunction::checkConditions() {
  for (const ast::Expr *condition : signature.conditions)
    line("{}.require({}, \"{}\");", callName, unasked(*condition) + hostExpr(*condition),
         std::string(sources.text(condition->range)));
}

/// "!x && !y || ": a dim that only x and y have is not asked about where both are left out.
std::string HostFunction::unasked(const ast::Expr &condition) const {
  std::string text;
  for (const std::string &symbol : signature.symbols) {
    const std::vector<std::string> needed = optionalTensorsWith(signature, symbol);
    if (needed.empty() || choicesOf(symbol, signature.dimChoices) || !mentions(condition, symbol))
      continue;
    std::vector<std::string> tests;
    for (const std::string &name : needed)
      tests.push_back("!" + view(name));
    text += fmt::format("({}) || ", fmt::join(tests, " && "));
  }
  return text;
}

void HostFunction::checkOverlap() {
  const std::vector<const ir::Param *> list = tensors();
  for (const ir::Param *param : list)
    if (param->mode != ir::ParamMode::In)
      line("{}.distinct({});", callName, view(param->name));
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t j = 0; j < list.size(); ++j)
      if (i != j && list[i]->mode != ir::ParamMode::In && (list[j]->mode == ir::ParamMode::In || i < j))
        line("{}.disjoint({}, {});", callName, view(list[i]->name), view(list[j]->name));
}

std::string HostFunction::condition(const Specialization &specialization) const {
  std::vector<std::string> tests;
  for (const auto &[name, elem] : specialization.typeArgs)
    if (boundTypes.count(name))
      tests.push_back(fmt::format("{} == {}", identifier(name), hostElement(elem)));
  for (const auto &[name, value] : specialization.constants)
    if (specialization.bools.count(name)) // any C truth value
      tests.push_back((value ? "" : "!") + identifier(name));
    else
      tests.push_back(fmt::format("{} == {}", identifier(name), value));
  for (const ir::Param *param : tensors())
    if (param->isOptional)
      tests.push_back((specialization.absent.count(param->name) ? "!" : "") + view(param->name));
  return tests.empty() ? "" : fmt::format("{}", fmt::join(tests, " && "));
}

void HostFunction::openBranch(const Specialization &specialization, const std::string &also) {
  std::string test = condition(specialization);
  test += (test.empty() || also.empty() ? "" : " && ") + also;
  text += test.empty() ? "{\n" : fmt::format("if ({}) {{\n", test);
}

void HostFunction::openBranch(const Specialization &specialization, const std::vector<const ast::Expr *> &conditions,
                              Conditions &functions) {
  if (conditions.empty())
    return openBranch(specialization);
  std::string test = condition(specialization), inPlace;
  const Quantities asked = quantities(specialization, conditions);
  HostNames texts;
  for (const auto &[name, quantity] : asked)
    texts[name] = quantity.type == "int64_t" && name.find('(') == std::string::npos
                      ? fmt::format("int64_t({})", quantity.text) // products of dims
                      : quantity.text;
  for (const ast::Expr *part : conditions)
    inPlace += (inPlace.empty() ? "" : " && ") + hostExpr(*part, texts);
  constexpr size_t longest = 240; // some two lines
  test += test.empty() ? "" : " && ";
  test += inPlace.size() <= longest ? inPlace : functions.call(entryName(signature.name), conditions, asked);
  text += fmt::format("if ({}) {{\n", test);
}

std::string HostFunction::cheapestOf(const Specialization &specialization, const std::vector<Offer> &offers,
                                     Conditions &functions) const {
  return functions.cheapest(entryName(signature.name), offers, quantities(specialization, expressionsOf(offers)));
}

/// What conditions and costs of schedules ask about. Types that the specialisation fixes stand in place.
Quantities HostFunction::quantities(const Specialization &specialization,
                                    const std::vector<const ast::Expr *> &conditions) const {
  Quantities asked;
  for (const auto &[name, value] : specialization.constants)
    asked[name] = {identifier(name), specialization.bools.count(name) ? "bool" : "int"};
  for (const auto &[name, elem] : specialization.typeArgs)
    asked[name] = {hostElement(elem), ""};
  for (const std::string &name : askedAbout(conditions))
    if (const std::optional<ElemType> elem = parseElemType(name))
      asked.try_emplace(name, Quantity{hostElement(*elem), ""});
  asked["multiprocessors"] = {deviceName + ".multiprocessors", "int64_t"};
  for (const ir::Param *param : tensors())
    asked[fmt::format("alignment({})", param->name)] = {fmt::format("tk::host::alignment({})", view(param->name)),
                                                        "int64_t"};
  for (const std::string &symbol : signature.symbols)
    asked[symbol] = {identifier(symbol), "int64_t"};
  for (const std::string &name : signature.order)
    if (const ir::Param *param = findParam(name); param && !param->isTensor)
      asked.try_emplace(name, Quantity{identifier(name), numberType(name)});
  return asked;
}

void HostFunction::endWithoutSpecialization() {
  line("{}.fail(TK_NOT_COMPILED, \"no specialisation in this file serves these arguments\");", callName);
  line("return {}.status();", callName);
}

} // namespace tkc::cuda
