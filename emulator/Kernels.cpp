// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Kernels.h"

#include "emulator/amdgpu/Amdgpu.h"

#include <fmt/core.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <cstdlib>
#include <set>

namespace tkc::emulator {

llvm::Expected<llvm::orc::JITTargetMachineBuilder> hostMachine() {
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine;
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  // These make zeros of the least bf16 numbers, which GPUs keep, and not every processor has them.
  machine->addFeatures({"-avx512bf16", "-avxneconvert"});
  return machine;
}

std::vector<std::string> kernelNames(const llvm::Module &device) {
  std::vector<std::string> names;
  for (const llvm::Function &function : device)
    if ((function.getCallingConv() == llvm::CallingConv::PTX_Kernel ||
         function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL) &&
        !function.isDeclaration())
      names.push_back(function.getName().str());
  return names;
}

namespace {

/// What makes registers of accumulators: everything inlined, loops of few turns unrolled, arrays taken apart. LLVM's
/// default pipeline does all of this to the whole kernel, and much besides; a kernel then takes twice as long. Here
/// functions have become small before they are inlined. Neighbouring accesses become vectors, as code generators of
/// GPUs begin with, and variables that nobody reads take no shared memory.
std::string pipeline() {
  return fmt::format("function({0},{1},simplifycfg),always-inline,globaldce,"
                     "function({0},{1},{0},infer-address-spaces,adce,load-store-vectorizer),globalopt,globaldce",
                     "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>",
                     "loop-simplify,lcssa,loop(loop-rotate,indvars,loop-deletion,loop-unroll-full)");
}

class KernelCompiler {
public:
  KernelCompiler(CompiledKernel &result, std::string gpu, GlobalMemory &memory, Sites &sites)
      : result(result), gpu(std::move(gpu)), memory(memory), sites(sites) {}

  void run(const llvm::MemoryBuffer &bitcode) {
    // Remarks, as of loops that stay loops, are of no interest to who tests a kernel.
    context.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *self) {
          if (info->getSeverity() == llvm::DS_Error)
            static_cast<KernelCompiler *>(self)->fail("internal error: LLVM refuses the kernel");
        },
        this);
    llvm::Expected<std::unique_ptr<llvm::Module>> loaded =
        llvm::getLazyBitcodeModule(bitcode.getMemBufferRef(), context);
    if (!loaded)
      return fail(llvm::toString(loaded.takeError()));
    module = std::move(*loaded);
    if (!materializeWhatIsCalled())
      return;
    internalize();
    optimize();
    result.data = std::make_unique<LoweredData>();
    LoweringContext lowering{*module, *result.data, sites, gpu, {}};
    result.traits = lowerKernel(lowering, result.name);
    if (!lowering.error.empty())
      return fail(lowering.error);
    generateCode(lowering);
  }

private:
  void fail(const std::string &what) {
    if (result.error.empty())
      result.error = what;
  }

  /// The rest of the module is never read.
  bool materializeWhatIsCalled() {
    if (llvm::Error error = module->materializeMetadata()) {
      fail(llvm::toString(std::move(error)));
      return false;
    }
    std::vector<llvm::GlobalValue *> todo{module->getFunction(result.name)};
    std::set<const llvm::GlobalValue *> needed(todo.begin(), todo.end());
    while (!todo.empty()) {
      llvm::GlobalValue *value = todo.back();
      todo.pop_back();
      if (llvm::Error error = value->materialize()) {
        fail(llvm::toString(std::move(error)));
        return false;
      }
      if (auto *function = llvm::dyn_cast<llvm::Function>(value))
        for (llvm::BasicBlock &block : *function)
          for (llvm::Instruction &instruction : block)
            for (llvm::Value *operand : instruction.operands())
              if (auto *callee = llvm::dyn_cast<llvm::Function>(operand); callee && needed.insert(callee).second)
                todo.push_back(callee);
    }
    for (llvm::Function &function : *module)
      if (!needed.contains(&function)) {
        function.deleteBody();
        function.setComdat(nullptr);
      }
    if (llvm::Error error = module->materializeAll()) {
      fail(llvm::toString(std::move(error)));
      return false;
    }
    return true;
  }

  void internalize() {
    if (llvm::NamedMDNode *used = module->getNamedMetadata("llvm.used"))
      used->eraseFromParent();
    for (const char *list : {"llvm.used", "llvm.compiler.used"})
      if (llvm::GlobalVariable *variable = module->getGlobalVariable(list))
        variable->eraseFromParent();
    for (llvm::GlobalObject &object : module->global_objects()) {
      if (object.isDeclaration() || object.getName() == result.name)
        continue;
      object.setComdat(nullptr);
      object.setLinkage(llvm::GlobalValue::InternalLinkage);
      object.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
    if (llvm::Function *kernel = module->getFunction(result.name)) {
      kernel->setComdat(nullptr);
      kernel->setLinkage(llvm::GlobalValue::ExternalLinkage);
    }
    for (llvm::GlobalVariable &variable : module->globals()) {
      variable.removeDeadConstantUsers();
      if (!variable.isDeclaration() && !variable.isConstant() && variable.getAddressSpace() != 3 &&
          !variable.use_empty())
        placeVariable(variable);
    }
  }

  /// A variable of the device lies in its memory, where all kernels of the file find it.
  void placeVariable(llvm::GlobalVariable &variable) {
    if (!variable.getInitializer()->isNullValue())
      return fail(fmt::format("the device variable `{}`, which begins with other values than 0, has no model",
                              variable.getName().str()));
    const uint64_t bytes = module->getDataLayout().getTypeAllocSize(variable.getValueType());
    const auto address = reinterpret_cast<uint64_t>(memory.variable(variable.getName().str(), bytes));
    variable.replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), address), variable.getType()));
  }

  /// As for the GPU, with what its code generator tells about costs. Everything is inlined, as nvcc does: accumulators
  /// that are passed by address would not be registers.
  void optimize() {
    for (llvm::Function &function : *module)
      if (!function.isDeclaration() && function.getName() != result.name &&
          !function.hasFnAttribute(llvm::Attribute::NoInline))
        function.addFnAttr(llvm::Attribute::AlwaysInline);
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(module->getTargetTriple(), error);
    const bool isAmd = module->getTargetTriple().isAMDGPU();
    const llvm::StringRef cpu =
        isAmd ? module->getFunction(result.name)->getFnAttribute("target-cpu").getValueAsString() : "sm_90a";
    const std::unique_ptr<llvm::TargetMachine> machine(
        target ? target->createTargetMachine(module->getTargetTriple(), cpu, isAmd ? "" : "+ptx88", {}, std::nullopt)
               : nullptr);
    runPasses(machine.get(), [](llvm::PassBuilder &builder) {
      llvm::ModulePassManager passes;
      builder.invokePipelineStartEPCallbacks(passes, llvm::OptimizationLevel::O2);
      llvm::cantFail(builder.parsePassPipeline(passes, pipeline()));
      return passes;
    });
  }

  void runPasses(llvm::TargetMachine *machine,
                 const std::function<llvm::ModulePassManager(llvm::PassBuilder &)> &passes) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager calls;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(calls);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, calls, modules);
    passes(builder).run(*module, modules);
  }

  void generateCode(LoweringContext &lowering) {
    llvm::Expected<llvm::orc::JITTargetMachineBuilder> builder = hostMachine();
    if (!builder)
      return fail(llvm::toString(builder.takeError()));
    llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = builder->createTargetMachine();
    if (!machine)
      return fail(llvm::toString(machine.takeError()));
    llvm::StripDebugInfo(*module);
    if (module->getTargetTriple().isAMDGPU())
      retarget(lowering, (*machine)->createDataLayout().getStringRepresentation());
    if (!lowering.error.empty())
      return fail(lowering.error);
    module->setTargetTriple((*machine)->getTargetTriple());
    module->setDataLayout((*machine)->createDataLayout());
    runPasses(machine->get(), [](llvm::PassBuilder &) {
      llvm::ModulePassManager passes;
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::PromotePass()));
      passes.addPass(llvm::GlobalDCEPass());
      return passes;
    });
    if (std::getenv("TKC_EMULATOR_DUMP"))
      module->print(llvm::errs(), nullptr);
    std::string broken;
    llvm::raw_string_ostream out(broken);
    if (llvm::verifyModule(*module, &out))
      return fail("internal error: " + broken);
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object = llvm::orc::SimpleCompiler(**machine)(*module);
    if (!object)
      return fail(llvm::toString(object.takeError()));
    result.object = std::move(*object);
  }

  CompiledKernel &result;
  std::string gpu;
  GlobalMemory &memory;
  Sites &sites;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

} // namespace

CompiledKernel compileKernel(const llvm::MemoryBuffer &bitcode, const std::string &kernel, const std::string &gpu,
                             GlobalMemory &memory, Sites &sites) {
  CompiledKernel result;
  result.name = kernel;
  KernelCompiler(result, gpu, memory, sites).run(bitcode);
  return result;
}

} // namespace tkc::emulator
