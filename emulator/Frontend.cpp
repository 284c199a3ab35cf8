// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Frontend.h"

#include "emulator/HostSource.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <fmt/format.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/TargetParser/Host.h>

#include <thread>

namespace tkc::emulator {

CompiledFile::CompiledFile() = default;
CompiledFile::CompiledFile(CompiledFile &&) noexcept = default;
CompiledFile::~CompiledFile() = default;

namespace {

enum class Side : uint8_t { Device, Host };

/// nvcc's asm operands of kind "C" are constant strings, which Clang lacks. As operands of kind "i" they reach the IR
/// as the address of the string, from which the lowering of asm reads it. Both spellings have one length, so that
/// lines, columns and sizes stay.
void replaceStringOperands(std::string &text) {
  constexpr std::string_view from = "\"C\"(", to = "\"i\"(";
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to);
}

/// A file as Clang is to read it.
std::unique_ptr<llvm::MemoryBuffer> adapted(const llvm::MemoryBuffer &buffer, Side side) {
  std::string text = buffer.getBuffer().str();
  replaceStringOperands(text);
  if (side == Side::Host)
    blankKernelBodies(text);
  return llvm::MemoryBuffer::getMemBufferCopy(text, buffer.getBufferIdentifier());
}

constexpr const char *precompiledSuffix = ".pch";

class CudaFile : public llvm::vfs::File {
public:
  CudaFile(std::unique_ptr<llvm::vfs::File> file, Side side) : file(std::move(file)), side(side) {}

  llvm::ErrorOr<llvm::vfs::Status> status() override { return file->status(); }
  llvm::ErrorOr<std::string> getName() override { return file->getName(); }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine &name, int64_t size, bool terminated,
                                                               bool isVolatile) override {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = file->getBuffer(name, size, terminated, isVolatile);
    return buffer ? adapted(**buffer, side) : std::move(buffer);
  }
  std::error_code close() override { return file->close(); }

private:
  std::unique_ptr<llvm::vfs::File> file;
  Side side;
};

class CudaFileSystem : public llvm::vfs::ProxyFileSystem {
public:
  explicit CudaFileSystem(Side side) : ProxyFileSystem(llvm::vfs::getRealFileSystem()), side(side) {}

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine &path) override {
    llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> file = ProxyFileSystem::openFileForRead(path);
    if (!file || path.str().ends_with(precompiledSuffix))
      return file;
    return std::unique_ptr<llvm::vfs::File>(std::make_unique<CudaFile>(std::move(*file), side));
  }

private:
  Side side;
};

std::vector<std::string> arguments(const std::string &path, const FrontendOptions &options, Side side) {
  std::vector<std::string> result{options.clang,
                                  "-x",
                                  options.isHip() ? "hip" : "cuda",
                                  "-nogpuinc",
                                  "-nogpulib",
                                  "--offload-arch=" + options.arch,
                                  side == Side::Device ? "--cuda-device-only" : "--cuda-host-only",
                                  "-std=c++20",
                                  "-c",
                                  "-I" + options.shim};
  // Device code is optimised kernel by kernel, in parallel; here only what marks it as worth it. What a check finds in
  // it is said with its line; of host code no line is ever asked for.
  if (side == Side::Device)
    result.insert(result.end(), {"-gline-tables-only", "-O2", "-Xclang", "-disable-llvm-passes"});
  else // its cases the emulator runs itself (Cases.h)
    result.insert(result.end(), {"-O0", "-DTKC_EMULATOR_RUNS_CASES"});
  if (!options.isHip()) {
    result.insert(result.end(), {"--cuda-path=/nowhere", "-Xclang", "-target-sdk-version=12.8"});
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
    return invocation;
  }
  return nullptr;
}

/// One of the two compilations of a file.
class Compilation {
public:
  Compilation(std::string path, const FrontendOptions &options, Side side, llvm::LLVMContext &context)
      : path(std::move(path)), options(options), side(side), context(context) {}

  /// Null if Clang refuses the file; `errors` has what it says then. Clang refuses a precompiled header as well, if the
  /// headers that it was made from have changed: the file is compiled again without it, and it is removed.
  std::unique_ptr<llvm::Module> run() {
    const std::string precompiled = precompiledHeader();
    std::unique_ptr<llvm::Module> module = compile(precompiled);
    if (module || precompiled.empty())
      return module;
    module = compile("");
    if (module)
      llvm::sys::fs::remove(precompiled);
    return module;
  }

  std::string errors;

private:
  /// The headers that every emitted file includes, as Clang keeps them for this GPU and side, in the cache; made when
  /// first needed. Empty without a cache, or where they cannot be written.
  std::string precompiledHeader() {
    if (options.cache.empty() || llvm::sys::fs::create_directories(options.cache))
      return "";
    FrontendOptions withoutFolders = options;
    withoutFolders.includePaths.clear();
    const std::vector<std::string> all = arguments(options.shim + "/tkc_emulator_headers.h", withoutFolders, side);
    const std::string key = clang::getClangFullVersion() + llvm::join(all, "\n");
    const std::string result =
        fmt::format("{}/headers-{:016x}{}", options.cache, llvm::xxh3_64bits(llvm::StringRef(key)), precompiledSuffix);
    if (llvm::sys::fs::exists(result))
      return result;
    // Clang writes it under another name first: who finds the file finds it whole. Templates are instantiated once,
    // for the file, and not by everyone who reads it.
    const auto keep = [&](clang::CompilerInvocation &invocation) {
      invocation.getFrontendOpts().OutputFile = result;
      invocation.getLangOpts().PCHInstantiateTemplates = true;
    };
    clang::GeneratePCHAction action;
    return execute(all, action, keep) ? result : "";
  }

  std::unique_ptr<llvm::Module> compile(const std::string &precompiled) {
    const auto include = [&](clang::CompilerInvocation &invocation) {
      if (!precompiled.empty())
        invocation.getPreprocessorOpts().ImplicitPCHInclude = precompiled;
      else if (!options.isHip())
        invocation.getPreprocessorOpts().Includes.emplace_back("tkc_emulator_prelude.h");
    };
    clang::EmitLLVMOnlyAction action(&context);
    return execute(arguments(path, options, side), action, include) ? action.takeModule() : nullptr;
  }

  bool execute(const std::vector<std::string> &all, clang::FrontendAction &action,
               llvm::function_ref<void(clang::CompilerInvocation &)> change) {
    errors.clear();
    llvm::raw_string_ostream out(errors);
    clang::DiagnosticOptions diagnosticOptions;
    clang::TextDiagnosticPrinter printer(out, diagnosticOptions);
    clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), diagnosticOptions, &printer,
                                         /*ShouldOwnClient=*/false);
    diagnostics.setIgnoreAllWarnings(true);
    std::unique_ptr<clang::CompilerInvocation> invocation = makeInvocation(all, diagnostics);
    if (!invocation) {
      out << "Clang does not take its arguments\n";
      return false;
    }
    change(*invocation);
    clang::CompilerInstance compiler(std::move(invocation));
    compiler.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<CudaFileSystem>(side));
    compiler.createFileManager();
    compiler.createDiagnostics(&printer, /*ShouldOwnClient=*/false);
    compiler.getDiagnostics().setIgnoreAllWarnings(true);
    compiler.setVerboseOutputStream(llvm::nulls());
    return compiler.ExecuteAction(action);
  }

  const std::string path;
  const FrontendOptions &options;
  const Side side;
  llvm::LLVMContext &context;
};

} // namespace

CompiledFile compileFile(const std::string &path, const FrontendOptions &options) {
  CompiledFile result;
  result.deviceContext = std::make_unique<llvm::LLVMContext>();
  result.hostContext = std::make_unique<llvm::LLVMContext>();
  Compilation device(path, options, Side::Device, *result.deviceContext);
  Compilation host(path, options, Side::Host, *result.hostContext);
  std::thread beside([&] { result.host = host.run(); });
  result.device = device.run();
  beside.join();
  if (!result.device)
    result.errors = device.errors;
  else if (!result.host)
    result.errors = host.errors;
  return result;
}

} // namespace tkc::emulator
