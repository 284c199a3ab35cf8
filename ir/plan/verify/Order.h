// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the traces of all roles once, and knows from it what every interleaving does.
//
// Each process has a vector clock: what it can know to have happened. Waits and named barriers hand on what the
// arrivals knew. If every arrival is known to come in its own phase, every wait is passed before its phase can be
// followed by two more, and every named barrier's generations follow one another, then who waits for whom is the same
// in every interleaving; so one run finds the order that all of them share, and two accesses that it leaves unordered
// do race in some interleaving. No interleavings are enumerated.
//
// Copies, products and bulk stores run beside the processes: their accesses begin at the statement and end only where
// somebody knows that they ended (a phase of the barrier that counts their bytes, a wait for the group).
#pragma once

#include "ir/plan/verify/Trace.h"
#include "ir/plan/verify/Verify.h"

namespace tkc::plan {

/// A warp that stands for some: of each instance, the warp of the elected thread, and the other warps.
struct Process {
  const Role *role;
  const std::vector<Event> *events;
  int block;    ///< of the cluster
  int instance; ///< of the role
  int engine;   ///< number of the instance among all instances of all roles of all blocks
  bool elected; ///< runs what one thread runs
  int threads;  ///< that it stands for
  bool alone;   ///< it is one thread, whose accesses follow each other
};

/// Adds what went wrong to `report`; `where` says which inputs the run has, for the messages.
void checkOrder(const Plan &plan, const Numbering &numbering, const std::vector<Process> &processes,
                const std::string &where, Report &report, Facts *facts);

/// Registers of products in flight: touched before their wait, products without a fence after vector work. Looks at one
/// instance, in program order.
void checkFlight(const Role &role, const std::vector<Event> &events, Report &report);

/// Boxes of the copy engine that begin, in a run with these inputs, where it takes none.
void checkBoxes(const Plan &plan, const Budget &budget, const std::vector<BoxStart> &boxes, const Inputs &inputs,
                Report &report);

} // namespace tkc::plan
