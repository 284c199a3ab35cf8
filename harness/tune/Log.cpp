// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Log.h"

#include <algorithm>
#include <llvm/Support/JSON.h>

namespace tkc::tune {

void Log::read(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(line.data(), line.size()));
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    if (!value)
      llvm::consumeError(value.takeError());
    if (!object || !object->getBoolean("passed"))
      continue;
    const auto word = [&](const char *name) { return object->getString(name).value_or("").str(); };
    const auto number = [&](const char *name) { return object->getNumber(name).value_or(0); };
    gpu = word("gpu");
    Measurement measured{*object->getBoolean("passed"),
                         word("message"),
                         word("schedule"),
                         number("seconds"),
                         number("ratio"),
                         number("low"),
                         number("high"),
                         static_cast<int>(number("rounds"))};
    lines.try_emplace({gpu, word("kernel"), word("case"), word("default"), word("code")}, std::move(measured));
  }
}

const Measurement *Log::find(const LogKey &key) const {
  const auto found = lines.find(key);
  return found == lines.end() ? nullptr : &found->second;
}

} // namespace tkc::tune
