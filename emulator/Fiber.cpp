// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Fiber.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>

namespace tkc::emulator {

FiberStacks::FiberStacks(size_t count) : number(count) {
  void *at =
      mmap(nullptr, count * bytesEach, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    throw std::bad_alloc();
  memory = static_cast<char *>(at);
  for (size_t i = 0; i < count; ++i)
    mprotect(begin(i), 4096, PROT_NONE);
}

FiberStacks::~FiberStacks() { munmap(memory, number * bytesEach); }

namespace {

// What a call must preserve by the System V ABI for x86-64: rbx, rbp, r12 to r15, and the stack.
__attribute__((naked, noinline)) void switchStacks(void ** /*save*/, void * /*to*/) {
  asm volatile("pushq %rbp\n"
               "pushq %rbx\n"
               "pushq %r12\n"
               "pushq %r13\n"
               "pushq %r14\n"
               "pushq %r15\n"
               "movq %rsp, (%rdi)\n"
               "movq %rsi, %rsp\n"
               "popq %r15\n"
               "popq %r14\n"
               "popq %r13\n"
               "popq %r12\n"
               "popq %rbx\n"
               "popq %rbp\n"
               "ret\n");
}

// The first switch to a fiber returns to here, with the entry in r12 and its argument in r13.
__attribute__((naked, noinline)) void firstFrame() {
  asm volatile("movq %r13, %rdi\n"
               "callq *%r12\n"
               "ud2\n");
}

} // namespace

void Fiber::start(char *stackEnd, void (*entry)(void *), void *argument) {
  auto *top = reinterpret_cast<uint64_t *>(stackEnd) - 2; // so that the call in firstFrame finds 16-byte alignment
  *--top = reinterpret_cast<uint64_t>(&firstFrame);
  *--top = 0;                                    // rbp
  *--top = 0;                                    // rbx
  *--top = reinterpret_cast<uint64_t>(entry);    // r12
  *--top = reinterpret_cast<uint64_t>(argument); // r13
  *--top = 0;                                    // r14
  *--top = 0;                                    // r15
  own = top;
}

void Fiber::resume() { switchStacks(&scheduler, own); }
void Fiber::suspend() { switchStacks(&own, scheduler); }

} // namespace tkc::emulator
