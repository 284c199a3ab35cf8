#include "runtime/emulator/Models.h"
namespace tkc::emulator { std::span<const Model> tmaModels() { return {}; } }
