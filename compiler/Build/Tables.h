// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of an LLVM module with the memory layout of C structs.
#pragma once
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace mx::build {

class Tables {
public:
  explicit Tables(llvm::Module &module) : module(module), context(module.getContext()) {}

  llvm::Constant *i32(int64_t value) { return number(32, value); }
  llvm::Constant *i64(int64_t value) { return number(64, value); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer()); }
  llvm::PointerType *pointer() { return llvm::PointerType::getUnqual(context); }

  /// A struct of the fields, with the padding of C.
  llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  /// The address of one value, or of several as an array; null if there are none.
  llvm::Constant *global(llvm::Constant *value) {
    auto *made = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, value, "");
    return made;
  }
  llvm::Constant *row(llvm::ArrayRef<llvm::Constant *> values) {
    if (values.empty())
      return null();
    return global(llvm::ConstantArray::get(
        llvm::ArrayType::get(values.front()->getType(), values.size()), values));
  }
  llvm::Constant *text(llvm::StringRef text) {
    llvm::Constant *&known = texts[text];
    if (!known)
      known = global(llvm::ConstantDataArray::getString(context, text));
    return known;
  }
  /// Bytes aligned to `alignment`.
  llvm::Constant *bytes(llvm::StringRef content, unsigned alignment) {
    auto *at = llvm::cast<llvm::GlobalVariable>(
        global(llvm::ConstantDataArray::getString(context, content, /*AddNull=*/content.empty())));
    at->setAlignment(llvm::Align(alignment));
    return at;
  }

private:
  llvm::Constant *number(unsigned bits, int64_t value) {
    return llvm::ConstantInt::getSigned(llvm::IntegerType::get(context, bits), value);
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::StringMap<llvm::Constant *> texts;
};

} // namespace mx::build
