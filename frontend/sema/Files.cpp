// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a file and its imports. An import is relative to the file that says it; a file that several others import, or
// that imports itself by a detour, is read once.
#include "support/Files.h"
#include "frontend/Parser.h"
#include "frontend/Sema.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

namespace tkc {
namespace sema {
namespace {

struct Reader {
  SourceManager &sources;
  Reporter &reporter;
  Module &module;
  std::vector<std::string> seen; ///< real paths

  /// `said` is where the path stands in a source, invalid for the command line's.
  void read(const std::string &path, SourceRange said) {
    llvm::SmallString<256> real;
    if (llvm::sys::fs::real_path(path, real))
      real = path; // does not exist: the error is given below
    if (std::find(seen.begin(), seen.end(), std::string(real)) != seen.end())
      return;
    seen.push_back(std::string(real));
    std::string problem;
    std::optional<std::string> text = readFile(path, problem);
    if (!text) {
      reporter.error(Diag::cannot_read_file, said, path, problem);
      return;
    }
    uint32_t id = sources.addBuffer(path == "-" ? "<stdin>" : path, std::move(*text));
    module.files.push_back(parse(id, reporter.diagnostics()));
    // Copied: reading an import grows `files`.
    std::vector<const ast::ImportDecl *> imports;
    for (const ast::Decl *decl : module.files.back().decls)
      if (auto *import = llvm::dyn_cast<ast::ImportDecl>(decl))
        imports.push_back(import);
    for (const ast::ImportDecl *import : imports) {
      llvm::SmallString<256> target(import->path);
      if (!llvm::sys::path::is_absolute(target)) {
        target = llvm::sys::path::parent_path(path);
        llvm::sys::path::append(target, import->path);
      }
      read(std::string(target), import->pathRange);
    }
  }
};

} // namespace

size_t readFiles(const std::string &path, const std::vector<std::string> &scheduleFiles, SourceManager &sources,
                 Reporter &reporter, Module &module) {
  Reader reader{sources, reporter, module, {}};
  reader.read(path, {});
  size_t numFiles = module.files.size();
  for (const std::string &file : scheduleFiles)
    reader.read(file, {});
  return numFiles;
}

} // namespace sema
} // namespace tkc
