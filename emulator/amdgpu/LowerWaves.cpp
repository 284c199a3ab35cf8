// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each call of an intrinsic becomes a call of its model with operands and result in memory; so do fences, and the few
// instructions that asm statements may hold.
#include "emulator/amdgpu/Amdgpu.h"
#include "emulator/amdgpu/WaveModels.h"

#include <fmt/core.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdlib>

namespace tkc::emulator {

Cdna cdnaOf(std::string_view arch) {
  return arch == "gfx90a" ? Cdna::Cdna2 : arch == "gfx942" ? Cdna::Cdna3 : arch == "gfx950" ? Cdna::Cdna4 : Cdna::None;
}

namespace {

constexpr llvm::StringRef prefix = "llvm.amdgcn.";
constexpr uint32_t slotBytes = 1024; ///< of a call's operands and result together

class Lowering {
public:
  Lowering(LoweringContext &context, llvm::Function &function)
      : context(context), function(function), layout(context.module.getDataLayout()),
        gpu(cdnaOf(function.getFnAttribute("target-cpu").getValueAsString().str())) {}

  void run() {
    std::vector<llvm::Instruction *> all;
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        all.push_back(&instruction);
    for (llvm::Instruction *instruction : all) {
      if (auto *fence = llvm::dyn_cast<llvm::FenceInst>(instruction)) {
        lowerFence(*fence);
      } else if (auto *call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
        if (call->isInlineAsm())
          lowerAsmText(*call);
        else if (call->getCalledFunction() && call->getCalledFunction()->getName().starts_with(prefix))
          lowerIntrinsic(*call);
      } else if (auto *cast = llvm::dyn_cast<llvm::IntToPtrInst>(instruction);
                 cast && cast->getType()->getPointerAddressSpace() == 8) {
        lowerDescriptor(*cast);
      }
    }
  }

private:
  // ---- operands in memory

  llvm::Value *slot(llvm::IRBuilder<> &builder, uint32_t offset) {
    if (!slots) {
      llvm::BasicBlock &entry = function.getEntryBlock();
      llvm::IRBuilder<> first(&entry, entry.begin());
      llvm::AllocaInst *memory = first.CreateAlloca(llvm::ArrayType::get(first.getInt8Ty(), slotBytes));
      memory->setAlignment(llvm::Align(16));
      slots = first.CreateAddrSpaceCast(memory, first.getPtrTy());
    }
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), slots, offset);
  }

  /// Bytes that a value takes once pointers are the host's.
  uint32_t sizeOf(llvm::Type *type) const {
    if (type->isPointerTy()) {
      const unsigned space = type->getPointerAddressSpace();
      return space == 3 || space == 6 ? 4 : 8;
    }
    return static_cast<uint32_t>(layout.getTypeStoreSize(type).getFixedValue());
  }

  WaveInstruction::Operand place(llvm::Type *type, uint32_t &next) const {
    WaveInstruction::Operand operand;
    operand.offset = next;
    operand.bytes = sizeOf(type);
    llvm::Type *element = type->getScalarType();
    operand.elementBits = element->isPointerTy() ? 8 * operand.bytes : element->getPrimitiveSizeInBits();
    operand.isFloat = element->isFloatingPointTy();
    operand.isBfloat = element->isBFloatTy();
    next += (operand.bytes + 15) / 16 * 16;
    return operand;
  }

  /// A call of `name`'s model in front of `at`; its result, or null if there is none.
  llvm::Value *bind(llvm::Instruction &at, const std::string &name, llvm::ArrayRef<llvm::Value *> values,
                    llvm::Type *resultType) {
    auto owned = std::make_unique<WaveInstruction>();
    WaveInstruction &bound = *owned;
    context.data.waveInstructions.push_back(std::shared_ptr<WaveInstruction>(std::move(owned)));
    bound.name = name;
    bound.site = siteOf(context, at, name);
    bound.gpu = gpu;
    uint32_t next = 0;
    if (!resultType->isVoidTy())
      bound.result = place(resultType, next);
    llvm::IRBuilder<> builder(&at);
    for (llvm::Value *value : values) {
      if (value->getType()->isIntegerTy(1))
        value = builder.CreateZExt(value, builder.getInt8Ty());
      bound.operands.push_back(place(value->getType(), next));
      if (auto *number = llvm::dyn_cast<llvm::ConstantInt>(value); number && number->getBitWidth() <= 64)
        bound.operands.back().constant = number->getSExtValue();
      if (next <= slotBytes)
        builder.CreateAlignedStore(value, slot(builder, bound.operands.back().offset), llvm::Align(16));
    }
    bound.model = next <= slotBytes ? findWaveModel(name) : nullptr;
    if (!bound.model || (bound.model->decode && !bound.model->decode(bound))) {
      context.fail(fmt::format("{}: the intrinsic `{}` has no model{}", context.sites.describe(siteOf(context, at, "")),
                               name, bound.model ? " in this form" : ""));
      return resultType->isVoidTy() ? nullptr : llvm::PoisonValue::get(resultType);
    }
    const llvm::FunctionCallee run =
        context.module.getOrInsertFunction("tkc_run_wave", builder.getVoidTy(), builder.getPtrTy(), builder.getPtrTy());
    llvm::Value *address =
        llvm::ConstantExpr::getIntToPtr(builder.getInt64(reinterpret_cast<uint64_t>(&bound)), builder.getPtrTy());
    builder.CreateCall(run, {address, slot(builder, 0)});
    if (resultType->isVoidTy())
      return nullptr;
    if (resultType->isIntegerTy(1))
      return builder.CreateTrunc(builder.CreateLoad(builder.getInt8Ty(), slot(builder, 0)), resultType);
    return builder.CreateAlignedLoad(resultType, slot(builder, 0), llvm::Align(16));
  }

  void replace(llvm::Instruction &old, llvm::Value *with) {
    if (with)
      old.replaceAllUsesWith(with);
    old.eraseFromParent();
  }

  // ---- what there is

  void lowerIntrinsic(llvm::CallInst &call) {
    const llvm::Function &callee = *call.getCalledFunction();
    const llvm::StringRef whole = callee.isIntrinsic() && callee.getIntrinsicID() != llvm::Intrinsic::not_intrinsic
                                      ? llvm::Intrinsic::getBaseName(callee.getIntrinsicID())
                                      : callee.getName();
    const llvm::SmallVector<llvm::Value *> values(call.args());
    replace(call, bind(call, whole.substr(prefix.size()).str(), values, call.getType()));
  }

  /// Of scopes that reach beyond the wave, what the lane has done is complete.
  void lowerFence(llvm::FenceInst &fence) {
    llvm::SmallVector<llvm::StringRef> names;
    fence.getContext().getSyncScopeNames(names);
    const llvm::StringRef scope = names[fence.getSyncScopeID()];
    const bool reachesOthers = !scope.starts_with("wavefront") && !scope.starts_with("singlethread");
    if (reachesOthers && fence.getOrdering() != llvm::AtomicOrdering::Acquire)
      bind(fence, "fence", {}, llvm::Type::getVoidTy(fence.getContext()));
    fence.eraseFromParent();
  }

  /// A buffer's descriptor out of its 128 bits.
  void lowerDescriptor(llvm::IntToPtrInst &cast) {
    replace(cast, bind(cast, "make.buffer.rsrc.bits", {cast.getOperand(0)}, cast.getType()));
  }

  // ---- asm: waits and hints, conversions to integers, and empty statements, which keep values where they are

  void lowerAsmText(llvm::CallInst &call) {
    const auto &code = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
    if (const llvm::StringRef text = code.getAsmString();
        text == "v_cvt_i32_f32 $0, $1" || text == "v_cvt_i32_f64 $0, $1")
      return lowerConversion(call);
    llvm::SmallVector<llvm::StringRef> lines;
    code.getAsmString().split(lines, '\n');
    bool isEmpty = true;
    for (llvm::StringRef line : lines) {
      const llvm::StringRef text = line.split(';').first.split("//").first.trim();
      if (text.empty())
        continue;
      isEmpty = false;
      if (!lowerAsmInstruction(call, text)) {
        context.fail(fmt::format("{}: the instruction `{}` has no model",
                                 context.sites.describe(siteOf(context, call, "")), text.str()));
        break;
      }
    }
    if (!isEmpty && !call.getType()->isVoidTy())
      context.fail(fmt::format("{}: an asm statement with results has no model",
                               context.sites.describe(siteOf(context, call, ""))));
    passOperandsOn(call, code);
  }

  bool lowerAsmInstruction(llvm::CallInst &call, llvm::StringRef text) {
    const auto [opcode, operands] = text.split(' ');
    llvm::Type *nothing = llvm::Type::getVoidTy(call.getContext());
    if (opcode == "s_barrier")
      bind(call, "s.barrier", {}, nothing);
    else if (opcode == "s_waitcnt")
      return lowerWait(call, operands.trim());
    else
      return opcode == "s_nop" || opcode == "s_setprio" || opcode == "s_sleep";
    return true;
  }

  /// To an integer, saturating, and 0 of NaN: LLVM's own instruction means nothing where the number does not fit.
  void lowerConversion(llvm::CallInst &call) {
    llvm::IRBuilder<> builder(&call);
    llvm::Value *number = call.getArgOperand(0);
    replace(call, builder.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {call.getType(), number->getType()}, {number}));
  }

  /// `vmcnt(0) & lgkmcnt(2)`, with any separator.
  bool lowerWait(llvm::CallInst &call, llvm::StringRef text) {
    WaitCounts counts;
    while (!text.empty()) {
      const auto [name, rest] = text.split('(');
      uint32_t count = 0;
      const auto [number, others] = rest.split(')');
      if (number.trim().getAsInteger(10, count))
        return false;
      if (name.trim() == "vmcnt")
        counts.loads = count;
      else if (name.trim() == "lgkmcnt")
        counts.lds = count;
      else if (name.trim() != "expcnt")
        return false;
      text = others.ltrim(" &,\t");
    }
    bind(call, "s.waitcnt", {llvm::ConstantInt::get(llvm::Type::getInt32Ty(call.getContext()), counts.encode())},
         llvm::Type::getVoidTy(call.getContext()));
    return true;
  }

  /// What an output is tied to is its value.
  void passOperandsOn(llvm::CallInst &call, const llvm::InlineAsm &code) {
    std::vector<llvm::Value *> results;
    unsigned argument = 0;
    for (const llvm::InlineAsm::ConstraintInfo &constraint : code.ParseConstraints()) {
      if (constraint.Type == llvm::InlineAsm::isOutput && !constraint.isIndirect)
        results.push_back(nullptr);
      else if (constraint.Type == llvm::InlineAsm::isInput || constraint.isIndirect) {
        llvm::Value *value = call.getArgOperand(argument++);
        const std::string &kind = constraint.Codes.front();
        if (std::isdigit(static_cast<unsigned char>(kind[0])))
          results[static_cast<size_t>(std::stoi(kind))] = value;
      }
    }
    llvm::IRBuilder<> builder(&call);
    llvm::Value *all = nullptr;
    if (call.getType()->isStructTy()) {
      all = llvm::PoisonValue::get(call.getType());
      for (unsigned i = 0; i < results.size(); ++i)
        if (results[i])
          all = builder.CreateInsertValue(all, results[i], i);
    } else if (!call.getType()->isVoidTy()) {
      all = !results.empty() && results[0] ? results[0] : llvm::PoisonValue::get(call.getType());
    }
    replace(call, all);
  }

  LoweringContext &context;
  llvm::Function &function;
  const llvm::DataLayout &layout;
  Cdna gpu;
  llvm::Value *slots = nullptr;
};

} // namespace

void lowerWaveInstructions(LoweringContext &context, llvm::Function &function) { Lowering(context, function).run(); }

} // namespace tkc::emulator
