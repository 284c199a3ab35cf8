// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc schedule --list [--arch ARCH]`
#include "backends/schedule/Schedule.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Targets.h"

#include <memory>

namespace tkc::driver {
namespace {

int listKeys(const std::string &archName) {
  if (!findTarget(archName))
    return Usage;
  std::string text = fmt::format("{:<20} {:<10} {:<38} {}\n", "key", "values", "default", "meaning");
  for (const planner::Key &key : planner::keys()) {
    std::string values = key.type == "int" ? fmt::format("{}..{}", key.lo, key.hi) : std::string(key.type);
    text += fmt::format("{:<20} {:<10} {:<38} {}\n", key.name, values, key.defaultText, key.help);
  }
  return writeOutput("-", text + "Every `tune` of a kernel is a key of its schedules, too.\n");
}

} // namespace

void addSchedule(Command &app, Action &action) {
  auto archName = std::make_shared<std::string>("sm_90a");
  Command *command = app.add_subcommand("schedule", "Say what a schedule may set");
  command->add_flag_callback("--list", [] {}, "print the keys with their values and defaults")->required();
  command->add_option("--arch", *archName, "the GPU, or its family")->type_name("ARCH")->capture_default_str();
  command->callback([&action, archName] { action = [archName] { return listKeys(*archName); }; });
}

} // namespace tkc::driver
