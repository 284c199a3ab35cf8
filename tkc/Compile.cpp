// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc FILE -o OUT`. What the file is, its name says: .tk source, .tkir tile IR.
#include "tkc/Compile.h"

#include "frontend/ASTPrinter.h"
#include "frontend/Parser.h"

#include <map>
#include <memory>

#include <CLI/CLI.hpp>

namespace tkc::driver {
namespace {

int emitAst(const CompileOptions &options) {
  Session session(options.verifyDiagnostics);
  std::optional<uint32_t> buffer = session.addFile(options.input);
  if (!buffer)
    return CannotReadInput;
  ast::File file = parse(*buffer, session.diagnostics);
  int code = session.finish();
  return code == Success && !options.verifyDiagnostics ? writeOutput(options.output, dump(file)) : code;
}

int compile(const CompileOptions &options) {
  if (options.input.ends_with(".tkir"))
    return compileTileIR(options);
  return options.emit == Emit::Ast ? emitAst(options) : compileSource(options);
}

} // namespace

void addCompile(CLI::App &app, Action &action) {
  auto options = std::make_shared<CompileOptions>();
  app.add_option("FILE", options->input, "a .tk file, or tile IR to run passes on (.tkir); - is standard input")
      ->type_name("");
  app.add_option("-o,--output", options->output, "where the result goes; - is standard output, the default")
      ->type_name("OUT");
  static const std::map<std::string, Emit> emits{{"ast", Emit::Ast}, {"tile", Emit::Tile}};
  app.add_option("--emit", options->emit, "what to write: ast, tile")
      ->transform(CLI::CheckedTransformer(emits).description(""))
      ->type_name("KIND");
  app.add_flag("--verify-diagnostics", options->verifyDiagnostics,
               "succeed if the messages are those that `// expected-error {{…}}` comments say");
  app.final_callback([&app, &action, options] {
    if (app.get_subcommands().empty())
      action = [options] {
        if (!options->input.empty())
          return compile(*options);
        complain("no input file; `tkc --help` says more");
        return static_cast<int>(Usage);
      };
  });
}

} // namespace tkc::driver
