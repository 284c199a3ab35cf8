// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Program.h"

#include "emulator/Cases.h"
#include "emulator/CompilerCalls.h"
#include "emulator/CudaRuntime.h"
#include "emulator/Kernels.h"
#include "emulator/amdgpu/HipRuntime.h"

#include <fmt/core.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/ThreadPool.h>

#include <algorithm>

namespace tkc::emulator {
namespace {

/// "_Z19__device_stub__gemmv", the function by which host code launches a kernel, to the name among `kernels` that
/// differs by the mark, "_Z4gemmv". Empty if it is none.
template <class Kernels> std::string kernelOfStub(const std::string &name, const Kernels &kernels) {
  constexpr std::string_view mark = "__device_stub__";
  const size_t at = name.find(mark);
  if (at == std::string::npos)
    return {};
  // The digits before the mark are its name's length, but the first of them may belong to what stands before.
  for (size_t digits = at; digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])); --digits) {
    const size_t length = std::stoul(name.substr(digits - 1, at - digits + 1));
    if (length <= mark.size())
      continue;
    std::string kernel =
        name.substr(0, digits - 1) + std::to_string(length - mark.size()) + name.substr(at + mark.size());
    if (kernels.contains(kernel))
      return kernel;
  }
  const std::string kernel = name.substr(0, at) + name.substr(at + mark.size()); // extern "C"
  return kernels.contains(kernel) ? kernel : std::string();
}

std::string symbolOf(std::string_view intrinsic) {
  std::string symbol = "tkc_" + std::string(intrinsic);
  std::replace(symbol.begin(), symbol.end(), '.', '_');
  return symbol;
}

} // namespace

class Program::Impl {
public:
  ~Impl() {
    // Compilations still running use what this owns.
    for (auto &[name, kernel] : kernels)
      if (kernel.compiled.valid())
        kernel.compiled.wait();
    emulator::device() = nullptr;
  }

  Sites sites;

  std::string load(const std::string &path, const FrontendOptions &options) {
    initializeTargets();
    if (auto source = llvm::MemoryBuffer::getFile(path))
      sites.setSource(path, (*source)->getBuffer().str());
    CompiledFile file = compileFile(path, options);
    if (!file.errors.empty())
      return file.errors;
    llvm::SmallVector<char, 0> bitcode;
    llvm::BitcodeWriter writer(bitcode);
    writer.writeModule(*file.device);
    writer.writeSymtab();
    writer.writeStrtab();
    deviceBitcode = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bitcode.data(), bitcode.size()));
    gpu = options.arch;
    for (const std::string &name : kernelNames(*file.device))
      kernels[name] = {};
    if (!options.compileAtLaunch)
      for (auto &[name, kernel] : kernels)
        startCompiling(name, kernel);
    return addHost(std::move(file));
  }

  int run(const std::vector<std::string> &arguments, const Options &options, std::string &error) {
    device.options = &options;
    device.computeMajor = options.architecture / 10;
    device.computeMinor = options.architecture % 10;
    device.sites = &sites;
    device.findKernel = [this](const void *stub) -> const LoadedKernel & { return find(stub); };
    device.registerKernel = [this](const void *stub, const std::string &name) { kernelOfAddress[stub] = name; };
    emulator::device() = &device;
    llvm::orc::JITDylib &library = jit->getMainJITDylib();
    llvm::Expected<llvm::orc::ExecutorAddr> main = jit->lookup("main");
    if (!main) {
      error = llvm::toString(main.takeError());
      return 2;
    }
    for (const auto &[stub, kernel] : stubs)
      if (llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(stub))
        kernelOfAddress[address->toPtr<const void *>()] = kernel;
      else
        llvm::consumeError(address.takeError());
    if (llvm::Error failed = jit->initialize(library)) {
      error = llvm::toString(std::move(failed));
      return 2;
    }
    std::vector<char *> pointers;
    for (const std::string &argument : arguments)
      pointers.push_back(const_cast<char *>(argument.c_str()));
    pointers.push_back(nullptr);
    const int result = main->toPtr<int (*)(int, char **)>()(static_cast<int>(arguments.size()), pointers.data());
    if (llvm::Error failed = jit->deinitialize(library))
      llvm::consumeError(std::move(failed));
    return result;
  }

private:
  struct Kernel {
    std::shared_future<std::shared_ptr<CompiledKernel>> compiled; ///< of no state before its compilation has begun
    std::optional<LoadedKernel> loaded;
  };

  void startCompiling(const std::string &name, Kernel &kernel) {
    kernel.compiled = pool.async([this, name] {
      return std::make_shared<CompiledKernel>(compileKernel(*deviceBitcode, name, gpu, device.memory, sites));
    });
  }

  static void initializeTargets() {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  }

  std::string addHost(CompiledFile file) {
    llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine = hostMachine();
    if (!machine)
      return llvm::toString(machine.takeError());
    llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> made =
        llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
    if (!made)
      return llvm::toString(made.takeError());
    jit = std::move(*made);
    llvm::orc::SymbolMap symbols;
    const auto define = [&](std::string_view name, void *function) {
      symbols[jit->mangleAndIntern(std::string(name))] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                          llvm::JITSymbolFlags::Exported};
    };
    for (const std::string_view api : {"cuda", "hip"}) {
      for (const Support &function : hostFunctions())
        define(fmt::format("{}{}", api, function.name), function.function);
      for (const Support &function : hiddenHostFunctions())
        define(fmt::format("__{}{}", api, function.name), function.function);
    }
    for (const Support &function : cudaRuntimeFunctions())
      define(function.name, function.function);
    for (const Support &function : hipRuntimeFunctions())
      define(function.name, function.function);
    for (const Support &function : supportFunctions())
      define(function.name, function.function);
    for (const Support &function : caseFunctions())
      define(function.name, function.function);
    for (const Support &function : compilerCalls())
      define(function.name, function.function);
    for (const IntrinsicModel &model : intrinsicModels())
      define(symbolOf(model.name), model.function);
    llvm::orc::JITDylib &library = jit->getMainJITDylib();
    if (llvm::Error error = library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
      return llvm::toString(std::move(error));
    for (llvm::Function &function : *file.host)
      if (const std::string kernel = kernelOfStub(function.getName().str(), kernels); !kernel.empty()) {
        function.setLinkage(llvm::GlobalValue::ExternalLinkage);
        function.setComdat(nullptr);
        stubs.emplace_back(function.getName().str(), kernel);
      }
    // HIP's host code points to the device code that the compiler would have put there.
    for (llvm::GlobalVariable &variable : file.host->globals())
      if (variable.isDeclaration() && variable.getName().starts_with("__hip_fatbin")) {
        variable.setInitializer(llvm::Constant::getNullValue(variable.getValueType()));
        variable.setLinkage(llvm::GlobalValue::InternalLinkage);
      }
    file.host->setDataLayout(jit->getDataLayout());
    llvm::orc::ThreadSafeModule module(std::move(file.host), std::move(file.hostContext));
    if (llvm::Error error = jit->addIRModule(std::move(module)))
      return llvm::toString(std::move(error));
    return {};
  }

  const LoadedKernel &find(const void *stub) {
    static const LoadedKernel unknown{"", nullptr, {}, "invalid device function"};
    const auto name = kernelOfAddress.find(stub);
    const auto found = name == kernelOfAddress.end() ? kernels.end() : kernels.find(name->second);
    if (found == kernels.end())
      return unknown;
    Kernel &kernel = found->second;
    if (!kernel.compiled.valid())
      startCompiling(found->first, kernel);
    if (!kernel.loaded)
      kernel.loaded = load(*kernel.compiled.get());
    return *kernel.loaded;
  }

  LoadedKernel load(CompiledKernel &compiled) {
    LoadedKernel loaded{compiled.name, nullptr, compiled.traits, compiled.error};
    if (!loaded.error.empty())
      return loaded;
    if (llvm::Error error = jit->addObjectFile(std::move(compiled.object))) {
      loaded.error = llvm::toString(std::move(error));
      return loaded;
    }
    llvm::Expected<llvm::orc::ExecutorAddr> entry = jit->lookup(entryName(compiled.name));
    if (entry)
      loaded.entry = entry->toPtr<void (*)(void **)>();
    else
      loaded.error = llvm::toString(entry.takeError());
    return loaded;
  }

  Device device;
  std::string gpu;
  std::unique_ptr<llvm::MemoryBuffer> deviceBitcode;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<std::pair<std::string, std::string>> stubs; ///< and their kernels
  std::map<const void *, std::string> kernelOfAddress;
  std::map<std::string, Kernel> kernels;
  llvm::DefaultThreadPool pool;
};

Program::Program() : impl(std::make_unique<Impl>()) {}
Program::~Program() = default;

std::string Program::load(const std::string &path, const FrontendOptions &options) { return impl->load(path, options); }

int Program::run(const std::vector<std::string> &arguments, const Options &options, std::string &error) {
  return impl->run(arguments, options, error);
}

const Sites &Program::sites() const { return impl->sites; }

} // namespace tkc::emulator
