// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// asm statements: each instruction of the text becomes a call of its model with the values of its operands in memory.
// Registers that the text declares become variables, labels blocks, predicates branches.
#include "emulator/InstructionSets.h"
#include "emulator/Lower.h"
#include "emulator/Ptx.h"

#include <fmt/core.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cctype>
#include <map>
#include <optional>

namespace tkc::emulator {
namespace {

/// The text behind an operand of kind "C"; nothing if the constant is none.
std::optional<std::string> constantText(const llvm::Value *value) {
  if (const auto *number = llvm::dyn_cast<llvm::ConstantInt>(value))
    return std::to_string(number->getSExtValue());
  const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(value->stripPointerCasts());
  if (!variable || !variable->hasInitializer())
    return std::nullopt;
  if (variable->getInitializer()->isNullValue())
    return std::string();
  const auto *data = llvm::dyn_cast<llvm::ConstantDataSequential>(variable->getInitializer());
  if (!data || !data->isString())
    return std::nullopt;
  const llvm::StringRef text = data->getAsString();
  return text.substr(0, text.find('\0')).str();
}

/// One asm statement.
class Statement {
public:
  Statement(LoweringContext &context, llvm::CallBase &call, llvm::AllocaInst *slots)
      : context(context), call(call), code(*llvm::cast<llvm::InlineAsm>(call.getCalledOperand())), slots(slots),
        i64(llvm::Type::getInt64Ty(call.getContext())) {}

  static constexpr unsigned maxSlots = 160;

  void lower() {
    readOperands();
    const ptx::Program program = ptx::parse(text());
    if (!program.error.empty())
      return context.fail(fmt::format("{}: cannot read the asm at {}",
                                      context.sites.describe(siteOf(context, call, "")), program.error));
    if (program.instructions.empty())
      return lowerPin();
    declareVariables();
    bool branches = false;
    for (const ptx::Instruction &instruction : program.instructions)
      branches |= !instruction.label.empty() || !instruction.predicate.empty() || instruction.opcode == "bra";
    if (branches)
      lowerWithBlocks(program);
    else
      lowerStraight(program);
    finish();
  }

private:
  struct AsmOperand {
    llvm::Type *type = nullptr;           ///< null: text
    llvm::Value *input = nullptr;         ///< of an output: what is tied to it
    llvm::AllocaInst *variable = nullptr; ///< of an output
    int result = -1;                      ///< of an output: its number among those
    std::string text;
  };

  void readOperands() {
    const llvm::InlineAsm::ConstraintInfoVector constraints = code.ParseConstraints();
    unsigned argument = 0;
    int result = 0;
    std::vector<llvm::Type *> resultTypes;
    if (auto *structure = llvm::dyn_cast<llvm::StructType>(call.getType()))
      resultTypes.assign(structure->element_begin(), structure->element_end());
    else if (!call.getType()->isVoidTy())
      resultTypes.push_back(call.getType());
    for (const llvm::InlineAsm::ConstraintInfo &constraint : constraints) {
      if (constraint.Type == llvm::InlineAsm::isClobber || constraint.Type == llvm::InlineAsm::isLabel)
        continue;
      AsmOperand operand;
      if (constraint.Type == llvm::InlineAsm::isOutput) {
        if (constraint.isIndirect)
          return context.fail("an asm statement with a memory operand, which has no model");
        operand.result = result;
        operand.type = resultTypes[static_cast<size_t>(result++)];
      } else {
        llvm::Value *value = call.getArgOperand(argument++);
        const std::string &kind = constraint.Codes.front();
        if (std::isdigit(static_cast<unsigned char>(kind[0])))
          operands[static_cast<size_t>(std::stoi(kind))].input = value;
        if (std::optional<std::string> known = kind == "i" || kind == "n" ? constantText(value) : std::nullopt)
          operand.text = std::move(*known);
        else
          operand.type = value->getType(), operand.input = value;
      }
      operands.push_back(std::move(operand));
    }
  }

  /// The statement's text with its constant operands put in: `$3` stays where it is a register.
  std::string text() const {
    std::string result;
    const llvm::StringRef all = code.getAsmString();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] != '$') {
        result += all[i];
      } else if (i + 1 < all.size() && all[i + 1] == '$') {
        result += all[++i];
      } else {
        size_t end = i + 1;
        while (end < all.size() && std::isdigit(static_cast<unsigned char>(all[end])))
          ++end;
        const auto number = static_cast<size_t>(std::stoi(all.substr(i + 1, end - i - 1).str()));
        result += operands[number].type ? all.substr(i, end - i).str() + " " : operands[number].text;
        i = end - 1;
      }
    }
    return result;
  }

  // ---- values, all as i64

  llvm::Value *widen(llvm::IRBuilder<> &builder, llvm::Value *value) const {
    llvm::Type *type = value->getType();
    if (type->isPointerTy())
      return builder.CreatePtrToInt(value, i64);
    if (type->isFloatingPointTy() || type->isVectorTy())
      value = builder.CreateBitCast(value, builder.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits())));
    return builder.CreateZExtOrTrunc(value, i64);
  }

  llvm::Value *narrow(llvm::IRBuilder<> &builder, llvm::Value *value, llvm::Type *type) const {
    if (type->isPointerTy())
      return builder.CreateIntToPtr(value, type);
    const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
    value = builder.CreateTrunc(value, builder.getIntNTy(bits));
    return builder.CreateBitCast(value, type);
  }

  llvm::AllocaInst *newVariable() const {
    llvm::BasicBlock &entry = call.getFunction()->getEntryBlock();
    return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(i64);
  }

  void declareVariables() {
    llvm::IRBuilder<> builder(&call);
    for (AsmOperand &operand : operands) {
      if (operand.result < 0)
        continue;
      operand.variable = newVariable();
      builder.CreateStore(operand.input ? widen(builder, operand.input) : llvm::ConstantInt::get(i64, 0),
                          operand.variable);
    }
  }

  llvm::AllocaInst *variableOf(const std::string &name) {
    llvm::AllocaInst *&variable = variables[name];
    if (!variable)
      variable = newVariable();
    return variable;
  }

  /// Null: cannot be written.
  llvm::AllocaInst *targetOf(const ptx::Value &value) {
    switch (value.kind) {
    case ptx::Value::Kind::Operand:
      return operands[static_cast<size_t>(value.number)].variable;
    case ptx::Value::Kind::Register:
      return value.name.starts_with("%") ? nullptr : variableOf(value.name);
    case ptx::Value::Kind::Immediate:
    case ptx::Value::Kind::Sink:
      return nullptr;
    }
    return nullptr;
  }

  llvm::Value *valueOf(llvm::IRBuilder<> &builder, const ptx::Value &value) {
    if (llvm::AllocaInst *variable = targetOf(value))
      return builder.CreateLoad(i64, variable);
    switch (value.kind) {
    case ptx::Value::Kind::Operand:
      return widen(builder, operands[static_cast<size_t>(value.number)].input);
    case ptx::Value::Kind::Register:
      return specialValue(builder, value.name);
    case ptx::Value::Kind::Immediate:
      return llvm::ConstantInt::getSigned(i64, value.number);
    case ptx::Value::Kind::Sink:
      break;
    }
    return llvm::ConstantInt::get(i64, 0);
  }

  llvm::Value *specialValue(llvm::IRBuilder<> &builder, const std::string &name) {
    const int number = specialRegister(std::string_view(name).substr(1));
    if (const auto lack = lackOfRegister(context.gpu, std::string_view(name).substr(1)))
      context.fail(fmt::format("{}: {}", context.sites.describe(siteOf(context, call, "")), *lack));
    if (number < 0)
      context.fail(
          fmt::format("{}: the register `{}` has no model", context.sites.describe(siteOf(context, call, "")), name));
    const llvm::FunctionCallee read =
        context.module.getOrInsertFunction("tkc_special_register", i64, builder.getInt32Ty());
    return builder.CreateCall(read, {builder.getInt32(static_cast<uint32_t>(number))});
  }

  // ---- instructions

  const BoundInstruction *bind(const ptx::Instruction &instruction) {
    BoundInstruction &bound = context.data.instructions.emplace_back();
    bound.opcode = instruction.opcode;
    bound.site = siteOf(context, call, instruction.opcode);
    uint32_t next = 0;
    for (const ptx::Operand &operand : instruction.operands) {
      bound.operands.push_back({next, static_cast<uint32_t>(operand.values.size()),
                                operand.kind == ptx::Operand::Kind::Address, operand.offset});
      next += static_cast<uint32_t>(operand.values.size());
    }
    if (const auto lack = lackOf(context.gpu, bound.opcode, bound.operands.size()))
      context.fail(fmt::format("{}: {}", context.sites.describe(siteOf(context, call, "")), *lack));
    bound.model = findModel(bound.opcode);
    if (!bound.model || (bound.model->decode && !bound.model->decode(bound)) || next > maxSlots)
      context.fail(fmt::format("{}: the instruction `{}` has no model",
                               context.sites.describe(siteOf(context, call, "")), bound.opcode));
    return &bound;
  }

  void lowerInstruction(llvm::IRBuilder<> &builder, const ptx::Instruction &instruction) {
    const BoundInstruction *bound = bind(instruction);
    unsigned next = 0;
    for (const ptx::Operand &operand : instruction.operands)
      for (const ptx::Value &value : operand.values)
        builder.CreateStore(valueOf(builder, value), slot(builder, next++));
    const llvm::FunctionCallee run =
        context.module.getOrInsertFunction("tkc_run", builder.getVoidTy(), builder.getPtrTy(), builder.getPtrTy());
    llvm::Value *address = llvm::ConstantExpr::getIntToPtr(
        llvm::ConstantInt::get(i64, reinterpret_cast<uint64_t>(bound)), builder.getPtrTy());
    builder.CreateCall(run, {address, slots});
    if (instruction.operands.empty())
      return;
    const std::vector<ptx::Value> &results = instruction.operands.front().values;
    for (unsigned i = 0; i < results.size(); ++i)
      if (llvm::AllocaInst *target = targetOf(results[i]))
        builder.CreateStore(builder.CreateLoad(i64, slot(builder, i)), target);
  }

  llvm::Value *slot(llvm::IRBuilder<> &builder, unsigned i) const {
    return builder.CreateConstInBoundsGEP1_64(i64, slots, i);
  }

  void lowerStraight(const ptx::Program &program) {
    llvm::IRBuilder<> builder(&call);
    for (const ptx::Instruction &instruction : program.instructions)
      lowerInstruction(builder, instruction);
  }

  void lowerWithBlocks(const ptx::Program &program) {
    llvm::BasicBlock *before = call.getParent();
    llvm::BasicBlock *after = llvm::SplitBlock(before, &call);
    before->getTerminator()->eraseFromParent();
    llvm::Function *function = before->getParent();
    std::map<std::string, llvm::BasicBlock *> labels;
    for (const ptx::Instruction &instruction : program.instructions)
      if (!instruction.label.empty())
        labels[instruction.label] = llvm::BasicBlock::Create(call.getContext(), "", function, after);
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    for (const ptx::Instruction &instruction : program.instructions) {
      if (!instruction.label.empty()) {
        builder.CreateBr(labels[instruction.label]);
        builder.SetInsertPoint(labels[instruction.label]);
        continue;
      }
      llvm::BasicBlock *next = nullptr;
      llvm::BasicBlock *target = instruction.opcode == "bra" ? branchTarget(instruction, labels) : nullptr;
      if (!instruction.predicate.empty()) {
        next = llvm::BasicBlock::Create(call.getContext(), "", function, after);
        llvm::BasicBlock *then = target ? target : llvm::BasicBlock::Create(call.getContext(), "", function, after);
        llvm::Value *holds = builder.CreateICmpNE(builder.CreateLoad(i64, variableOf(instruction.predicate)),
                                                  llvm::ConstantInt::get(i64, 0));
        builder.CreateCondBr(holds, instruction.negated ? next : then, instruction.negated ? then : next);
        builder.SetInsertPoint(target ? next : then);
      }
      if (target && instruction.predicate.empty()) {
        builder.CreateBr(target);
        builder.SetInsertPoint(llvm::BasicBlock::Create(call.getContext(), "", function, after));
      } else if (!target) {
        lowerInstruction(builder, instruction);
        if (next) {
          builder.CreateBr(next);
          builder.SetInsertPoint(next);
        }
      }
    }
    builder.CreateBr(after);
  }

  llvm::BasicBlock *branchTarget(const ptx::Instruction &instruction,
                                 const std::map<std::string, llvm::BasicBlock *> &labels) {
    const std::string name = instruction.operands.empty() ? "" : instruction.operands.front().values.front().name;
    const auto found = labels.find(name);
    if (found != labels.end())
      return found->second;
    context.fail(fmt::format("asm branches to `{}`, which it does not have", name));
    return call.getParent();
  }

  /// An empty statement keeps the compiler from moving its registers' values across it. Where it follows a wait for
  /// products, they have become real.
  void lowerPin() {
    llvm::IRBuilder<> builder(&call);
    std::vector<llvm::Value *> results;
    for (const AsmOperand &operand : operands) {
      if (operand.result < 0)
        continue;
      llvm::Value *value = operand.input ? operand.input : llvm::PoisonValue::get(operand.type);
      if (operand.type->getPrimitiveSizeInBits() == 32 && !llvm::isa<llvm::Constant>(value)) {
        const llvm::FunctionCallee pin = context.module.getOrInsertFunction("tkc_pin", builder.getInt32Ty(),
                                                                            builder.getInt32Ty(), builder.getInt32Ty());
        value = builder.CreateBitCast(value, builder.getInt32Ty());
        llvm::Value *isFloat = builder.getInt32(operand.type->isFloatTy());
        value = builder.CreateBitCast(builder.CreateCall(pin, {value, isFloat}), operand.type);
      }
      results.push_back(value);
    }
    replace(builder, results);
  }

  void finish() {
    llvm::IRBuilder<> builder(&call);
    std::vector<llvm::Value *> results;
    for (const AsmOperand &operand : operands)
      if (operand.result >= 0)
        results.push_back(narrow(builder, builder.CreateLoad(i64, operand.variable), operand.type));
    replace(builder, results);
  }

  void replace(llvm::IRBuilder<> &builder, const std::vector<llvm::Value *> &results) {
    if (call.getType()->isStructTy()) {
      // What users take out of the structure, they get directly.
      for (llvm::User *user : llvm::make_early_inc_range(call.users()))
        if (auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(user)) {
          extract->replaceAllUsesWith(results[extract->getIndices().front()]);
          extract->eraseFromParent();
        }
      if (!call.use_empty()) {
        llvm::Value *all = llvm::PoisonValue::get(call.getType());
        for (unsigned i = 0; i < results.size(); ++i)
          all = builder.CreateInsertValue(all, results[i], i);
        call.replaceAllUsesWith(all);
      }
    } else if (!results.empty()) {
      call.replaceAllUsesWith(results.front());
    }
    call.eraseFromParent();
  }

  LoweringContext &context;
  llvm::CallBase &call;
  llvm::InlineAsm &code;
  llvm::AllocaInst *slots;
  llvm::Type *i64;
  std::vector<AsmOperand> operands;
  std::map<std::string, llvm::AllocaInst *> variables;
};

} // namespace

void lowerAsm(LoweringContext &context, llvm::Function &function) {
  std::vector<llvm::CallBase *> calls;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
        calls.push_back(call);
  if (calls.empty())
    return;
  llvm::BasicBlock &entry = function.getEntryBlock();
  llvm::IRBuilder<> builder(&entry, entry.begin());
  llvm::AllocaInst *slots =
      builder.CreateAlloca(llvm::ArrayType::get(builder.getInt64Ty(), Statement::maxSlots), nullptr, "slots");
  for (llvm::CallBase *call : calls)
    Statement(context, *call, slots).lower();
}

} // namespace tkc::emulator
