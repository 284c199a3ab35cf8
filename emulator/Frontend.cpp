// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Frontend.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <thread>

namespace tkc::emulator {

CompiledFile::CompiledFile() = default;
CompiledFile::CompiledFile(CompiledFile &&) noexcept = default;
CompiledFile::~CompiledFile() = default;

namespace {

/// nvcc's asm operands of kind "C" are constant strings, which Clang lacks. As operands of kind "i" they reach the IR
/// as the address of the string, from which the lowering of asm reads it. Both spellings have one length, so that
/// lines, columns and sizes stay.
std::unique_ptr<llvm::MemoryBuffer> withStringOperands(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  constexpr llvm::StringRef from = "\"C\"(", to = "\"i\"(";
  size_t at = buffer->getBuffer().find(from);
  if (at == llvm::StringRef::npos)
    return buffer;
  std::string text = buffer->getBuffer().str();
  for (; at != std::string::npos; at = text.find(from.str(), at))
    text.replace(at, from.size(), to.str());
  return llvm::MemoryBuffer::getMemBufferCopy(text, buffer->getBufferIdentifier());
}

class CudaFile : public llvm::vfs::File {
public:
  explicit CudaFile(std::unique_ptr<llvm::vfs::File> file) : file(std::move(file)) {}

  llvm::ErrorOr<llvm::vfs::Status> status() override { return file->status(); }
  llvm::ErrorOr<std::string> getName() override { return file->getName(); }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine &name, int64_t size, bool terminated,
                                                               bool isVolatile) override {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = file->getBuffer(name, size, terminated, isVolatile);
    return buffer ? withStringOperands(std::move(*buffer)) : std::move(buffer);
  }
  std::error_code close() override { return file->close(); }

private:
  std::unique_ptr<llvm::vfs::File> file;
};

class CudaFileSystem : public llvm::vfs::ProxyFileSystem {
public:
  using ProxyFileSystem::ProxyFileSystem;

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine &path) override {
    llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> file = ProxyFileSystem::openFileForRead(path);
    if (!file)
      return file;
    return std::unique_ptr<llvm::vfs::File>(std::make_unique<CudaFile>(std::move(*file)));
  }
};

enum class Side : uint8_t { Device, Host };

std::vector<std::string> arguments(const std::string &path, const FrontendOptions &options, Side side) {
  std::vector<std::string> result{options.clang,
                                  "-x",
                                  options.isHip() ? "hip" : "cuda",
                                  "-nogpuinc",
                                  "-nogpulib",
                                  "--offload-arch=" + options.arch,
                                  side == Side::Device ? "--cuda-device-only" : "--cuda-host-only",
                                  "-std=c++20",
                                  "-gline-tables-only",
                                  "-c",
                                  "-I" + options.shim};
  // Device code is optimised kernel by kernel, in parallel; here only what marks it as worth it.
  if (side == Side::Device)
    result.insert(result.end(), {"-O2", "-Xclang", "-disable-llvm-passes"});
  else
    result.emplace_back("-O0");
  if (!options.isHip()) {
    result.insert(result.end(), {"--cuda-path=/nowhere", "-Xclang", "-target-sdk-version=12.8", "-include",
                                 "tkc_emulator_prelude.h"});
    if (side == Side::Device)
      result.insert(result.end(), {"-Xclang", "-target-feature", "-Xclang", "+ptx88", "-Wno-unknown-cuda-version"});
  }
  for (const std::string &include : options.includePaths)
    result.push_back("-I" + include);
  result.push_back(path);
  return result;
}

/// What the driver makes of its arguments: those of the one compilation. The wrappers by which Clang replaces parts of
/// the C++ library in device code stand on headers of the toolkit and are left out.
std::unique_ptr<clang::CompilerInvocation> makeInvocation(const std::vector<std::string> &all,
                                                          clang::DiagnosticsEngine &diagnostics) {
  clang::driver::Driver driver(all.front(), llvm::sys::getDefaultTargetTriple(), diagnostics);
  std::vector<const char *> pointers;
  for (const std::string &argument : all)
    pointers.push_back(argument.c_str());
  std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(pointers));
  if (!compilation)
    return nullptr;
  for (const clang::driver::Command &job : compilation->getJobs()) {
    llvm::opt::ArgStringList list;
    for (const char *argument : job.getArguments()) {
      if (llvm::StringRef(argument).ends_with("cuda_wrappers"))
        list.pop_back();
      else
        list.push_back(argument);
    }
    if (list.empty() || llvm::StringRef(list.front()) != "-cc1")
      continue;
    auto invocation = std::make_unique<clang::CompilerInvocation>();
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, llvm::ArrayRef(list).drop_front(), diagnostics))
      return nullptr;
    invocation->getFrontendOpts().DisableFree = false;
    invocation->getCodeGenOpts().DisableFree = false;
    return invocation;
  }
  return nullptr;
}

std::unique_ptr<llvm::Module> compile(const std::string &path, const FrontendOptions &options, Side side,
                                      llvm::LLVMContext &context, std::string &errors) {
  llvm::raw_string_ostream out(errors);
  clang::DiagnosticOptions diagnosticOptions;
  clang::TextDiagnosticPrinter printer(out, diagnosticOptions);
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), diagnosticOptions, &printer,
                                       /*ShouldOwnClient=*/false);
  diagnostics.setIgnoreAllWarnings(true);
  std::unique_ptr<clang::CompilerInvocation> invocation = makeInvocation(arguments(path, options, side), diagnostics);
  if (!invocation) {
    out << "Clang does not take its arguments\n";
    return nullptr;
  }
  clang::CompilerInstance compiler(std::move(invocation));
  compiler.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<CudaFileSystem>(llvm::vfs::getRealFileSystem()));
  compiler.createFileManager();
  compiler.createDiagnostics(&printer, /*ShouldOwnClient=*/false);
  compiler.getDiagnostics().setIgnoreAllWarnings(true);
  compiler.setVerboseOutputStream(llvm::nulls());
  clang::EmitLLVMOnlyAction action(&context);
  if (!compiler.ExecuteAction(action))
    return nullptr;
  return action.takeModule();
}

} // namespace

CompiledFile compileFile(const std::string &path, const FrontendOptions &options) {
  CompiledFile result;
  result.deviceContext = std::make_unique<llvm::LLVMContext>();
  result.hostContext = std::make_unique<llvm::LLVMContext>();
  std::string deviceErrors, hostErrors;
  std::thread host([&] { result.host = compile(path, options, Side::Host, *result.hostContext, hostErrors); });
  result.device = compile(path, options, Side::Device, *result.deviceContext, deviceErrors);
  host.join();
  if (!result.device)
    result.errors = deviceErrors;
  else if (!result.host)
    result.errors = hostErrors;
  return result;
}

} // namespace tkc::emulator
