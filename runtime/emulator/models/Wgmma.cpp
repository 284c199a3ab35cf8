#include "runtime/emulator/Models.h"
namespace tkc::emulator { struct Product {}; std::span<const Model> wgmmaModels() { return {}; }
uint32_t resolvePending(Thread &thread, uint32_t bits) { return bits; }
uint32_t useValue(Thread &thread, uint32_t bits, SiteId site) { return bits; } }
