// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Lower.h"

#include "emulator/amdgpu/Amdgpu.h"

#include <fmt/core.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <map>

namespace tkc::emulator {

std::string entryName(const std::string &kernel) { return "tkc_entry_" + kernel; }

namespace {

constexpr unsigned sharedSpace = 3;

/// Static variables of shared memory one after another; the dynamic part, of unknown size, begins where they end.
class SharedVariables {
public:
  explicit SharedVariables(llvm::Module &module) : module(module) {}

  /// Bytes of the static ones.
  uint32_t lower() {
    std::vector<llvm::GlobalVariable *> all;
    for (llvm::GlobalVariable &variable : module.globals())
      if (variable.getAddressSpace() == sharedSpace)
        all.push_back(&variable);
    uint64_t used = 0;
    std::map<llvm::GlobalVariable *, uint64_t> offsets;
    for (llvm::GlobalVariable *variable : all) {
      if (variable->isDeclaration())
        continue;
      const uint64_t align = std::max<uint64_t>(variable->getAlign().valueOrOne().value(), 1);
      used = (used + align - 1) / align * align;
      offsets[variable] = used;
      used += module.getDataLayout().getTypeAllocSize(variable->getValueType());
    }
    used = (used + 15) / 16 * 16;
    llvm::SmallVector<llvm::Constant *> constants(all.begin(), all.end());
    llvm::convertUsersOfConstantsToInstructions(constants);
    for (llvm::GlobalVariable *variable : all)
      replace(*variable, variable->isDeclaration() ? used : offsets[variable]);
    return static_cast<uint32_t>(used);
  }

private:
  void replace(llvm::GlobalVariable &variable, uint64_t offset) {
    std::map<llvm::Function *, llvm::Value *> addresses;
    for (llvm::Use &use : llvm::make_early_inc_range(variable.uses())) {
      auto *user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
      if (!user)
        continue;
      llvm::Value *&address = addresses[user->getFunction()];
      if (!address) {
        llvm::BasicBlock &entry = user->getFunction()->getEntryBlock();
        llvm::IRBuilder<> builder(&entry, entry.getFirstInsertionPt());
        const llvm::FunctionCallee base =
            module.getOrInsertFunction("tkc_shared", builder.getInt64Ty(), builder.getInt32Ty());
        address = builder.CreateIntToPtr(builder.CreateCall(base, {builder.getInt32(static_cast<uint32_t>(offset))}),
                                         variable.getType());
      }
      use.set(address);
    }
    variable.removeDeadConstantUsers();
    if (variable.use_empty())
      variable.eraseFromParent();
  }

  llvm::Module &module;
};

std::string intrinsicSymbol(llvm::StringRef name) {
  std::string symbol = "tkc_" + name.str();
  std::replace(symbol.begin(), symbol.end(), '.', '_');
  return symbol;
}

/// Intrinsics of the NVPTX target become calls of the functions that serve them.
void lowerIntrinsics(LoweringContext &context) {
  for (llvm::Function &function : llvm::make_early_inc_range(context.module)) {
    const llvm::StringRef name = function.getName();
    if (!name.starts_with("llvm.nvvm.") || function.use_empty())
      continue;
    constexpr llvm::StringRef registers = "llvm.nvvm.read.ptx.sreg.";
    if (name.starts_with(registers)) {
      std::string spelled = name.substr(registers.size()).str();
      for (const char *prefix : {"cluster.ctarank", "cluster.nctarank", "cluster.ctaid", "cluster.nctaid"})
        if (spelled.starts_with(prefix))
          spelled[7] = '_';
      const int number = specialRegister(spelled);
      if (number < 0)
        context.fail(fmt::format("the intrinsic `{}` has no model", name.str()));
      for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
        auto *call = llvm::cast<llvm::CallInst>(user);
        llvm::IRBuilder<> builder(call);
        const llvm::FunctionCallee read =
            context.module.getOrInsertFunction("tkc_special_register", builder.getInt64Ty(), builder.getInt32Ty());
        llvm::Value *value = builder.CreateCall(read, {builder.getInt32(static_cast<uint32_t>(number))});
        call->replaceAllUsesWith(builder.CreateTrunc(value, call->getType()));
        call->eraseFromParent();
      }
      continue;
    }
    const std::span<const IntrinsicModel> models = intrinsicModels();
    if (std::none_of(models.begin(), models.end(), [&](const IntrinsicModel &model) { return name == model.name; })) {
      context.fail(fmt::format("the intrinsic `{}` has no model", name.str()));
      continue;
    }
    for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> builder(call);
      builder.CreateCall(context.module.getOrInsertFunction("tkc_at", builder.getVoidTy(), builder.getInt32Ty()),
                         {builder.getInt32(siteOf(context, *call, name.substr(10).str()))});
      call->setCalledFunction(context.module.getOrInsertFunction(intrinsicSymbol(name), function.getFunctionType()));
      call->setAttributes({});
    }
  }
}

/// The GPUs' extrema hold that +0 is above -0 (PTX: `max`, CDNA: `V_MAX_F32`). LLVM's maxnum leaves it open, and the
/// host's instruction takes its second operand: lanes that exchange a zero of each sign would then differ. Equal
/// numbers have equal bits but for the signs of zeros, of which `and` gives +0 and `or` gives -0. (maximumnum orders
/// zeros, too, but with LLVM 22 on x86 rows with NaN then had wrong extrema.)
void orderZeros(llvm::CallInst &extreme) {
  llvm::IRBuilder<> builder(extreme.getNextNode());
  llvm::Value *x = extreme.getArgOperand(0), *y = extreme.getArgOperand(1);
  llvm::Type *bits = x->getType()->getWithNewType(builder.getIntNTy(x->getType()->getScalarSizeInBits()));
  llvm::Value *xBits = builder.CreateBitCast(x, bits), *yBits = builder.CreateBitCast(y, bits);
  llvm::Value *both = extreme.getIntrinsicID() == llvm::Intrinsic::maxnum ? builder.CreateAnd(xBits, yBits)
                                                                          : builder.CreateOr(xBits, yBits);
  llvm::Value *ordered =
      builder.CreateSelect(builder.CreateFCmpOEQ(x, y), builder.CreateBitCast(both, x->getType()), &extreme);
  extreme.replaceUsesWithIf(ordered, [&](const llvm::Use &use) { return use.getUser() != ordered; });
}

void orderZerosInExtrema(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.getIntrinsicID() == llvm::Intrinsic::maxnum || function.getIntrinsicID() == llvm::Intrinsic::minnum)
      for (llvm::User *user : llvm::make_early_inc_range(function.users()))
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(user))
          orderZeros(*call);
}

/// `void entry(void **arguments)`: each argument is where the launch says.
void addEntry(llvm::Module &module, llvm::Function &kernel, const std::string &name) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto *entry = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  std::vector<llvm::Value *> arguments;
  for (llvm::Argument &argument : kernel.args()) {
    llvm::Value *at =
        builder.CreateLoad(builder.getPtrTy(), builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), entry->getArg(0),
                                                                                  argument.getArgNo()));
    if (argument.hasByValAttr() || argument.hasByRefAttr())
      arguments.push_back(builder.CreateAddrSpaceCast(at, argument.getType()));
    else
      arguments.push_back(builder.CreateLoad(argument.getType(), at));
  }
  llvm::CallInst *call = builder.CreateCall(&kernel, arguments);
  call->setCallingConv(kernel.getCallingConv());
  for (llvm::Argument &argument : kernel.args())
    if (argument.hasByValAttr()) {
      call->addParamAttr(argument.getArgNo(), llvm::Attribute::getWithByValType(context, argument.getParamByValType()));
      if (llvm::MaybeAlign align = argument.getParamAlign())
        call->addParamAttr(argument.getArgNo(), llvm::Attribute::getWithAlignment(context, *align));
    }
  builder.CreateRetVoid();
}

uint32_t numberIn(const llvm::Function &function, llvm::StringRef attribute, size_t index = 0) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  function.getFnAttribute(attribute).getValueAsString().split(parts, ',');
  uint32_t number = 0;
  return index < parts.size() && !parts[index].getAsInteger(10, number) ? number : 0;
}

/// Registers a thread that ptxas may use under `__launch_bounds__(threads, blocks)`: they are handed out in eights,
/// from 65536 a multiprocessor. CUDA C++ Programming Guide, "Compute Capabilities".
KernelTraits traitsOf(const llvm::Function &kernel) {
  KernelTraits traits;
  const uint32_t threads = numberIn(kernel, "nvvm.maxntid"), blocks = std::max(numberIn(kernel, "nvvm.minctasm"), 1u);
  if (threads != 0)
    traits.registersPerThread = std::min(65536 / (threads * blocks) / 8 * 8, 255u), traits.maxThreads = threads;
  if (kernel.hasFnAttribute("nvvm.cluster_dim"))
    traits.cluster = {std::max(numberIn(kernel, "nvvm.cluster_dim", 0), 1u),
                      std::max(numberIn(kernel, "nvvm.cluster_dim", 1), 1u),
                      std::max(numberIn(kernel, "nvvm.cluster_dim", 2), 1u)};
  if (const uint32_t most = numberIn(kernel, "amdgpu-flat-work-group-size", 1))
    traits.maxThreads = most;
  return traits;
}

/// Everything that only the GPU's code generator understands.
void stripTarget(llvm::Function &function) {
  function.setCallingConv(llvm::CallingConv::C);
  for (const char *attribute : {"target-cpu", "target-features", "frame-pointer", "nvvm.maxntid", "nvvm.minctasm"})
    function.removeFnAttr(attribute);
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        call->setCallingConv(llvm::CallingConv::C);
}

} // namespace

KernelTraits lowerKernel(LoweringContext &context, const std::string &kernelName) {
  llvm::Module &module = context.module;
  llvm::Function *kernel = module.getFunction(kernelName);
  KernelTraits traits = traitsOf(*kernel);
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) {
      guardPendingValues(context, function);
      checkAccesses(context, function);
      if (module.getTargetTriple().isAMDGPU())
        lowerWaveInstructions(context, function);
      else
        lowerAsm(context, function);
    }
  lowerIntrinsics(context);
  orderZerosInExtrema(module);
  traits.staticShared = SharedVariables(module).lower();
  addEntry(module, *kernel, entryName(kernelName));
  // In HIP's host code a variable has the kernel's name.
  kernel->setVisibility(llvm::GlobalValue::DefaultVisibility);
  kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
  for (llvm::Function &function : module)
    stripTarget(function);
  return traits;
}

} // namespace tkc::emulator
