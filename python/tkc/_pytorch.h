// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What _calls.cpp asks of PyTorch: through Python, or where that can be, through PyTorch's own functions in C++.
#pragma once
#define PY_SSIZE_T_CLEAN
#include "_inside.h"

#include <Python.h>

#include <cstring>
#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <utility>
#include <vector>

namespace tkc {

/// A counted reference.
class object {
public:
  object() = default;
  explicit object(PyObject *owned) : of(owned) {}
  object(object &&other) noexcept : of(std::exchange(other.of, nullptr)) {}
  object &operator=(object &&other) noexcept { return std::swap(of, other.of), *this; }
  ~object() { Py_XDECREF(of); }
  static object shared(PyObject *of) { return Py_XINCREF(of), object(of); }
  PyObject *get() const { return of; }
  PyObject *release() { return std::exchange(of, nullptr); }
  explicit operator bool() const { return of != nullptr; }

private:
  PyObject *of = nullptr;
};

/// What is asked of a tensor, answered by PyTorch's functions in C++, past its Python, in a tenth of the time. PyTorch
/// does not promise to keep these functions, nor where an object has its tensor. So they are used only where they
/// answer for examples as Python does.
struct answers {
  template <class Result, class... Rest> using of_tensor = Result (*)(const void *, Rest...);
  of_tensor<bool> is_negated = nullptr;            ///< at::native::is_neg(const at::Tensor &)
  of_tensor<bool> requires_grad = nullptr;         ///< c10::TensorImpl::requires_grad() const
  of_tensor<void, DLTensor *> to_dlpack = nullptr; ///< at::toDLPackNonOwning(const at::Tensor &, DLTensor *)
  bool (*has_gradients)() = nullptr;               ///< of AOTInductor's interface for C
  Py_ssize_t offset = 0; ///< from an object to its at::Tensor, which is a pointer to a c10::TensorImpl

  const void *tensor_in(PyObject *of) const { return reinterpret_cast<const char *>(of) + offset; }
  void *implementation_in(PyObject *of) const { return *static_cast<void *const *>(tensor_in(of)); }
  bool look(PyObject *of, DLTensor &result) const {
    try {
      to_dlpack(tensor_in(of), &result);
      return true;
    } catch (...) { // the long way has the words
      return false;
    }
  }
};

/// What of PyTorch is called.
struct framework {
  const DLPackExchangeAPI *api = nullptr;
  PyTypeObject *tensor = nullptr, *parameter = nullptr;
  bool is_inside = false; ///< whether `inside` answers; else Python does
  bool reads = false;     ///< whether it needs to only where a tensor does not show it; see _inside.h
  answers inside;
  kinds known; ///< of tensors that show it
  object has_gradients, is_negated, empty, asked_device;
  object requires_grad, device, empty_keywords;

  /// Each of these three says whether the answer is no.
  bool records_no_gradients() const {
    return is_inside ? !inside.has_gradients() : is_false(PyObject_CallNoArgs(has_gradients.get()));
  }
  bool requires_no_gradient(PyObject *of) const {
    if (!is_inside)
      return is_false(PyObject_GetAttr(of, requires_grad.get()));
    void *const implementation = inside.implementation_in(of);
    return (reads && !tensor_inside(implementation).has_autograd()) || !inside.requires_grad(implementation);
  }
  bool is_not_negated(PyObject *of) const {
    return is_inside ? !inside.is_negated(inside.tensor_in(of))
                     : is_false(PyObject_Vectorcall(is_negated.get(), &of, 1, nullptr));
  }
  /// Of a tensor that is not negated. False, too, of one that has to be asked.
  bool read(PyObject *of, DLTensor &result) const { return reads && known.look(inside.implementation_in(of), result); }
  bool look(PyObject *of, DLTensor &result) {
    if (!is_inside)
      return api->dltensor_from_py_object_no_sync(of, &result) == 0;
    if (!inside.look(of, result))
      return false;
    if (reads && !inside.is_negated(inside.tensor_in(of)))
      known.add(inside.implementation_in(of), result);
    return true;
  }

private:
  static bool is_false(PyObject *answer) { return object(answer).get() == Py_False; }
};

inline const DLPackExchangeAPI *exchange_of(PyObject *type) {
  const object capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  if (!capsule)
    return nullptr;
  auto *api = static_cast<const DLPackExchangeAPI *>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (api && (api->header.version.major != DLPACK_MAJOR_VERSION || !api->dltensor_from_py_object_no_sync))
    return PyErr_SetString(PyExc_TypeError, "another version of DLPack"), nullptr;
  return api;
}

/// Where an object of Python has a pointer; 0: nowhere.
inline Py_ssize_t offset_of(PyObject *of, const void *pointer) {
  for (Py_ssize_t at = sizeof(PyObject); at + Py_ssize_t(sizeof pointer) <= Py_TYPE(of)->tp_basicsize;
       at += sizeof pointer)
    if (std::memcmp(reinterpret_cast<char *>(of) + at, &pointer, sizeof pointer) == 0)
      return at;
  return 0;
}

/// A tensor, where its implementation and its storage are, and what Python says of it.
struct example {
  PyObject *tensor = nullptr;
  unsigned long long address = 0, storage = 0;
  int is_negated = 0, requires_grad = 0, is_lazy_copy = 0;

  bool parse(PyObject *of) {
    return PyArg_ParseTuple(of, "OKppKp", &tensor, &address, &is_negated, &requires_grad, &storage, &is_lazy_copy);
  }
  void *implementation() const { return reinterpret_cast<void *>(address); }
};

inline bool answers_right(answers &found, const DLPackExchangeAPI &api, const example &of) {
  void *const implementation = of.implementation();
  PyObject *const tensor = of.tensor;
  if (!found.offset)
    found.offset = offset_of(tensor, implementation);
  if (!found.offset || found.implementation_in(tensor) != implementation)
    return false;
  DLTensor seen = {}, exchanged = {};
  return found.is_negated(found.tensor_in(tensor)) == bool(of.is_negated) &&
         found.requires_grad(implementation) == bool(of.requires_grad) && found.look(tensor, seen) &&
         api.dltensor_from_py_object_no_sync(tensor, &exchanged) == 0 && are_alike(seen, exchanged);
}

template <class Function> bool take_function(void *library, const char *name, Function &function) {
  return (function = reinterpret_cast<Function>(dlsym(library, name))) != nullptr;
}

/// False where the functions are not there, or answer something else.
inline bool take_answers(answers &found, const DLPackExchangeAPI &api, PyObject *examples) {
  void *const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD); // PyTorch has it, and never lets it go
  if (!library || !take_function(library, "_ZN2at6native6is_negERKNS_6TensorE", found.is_negated) ||
      !take_function(library, "_ZNK3c1010TensorImpl13requires_gradEv", found.requires_grad) ||
      !take_function(library, "_ZN2at17toDLPackNonOwningERKNS_6TensorEP8DLTensor", found.to_dlpack) ||
      !take_function(library, "aoti_torch_grad_mode_is_enabled", found.has_gradients))
    return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(examples); ++i) {
    example one;
    if (!one.parse(PyList_GET_ITEM(examples, i)) || !answers_right(found, api, one))
      return false;
  }
  return PyList_GET_SIZE(examples) > 0;
}

/// Whether an example shows what the functions answer.
inline bool shows_right(const answers &found, const example &of) {
  const tensor_inside tensor(of.implementation());
  DLTensor answer = {}, seen = {};
  if ((of.requires_grad && !tensor.has_autograd()) || !found.look(of.tensor, answer))
    return false;
  int64_t elements = 1;
  for (int d = 0; d < answer.ndim; ++d)
    elements *= answer.shape[d];
  kinds one;
  one.add(of.implementation(), answer);
  return tensor.is_empty() == (elements == 0) &&
         (elements == 0 || (one.look(of.implementation(), seen) && are_alike(seen, answer)));
}

/// Whether two examples that differ in what a kind stands for are of two kinds.
inline bool are_told_apart(const answers &found, const example &one, const example &other) {
  DLTensor first = {}, second = {};
  if (!found.look(one.tensor, first) || !found.look(other.tensor, second))
    return false;
  const bool differ = one.is_negated != other.is_negated || first.dtype.code != second.dtype.code ||
                      first.dtype.bits != second.dtype.bits || first.device.device_type != second.device.device_type;
  return !differ || tensor_inside(one.implementation()).kind() != tensor_inside(other.implementation()).kind();
}

/// Whether storages are where they are looked for, and show which tensors are lazy copies, as one must be. This is
/// asked before the functions, which make copies of them.
inline bool storages_show(PyObject *examples) {
  bool has_copy = false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(examples); ++i) {
    example one;
    if (!one.parse(PyList_GET_ITEM(examples, i)))
      return false;
    const tensor_inside tensor(one.implementation());
    if (!one.address || !one.storage || reinterpret_cast<uintptr_t>(tensor.storage()) != one.storage ||
        tensor.is_guarded() != bool(one.is_lazy_copy))
      return false;
    has_copy |= bool(one.is_lazy_copy);
  }
  return has_copy;
}

/// Whether tensors show all the rest, too.
inline bool tensors_show(const answers &found, PyObject *examples) {
  std::vector<example> all(static_cast<size_t>(PyList_GET_SIZE(examples)));
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].parse(PyList_GET_ITEM(examples, static_cast<Py_ssize_t>(i))) || !shows_right(found, all[i]))
      return false;
    for (size_t before = 0; before < i; ++before)
      if (!are_told_apart(found, all[i], all[before]))
        return false;
  }
  return true;
}

inline bool take_framework(framework &torch, PyObject *module, PyObject *asked_device, PyObject *examples) {
  const object tensor(PyObject_GetAttrString(module, "Tensor")), nn(PyObject_GetAttrString(module, "nn"));
  const object parameter(nn ? PyObject_GetAttrString(nn.get(), "Parameter") : nullptr);
  if (!tensor || !parameter || !(torch.api = exchange_of(tensor.get())))
    return false;
  torch.tensor = reinterpret_cast<PyTypeObject *>(object::shared(tensor.get()).release());
  torch.parameter = reinterpret_cast<PyTypeObject *>(object::shared(parameter.get()).release());
  torch.has_gradients = object(PyObject_GetAttrString(module, "is_grad_enabled"));
  torch.is_negated = object(PyObject_GetAttrString(tensor.get(), "is_neg"));
  torch.empty = object(PyObject_GetAttrString(module, "empty_strided"));
  torch.requires_grad = object(PyUnicode_InternFromString("requires_grad"));
  torch.device = object(PyUnicode_InternFromString("device"));
  // Interned, as PyTorch compares names by their addresses first.
  const object dtype(PyUnicode_InternFromString("dtype"));
  torch.empty_keywords = object(PyTuple_Pack(2, dtype.get(), torch.device.get()));
  torch.asked_device = object::shared(asked_device);
  const bool have_storages = storages_show(examples);
  torch.is_inside = take_answers(torch.inside, *torch.api, examples);
  torch.reads = torch.is_inside && have_storages && tensors_show(torch.inside, examples);
  PyErr_Clear();
  return torch.has_gradients && torch.is_negated && torch.empty;
}

} // namespace tkc
