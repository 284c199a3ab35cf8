// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that are put into kernels: of memory accesses, and of values that are not there yet.
#include "emulator/Lower.h"

#include <fmt/core.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <set>

namespace tkc::emulator {

SiteId siteOf(LoweringContext &context, const llvm::Instruction &instruction, const std::string &what) {
  std::vector<Frame> frames;
  for (const llvm::DILocation *at = instruction.getDebugLoc(); at; at = at->getInlinedAt())
    if (at->getLine() != 0)
      frames.push_back({context.sites.file(at->getFilename().str()), at->getLine()});
  return context.sites.add(std::move(frames), what);
}

namespace {

/// The thread's own variables, copies of arguments, and constants of the file: what no check is needed for.
bool isPrivate(const llvm::Value *pointer) {
  constexpr unsigned amdgpuConstant = 4, amdgpuPrivate = 5; // kernels' arguments among the constants
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space == amdgpuConstant || space == amdgpuPrivate)
    return true;
  llvm::SmallVector<const llvm::Value *, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects);
  for (const llvm::Value *object : objects) {
    if (llvm::isa<llvm::AllocaInst>(object))
      continue;
    if (const auto *argument = llvm::dyn_cast<llvm::Argument>(object);
        argument && (argument->hasByValAttr() || argument->hasByRefAttr()))
      continue;
    if (const auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(object); variable && variable->isConstant())
      continue;
    return false;
  }
  return true;
}

class AccessChecker {
public:
  explicit AccessChecker(LoweringContext &context, llvm::Function &function)
      : context(context), layout(function.getParent()->getDataLayout()) {}

  void check(llvm::Instruction &instruction) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      check(instruction, load->getPointerOperand(), size(load->getType()), load->getAlign(),
            load->isAtomic() || load->isVolatile() ? AccessKind::StrongRead : AccessKind::Read);
      if (load->isVolatile() || load->isAtomic()) {
        yieldBefore(instruction);
        acquireAfter(instruction, load->getPointerOperand());
      }
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      check(instruction, store->getPointerOperand(), size(store->getValueOperand()->getType()), store->getAlign(),
            store->isAtomic() || store->isVolatile() ? AccessKind::StrongWrite : AccessKind::Write);
    } else if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      check(instruction, update->getPointerOperand(), size(update->getType()), update->getAlign(), AccessKind::Atomic);
      acquireAfter(instruction, update->getPointerOperand());
    } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      check(instruction, exchange->getPointerOperand(), size(exchange->getNewValOperand()->getType()),
            exchange->getAlign(), AccessKind::Atomic);
      yieldBefore(instruction);
      acquireAfter(instruction, exchange->getPointerOperand());
    } else if (auto *memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      check(instruction, memory->getDest(), memory->getLength(), llvm::Align(1), AccessKind::Write);
      if (auto *copy = llvm::dyn_cast<llvm::MemTransferInst>(memory))
        check(instruction, copy->getSource(), copy->getLength(), llvm::Align(1), AccessKind::Read);
    }
  }

private:
  llvm::Value *size(llvm::Type *type) const {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(type->getContext()), layout.getTypeStoreSize(type));
  }

  void check(llvm::Instruction &at, llvm::Value *pointer, llvm::Value *bytes, llvm::Align align, AccessKind kind) {
    if (isPrivate(pointer))
      return;
    llvm::IRBuilder<> builder(&at);
    const llvm::FunctionCallee callee =
        context.module.getOrInsertFunction("tkc_access", builder.getVoidTy(), builder.getInt64Ty(),
                                           builder.getInt64Ty(), builder.getInt32Ty(), builder.getInt32Ty());
    const auto packed = static_cast<uint32_t>(align.value()) << 3 | static_cast<uint32_t>(kind);
    builder.CreateCall(callee, {builder.CreatePtrToInt(pointer, builder.getInt64Ty()), bytes, builder.getInt32(packed),
                                builder.getInt32(siteOf(context, at, ""))});
  }

  void yieldBefore(llvm::Instruction &at) {
    llvm::IRBuilder<> builder(&at);
    builder.CreateCall(context.module.getOrInsertFunction("tkc_yield", builder.getVoidTy()));
  }

  /// What others handed on with the value that was read.
  void acquireAfter(llvm::Instruction &at, llvm::Value *pointer) {
    if (isPrivate(pointer))
      return;
    llvm::IRBuilder<> builder(at.getNextNode());
    builder.CreateCall(context.module.getOrInsertFunction("tkc_acquire", builder.getVoidTy(), builder.getInt64Ty()),
                       {builder.CreatePtrToInt(pointer, builder.getInt64Ty())});
  }

  LoweringContext &context;
  const llvm::DataLayout &layout;
};

/// Finds what uses the results of asynchronous products and loads without an empty asm statement in between, which is
/// where they become real (tk/pin.h). Correct code has none, so that this costs nothing.
class PendingValues {
public:
  explicit PendingValues(LoweringContext &context) : context(context) {}

  void follow(llvm::Value &value) {
    if (!seen.insert(&value).second)
      return;
    for (llvm::Use &use : llvm::make_early_inc_range(value.uses())) {
      auto *user = llvm::cast<llvm::Instruction>(use.getUser());
      if (llvm::isa<llvm::ExtractValueInst, llvm::InsertValueInst, llvm::PHINode, llvm::SelectInst, llvm::BitCastInst>(
              user)) {
        follow(*user);
      } else if (auto *call = llvm::dyn_cast<llvm::CallBase>(user); call && passesOn(*call)) {
        continue;
      } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(user); store && isPrivate(store->getPointerOperand())) {
        continue;
      } else if (value.getType()->getPrimitiveSizeInBits() == 32) {
        guard(use, *user);
      }
    }
  }

private:
  /// Empty statements, and products, which take what a product before them gives.
  static bool passesOn(const llvm::CallBase &call) {
    if (!call.isInlineAsm())
      return false;
    const llvm::StringRef text = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getAsmString();
    return text.empty() || text.contains("wgmma.mma_async");
  }

  void guard(llvm::Use &use, llvm::Instruction &user) {
    llvm::IRBuilder<> builder(&user);
    const llvm::FunctionCallee callee = context.module.getOrInsertFunction(
        "tkc_use", builder.getInt32Ty(), builder.getInt32Ty(), builder.getInt32Ty(), builder.getInt32Ty());
    llvm::Type *type = use->getType();
    llvm::Value *bits = builder.CreateBitCast(use.get(), builder.getInt32Ty());
    bits = builder.CreateCall(callee,
                              {bits, builder.getInt32(type->isFloatTy()), builder.getInt32(siteOf(context, user, ""))});
    use.set(builder.CreateBitCast(bits, type));
  }

  LoweringContext &context;
  std::set<const llvm::Value *> seen;
};

} // namespace

void checkAccesses(LoweringContext &context, llvm::Function &function) {
  AccessChecker checker(context, function);
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block))
      checker.check(instruction);
}

void guardPendingValues(LoweringContext &context, llvm::Function &function) {
  std::vector<llvm::CallBase *> products;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
        if (const llvm::StringRef text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
            text.contains("wgmma.mma_async") || text.contains("tcgen05.ld."))
          products.push_back(call);
  PendingValues pending(context);
  for (llvm::CallBase *product : products)
    pending.follow(*product);
}

} // namespace tkc::emulator
