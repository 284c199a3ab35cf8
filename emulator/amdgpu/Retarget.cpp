// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// IR for amdgcn as IR for the host. On amdgcn a pointer to LDS has 32 bits; the host's address space 271 has 32-bit
// pointers as well, zero-extended where they are used (X86, "ptr32_uptr"), so that structures and arithmetic stay what
// they are. A buffer's descriptor, 128 bits on amdgcn, becomes the address of one that the emulator keeps.
#include "emulator/amdgpu/Amdgpu.h"

#include <fmt/core.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

#include <map>

namespace tkc::emulator {
namespace {

constexpr unsigned hostLds = 271;

class Retargeting {
public:
  Retargeting(LoweringContext &context, const std::string &layout)
      : context(context), module(context.module), hostLayout(layout) {}

  void run() {
    expandConstants();
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        removeLayout(function);
    module.setDataLayout(hostLayout);
    std::vector<llvm::GlobalVariable *> variables;
    for (llvm::GlobalVariable &variable : module.globals())
      variables.push_back(&variable);
    for (llvm::GlobalVariable *variable : variables)
      move(*variable);
    std::vector<llvm::Function *> functions;
    for (llvm::Function &function : module)
      functions.push_back(&function);
    for (llvm::Function *function : functions)
      redeclare(*function);
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        retype(function);
    for (llvm::GlobalVariable *variable : variables)
      if (replacements.contains(variable))
        variable->eraseFromParent();
    for (llvm::Function *function : functions)
      if (replacements.contains(function))
        function->eraseFromParent();
  }

private:
  // ---- types

  llvm::Type *map(llvm::Type *type) {
    llvm::Type *&known = types[type];
    if (known)
      return known;
    return known = mapNew(type);
  }

  llvm::Type *mapNew(llvm::Type *type) {
    if (type->isPointerTy()) {
      const unsigned space = type->getPointerAddressSpace();
      if (space == 2 || space == 7 || space == 9)
        context.fail(fmt::format("pointers of address space {} have no model", space));
      return llvm::PointerType::get(type->getContext(), space == 3 || space == 6 ? hostLds : 0);
    }
    if (auto *array = llvm::dyn_cast<llvm::ArrayType>(type))
      return llvm::ArrayType::get(map(array->getElementType()), array->getNumElements());
    if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
      return llvm::FixedVectorType::get(map(vector->getElementType()), vector->getNumElements());
    if (auto *structure = llvm::dyn_cast<llvm::StructType>(type)) {
      std::vector<llvm::Type *> elements;
      bool changes = false;
      for (llvm::Type *element : structure->elements()) {
        elements.push_back(map(element));
        changes |= elements.back() != element;
      }
      return changes ? llvm::StructType::get(type->getContext(), elements, structure->isPacked()) : type;
    }
    if (auto *function = llvm::dyn_cast<llvm::FunctionType>(type)) {
      std::vector<llvm::Type *> parameters;
      for (llvm::Type *parameter : function->params())
        parameters.push_back(map(parameter));
      return llvm::FunctionType::get(map(function->getReturnType()), parameters, function->isVarArg());
    }
    return type;
  }

  // ---- before the layout changes

  /// Constant expressions become instructions, so that only plain constants are left as operands.
  void expandConstants() {
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::Function &function : module)
        for (llvm::BasicBlock &block : function)
          for (llvm::Instruction &instruction : llvm::make_early_inc_range(block))
            for (llvm::Use &use : instruction.operands())
              if (auto *expression = llvm::dyn_cast<llvm::ConstantExpr>(use.get())) {
                expand(*expression, use, instruction);
                changed = true;
              }
    }
  }

  static void expand(llvm::ConstantExpr &expression, llvm::Use &use, llvm::Instruction &user) {
    llvm::Instruction *made = expression.getAsInstruction();
    auto *phi = llvm::dyn_cast<llvm::PHINode>(&user);
    if (!phi) {
      made->insertBefore(user.getIterator());
      use.set(made);
      return;
    }
    llvm::BasicBlock *from = phi->getIncomingBlock(use);
    made->insertBefore(from->getTerminator()->getIterator());
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) // equal blocks have equal values
      if (phi->getIncomingBlock(i) == from)
        phi->setIncomingValue(i, made);
  }

  static bool isPrivatePointer(const llvm::Type &type) {
    return type.isPointerTy() && type.getPointerAddressSpace() == 5;
  }

  /// Addresses in bytes and variables in bytes: sizes stay those of amdgcn.
  void removeLayout(llvm::Function &function) {
    const llvm::DataLayout &layout = module.getDataLayout();
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
        if (address->getType()->isVectorTy())
          context.fail("vectors of pointers have no model");
        else if (!address->getSourceElementType()->isIntegerTy(8)) {
          llvm::IRBuilder<> builder(address);
          llvm::Value *offset = llvm::emitGEPOffset(&builder, layout, address, /*NoAssumptions=*/true);
          address->replaceAllUsesWith(builder.CreatePtrAdd(address->getPointerOperand(), offset));
          address->eraseFromParent();
        }
      } else if (auto *variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
        const auto size = variable->getAllocationSize(layout);
        if (!size) {
          context.fail("variables of unknown size have no model");
          continue;
        }
        llvm::Type *bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(function.getContext()), size->getFixedValue());
        auto *made = new llvm::AllocaInst(bytes, 0, nullptr, variable->getAlign(), "", variable->getIterator());
        variable->mutateType(made->getType());
        variable->replaceAllUsesWith(made);
        variable->eraseFromParent();
      } else if (llvm::isa<llvm::LifetimeIntrinsic>(&instruction)) {
        instruction.eraseFromParent();
      } else if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(&instruction) &&
                 isPrivatePointer(*llvm::getLoadStoreType(&instruction))) {
        context.fail("a pointer of 32 bits to a thread's variable, in memory, has no model"); // it would take 64
      }
    }
  }

  // ---- variables and functions

  void move(llvm::GlobalVariable &variable) {
    if (variable.getAddressSpace() == 0 && map(variable.getValueType()) == variable.getValueType())
      return;
    auto *made =
        new llvm::GlobalVariable(module, map(variable.getValueType()), variable.isConstant(), variable.getLinkage(),
                                 variable.hasInitializer() ? map(*variable.getInitializer()) : nullptr, "", &variable,
                                 llvm::GlobalValue::NotThreadLocal, 0);
    made->setAlignment(variable.getAlign());
    made->takeName(&variable);
    replacements[&variable] = made;
  }

  /// A declaration of an intrinsic with the host's pointers, or a function with the same body and other parameters.
  void redeclare(llvm::Function &function) {
    auto *type = llvm::cast<llvm::FunctionType>(map(function.getFunctionType()));
    if (type == function.getFunctionType())
      return;
    if (function.isIntrinsic()) {
      llvm::SmallVector<llvm::Type *> overloads;
      if (!llvm::Intrinsic::getIntrinsicSignature(&function, overloads))
        return context.fail(fmt::format("the intrinsic `{}` has no model", function.getName().str()));
      for (llvm::Type *&overload : overloads)
        overload = map(overload);
      replacements[&function] = llvm::Intrinsic::getOrInsertDeclaration(&module, function.getIntrinsicID(), overloads);
      return;
    }
    llvm::Function *made = llvm::Function::Create(type, function.getLinkage(), 0, "", &module);
    made->copyAttributesFrom(&function);
    made->takeName(&function);
    made->splice(made->begin(), &function);
    for (unsigned i = 0; i < type->getNumParams(); ++i) {
      function.getArg(i)->mutateType(made->getArg(i)->getType());
      function.getArg(i)->replaceAllUsesWith(made->getArg(i));
    }
    replacements[&function] = made;
  }

  // ---- values

  llvm::Constant *map(llvm::Constant &constant) {
    if (const auto found = replacements.find(&constant); found != replacements.end())
      return llvm::cast<llvm::Constant>(found->second);
    llvm::Type *type = map(constant.getType());
    if (llvm::isa<llvm::PoisonValue>(constant))
      return llvm::PoisonValue::get(type);
    if (llvm::isa<llvm::UndefValue>(constant))
      return llvm::UndefValue::get(type);
    if (constant.isNullValue())
      return llvm::Constant::getNullValue(type);
    if (auto *aggregate = llvm::dyn_cast<llvm::ConstantAggregate>(&constant)) {
      std::vector<llvm::Constant *> elements;
      for (llvm::Value *element : aggregate->operands())
        elements.push_back(map(*llvm::cast<llvm::Constant>(element)));
      if (auto *array = llvm::dyn_cast<llvm::ArrayType>(type))
        return llvm::ConstantArray::get(array, elements);
      if (auto *structure = llvm::dyn_cast<llvm::StructType>(type))
        return llvm::ConstantStruct::get(structure, elements);
      return llvm::ConstantVector::get(elements);
    }
    if (type != constant.getType() || llvm::isa<llvm::ConstantExpr>(constant))
      context.fail("a constant that is an address has no model");
    return &constant;
  }

  void retype(llvm::Function &function) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      for (llvm::Use &use : instruction.operands())
        if (auto *constant = llvm::dyn_cast<llvm::Constant>(use.get()))
          if (llvm::Constant *mapped = map(*constant); mapped != constant)
            use.set(mapped);
      if (llvm::Type *type = map(instruction.getType()); type != instruction.getType())
        instruction.mutateType(type);
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        call->mutateFunctionType(llvm::cast<llvm::FunctionType>(map(call->getFunctionType())));
    }
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto *cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(&instruction);
          cast && cast->getSrcTy() == cast->getDestTy()) {
        cast->replaceAllUsesWith(cast->getOperand(0));
        cast->eraseFromParent();
      }
  }

  LoweringContext &context;
  llvm::Module &module;
  const std::string hostLayout;
  std::map<llvm::Type *, llvm::Type *> types;
  std::map<llvm::Value *, llvm::Value *> replacements;
};

} // namespace

void retarget(LoweringContext &context, const std::string &layout) { Retargeting(context, layout).run(); }

} // namespace tkc::emulator
