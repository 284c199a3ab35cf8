// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's repeated calls from Python, in a microsecond: `Calls` takes a call's arguments, and calls the function
// that a call like this one was given before. What it does not take, and what the launcher refuses, goes the long way,
// which is another callable. What decides is written in _repeated.py, which makes one of these for each kernel.
//
// Tensors are those of PyTorch, seen by DLPack's functions for C. Compiled by _native.py, for the Python that runs it.
#include "_pytorch.h"

#include <array>
#include <cstdint>
#include <deque>
#include <structmember.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <utility>
#include <vector>

namespace {

using tkc::framework;
using tkc::object;

/// Not among what every call runs, so that this takes few lines of the CPU's cache.
#define RARE __attribute__((noinline))

constexpr int max_parameters = 32, max_rank = 8; // the bits of `call::allocated`

struct parameter {
  PyObject *name;  ///< interned, as are the names of a call's keywords
  object fallback; ///< its value where a call has none; null: there must be one
  int is_tensor, is_optional;
  int may_be_negated; ///< by PyTorch, lazily
  int position;       ///< among the arguments of the function
};

/// A dim of an output: that of a tensor and an offset, or a number.
struct size {
  int parameter, dim; ///< -1: the offset alone
  long long offset;
};

/// What decides which function serves a call: a number that its arguments have.
struct part {
  char what; ///< 't'ype or 'd'im or 'g'PU of a tensor, whether it is 'n'one, or the number itself: 'v'alue
  int parameter, dim;
};

/// A function that served a call.
struct known {
  std::vector<int64_t> key;
  object function; ///< of tvm_ffi, which owns the handle
  TVMFFIObjectHandle handle;
  std::vector<object> dtypes; ///< of the outputs
  object device;              ///< as PyTorch calls the one where the last outputs were allocated
  DLDevice allocates_on = {};
};

/// DLPack's view of a tensor. Strides of dims with one element say nothing, and are 1.
struct view {
  DLTensor tensor;
  std::array<int64_t, max_rank> strides;

  bool normalize() {
    if (tensor.ndim > max_rank)
      return false;
    if (!tensor.strides)
      return true;
    for (int d = 0; d < tensor.ndim; ++d)
      strides[d] = tensor.shape[d] > 1 ? tensor.strides[d] : 1;
    tensor.strides = strides.data();
    return true;
  }
};

struct calls_data {
  object long_way, out_name;
  std::vector<parameter> parameters; ///< inputs, then outputs
  int inputs = 0;
  std::vector<part> key;
  std::vector<std::vector<size>> shapes; ///< of the outputs; empty: they must be passed
  std::deque<known> functions; ///< where each stays where it is: other threads add to them while a call is served
  known *latest = nullptr;     ///< the one that served last
  framework torch;
};

struct calls {
  PyObject_HEAD vectorcallfunc vectorcall;
  calls_data *data;
  bool asks_python; ///< of tensors, where PyTorch's functions are not used
  bool reads;       ///< tensors, and uses these functions where it has to
};

/// One call. Every step says whether the short way goes on.
class call {
public:
  explicit call(calls_data &of) : of(of), count(static_cast<int>(of.parameters.size())) {}
  ~call() {
    for (int i = of.inputs; i < count; ++i)
      if (is_allocated(i))
        Py_DECREF(values[i]);
  }
  call(const call &) = delete;

  /// Null, with an error or none, where the call has to go the long way. `has_run` says whether it was served.
  PyObject *run(PyObject *const *arguments, Py_ssize_t positional, PyObject *names) {
    known *found = nullptr;
    if (!bind(arguments, positional, names) || !is_for_gpu() || !take_inputs() || !take_passed_outputs() ||
        !(found = find()) || !allocate(*found) || !launch(*found))
      return nullptr;
    has_run = true;
    return results();
  }

  /// Calls with such arguments, in the order of the parameters, will be served by `function`.
  bool remember(PyObject *arguments, known &&function) {
    for (int i = 0; i < count; ++i) {
      values[i] = PyTuple_GET_ITEM(arguments, i);
      if (i < of.inputs && of.parameters[i].is_tensor && values[i] != Py_None && !look(i))
        return false;
    }
    std::array<int64_t, max_parameters> numbers;
    if (!key_of(numbers))
      return false;
    function.key.assign(numbers.begin(), numbers.begin() + of.key.size());
    of.functions.push_back(std::move(function));
    return true;
  }

  bool has_run = false;

private:
  bool bind(PyObject *const *arguments, Py_ssize_t positional, PyObject *names) {
    if (positional > of.inputs)
      return false;
    for (int i = 0; i < count; ++i) // so few that setting all to null first takes longer
      values[i] = i < positional ? arguments[i] : nullptr;
    PyObject *out = nullptr;
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
      PyObject **at = place_of(PyTuple_GET_ITEM(names, k), out);
      if (!at || *at)
        return false;
      *at = arguments[positional + k];
    }
    for (int i = 0; i < of.inputs; ++i)
      if (!values[i] && !(values[i] = of.parameters[i].fallback.get()))
        return false;
    return !out || out == Py_None || take_out(out);
  }

  PyObject **place_of(PyObject *name, PyObject *&out) {
    for (int i = 0; i < count; ++i)
      if (of.parameters[i].name == name)
        return &values[i];
    return name == of.out_name.get() ? &out : nullptr;
  }

  bool take_out(PyObject *out) {
    for (int i = of.inputs; i < count; ++i)
      if (values[i])
        return false;
    if (count == of.inputs + 1)
      return values[of.inputs] = out, true;
    if (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != count - of.inputs)
      return false;
    for (int i = of.inputs; i < count; ++i)
      values[i] = PyTuple_GET_ITEM(out, i - of.inputs);
    all_outputs = out;
    return true;
  }

  /// Not where `tkc.device("cpu")` asks for the interpreter.
  bool is_for_gpu() const {
    PyObject *asked = nullptr;
    if (PyContextVar_Get(of.torch.asked_device.get(), nullptr, &asked) < 0)
      return false;
    const object owned(asked);
    return asked == Py_None || PyUnicode_CompareWithASCIIString(asked, "cpu") != 0;
  }

  bool take_inputs() {
    // Where a tensor says by itself that it requires none, this need not be asked.
    has_gradients = of.torch.is_inside || !of.torch.records_no_gradients();
    for (int i = 0; i < of.inputs; ++i)
      if (of.parameters[i].is_tensor && !take_tensor(i))
        return false;
    return true;
  }

  bool take_passed_outputs() {
    for (int i = of.inputs; i < count; ++i)
      if (values[i] && !take_tensor(i))
        return false;
    return true;
  }

  /// A tensor that a call passes, and not one whose gradient is asked for or whose memory does not show its values.
  bool take_tensor(int i) {
    const parameter &p = of.parameters[i];
    PyObject *value = values[i];
    if (value == Py_None)
      return p.is_optional;
    if (Py_TYPE(value) != of.torch.tensor && Py_TYPE(value) != of.torch.parameter)
      return false;
    if (has_gradients && !of.torch.requires_no_gradient(value) && !of.torch.records_no_gradients())
      return false;
    if (of.torch.read(value, views[i].tensor))
      return views[i].normalize();
    return ask(i);
  }

  RARE bool ask(int i) {
    const parameter &p = of.parameters[i];
    PyObject *value = values[i];
    if (p.may_be_negated && !of.torch.is_not_negated(value))
      return false;
    return look(i);
  }

  bool look(int i) { return of.torch.look(values[i], views[i].tensor) && views[i].normalize(); }

  // ---- the function
  // --------------------------------------------------------------------------------------------------

  bool key_of(std::array<int64_t, max_parameters> &numbers) const {
    for (size_t at = 0; at < of.key.size(); ++at)
      if (!number_of(of.key[at], numbers[at]))
        return false;
    return true;
  }

  bool number_of(const part &p, int64_t &number) const {
    const bool is_none = values[p.parameter] == Py_None;
    if (p.what == 'n')
      return number = is_none, true;
    if (p.what == 'v')
      return of_number(values[p.parameter], number);
    const DLTensor &tensor = views[p.parameter].tensor;
    if (is_none)
      number = -1;
    else if (p.what == 't')
      number = tensor.dtype.code << 24 | tensor.dtype.bits << 16 | tensor.dtype.lanes;
    else if (p.what == 'g')
      number = tensor.device.device_id;
    else if (p.dim < tensor.ndim)
      number = tensor.shape[p.dim];
    else
      return false;
    return true;
  }

  /// The bits of a constant.
  static bool of_number(PyObject *value, int64_t &number) {
    TVMFFIAny packed;
    if (!pack_number(value, packed))
      return false;
    number = packed.v_int64;
    return true;
  }

  known *find() const {
    std::array<int64_t, max_parameters> numbers;
    if (!key_of(numbers))
      return nullptr;
    if (of.latest && has_key(*of.latest, numbers))
      return of.latest;
    return search(numbers);
  }

  RARE known *search(const std::array<int64_t, max_parameters> &numbers) const {
    for (known &one : of.functions)
      if (has_key(one, numbers))
        return of.latest = &one;
    return nullptr;
  }

  static bool has_key(const known &of, const std::array<int64_t, max_parameters> &numbers) {
    for (size_t at = 0; at < of.key.size(); ++at)
      if (of.key[at] != numbers[at])
        return false;
    return true;
  }

  // ---- outputs
  // -------------------------------------------------------------------------------------------------------

  bool is_allocated(int i) const { return allocated >> i & 1; }

  bool allocate(known &function) {
    for (int i = of.inputs; i < count; ++i)
      if (!values[i] && !allocate(function, i))
        return false;
    return true;
  }

  RARE bool allocate(known &function, int i) {
    if (of.shapes.empty() || !take_device(function))
      return false;
    const int output = i - of.inputs;
    if (!(values[i] = new_tensor(of.shapes[output], function.dtypes[output].get(), function.device.get())))
      return false;
    allocated |= uint32_t(1) << i;
    return look(i);
  }

  PyObject *new_tensor(const std::vector<size> &shape, PyObject *dtype, PyObject *device) const {
    const Py_ssize_t rank = static_cast<Py_ssize_t>(shape.size());
    const object sizes(PyTuple_New(rank)), strides(PyTuple_New(rank));
    if (!sizes || !strides)
      return nullptr;
    long long stride = 1;
    for (Py_ssize_t d = rank; d-- > 0;) {
      long long extent = 0;
      if (!extent_of(shape[d], extent))
        return nullptr;
      PyTuple_SET_ITEM(sizes.get(), d, PyLong_FromLongLong(extent));
      PyTuple_SET_ITEM(strides.get(), d, PyLong_FromLongLong(stride));
      stride *= extent > 0 ? extent : 1;
    }
    PyObject *arguments[] = {sizes.get(), strides.get(), dtype, device};
    return PyObject_Vectorcall(of.torch.empty.get(), arguments, 2, of.torch.empty_keywords.get());
  }

  /// That of the first tensor.
  bool take_device(known &function) const {
    int first = 0;
    while (first < of.inputs && !of.parameters[first].is_tensor)
      ++first;
    if (first == of.inputs || values[first] == Py_None)
      return false;
    const DLDevice on = views[first].tensor.device;
    if (function.device && on.device_type == function.allocates_on.device_type &&
        on.device_id == function.allocates_on.device_id)
      return true;
    function.device = object(PyObject_GetAttr(values[first], of.torch.device.get()));
    function.allocates_on = on;
    return bool(function.device);
  }

  bool extent_of(const size &s, long long &extent) const {
    extent = s.offset;
    if (s.parameter < 0)
      return true;
    const DLTensor &tensor = views[s.parameter].tensor;
    if (values[s.parameter] == Py_None || s.dim >= tensor.ndim)
      return false;
    extent += tensor.shape[s.dim];
    return extent >= 0;
  }

  PyObject *results() const {
    int present = 0, last = 0;
    for (int i = of.inputs; i < count; ++i)
      if (values[i] != Py_None)
        ++present, last = i;
    if (present <= 1)
      return object::shared(present ? values[last] : Py_None).release();
    if (all_outputs && present == count - of.inputs)
      return object::shared(all_outputs).release();
    return new_tuple(present);
  }

  RARE PyObject *new_tuple(int present) const {
    PyObject *tuple = PyTuple_New(present);
    for (int i = of.inputs, at = 0; tuple && i < count; ++i)
      if (values[i] != Py_None)
        PyTuple_SET_ITEM(tuple, at++, object::shared(values[i]).release());
    return tuple;
  }

  // ---- the launch
  // ----------------------------------------------------------------------------------------------------

  /// Numbers of Python alone; the launcher checks what they are for.
  static bool pack_number(PyObject *value, TVMFFIAny &packed) {
    packed.type_index = kTVMFFIInt;
    packed.zero_padding = 0;
    if (PyFloat_CheckExact(value)) {
      packed.type_index = kTVMFFIFloat;
      packed.v_float64 = PyFloat_AS_DOUBLE(value);
    } else if (PyBool_Check(value)) {
      packed.type_index = kTVMFFIBool;
      packed.v_int64 = value == Py_True;
    } else if (PyLong_CheckExact(value)) {
      int overflow = 0;
      packed.v_int64 = PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0;
    } else {
      return false;
    }
    return true;
  }

  bool pack(int i, TVMFFIAny &packed) {
    if (!of.parameters[i].is_tensor)
      return pack_number(values[i], packed);
    packed.zero_padding = 0;
    packed.type_index = values[i] == Py_None ? kTVMFFINone : kTVMFFIDLTensorPtr;
    packed.v_ptr = values[i] == Py_None ? nullptr : &views[i].tensor;
    return true;
  }

  const DLTensor *first_on_gpu() const {
    for (int i = 0; i < count; ++i)
      if (of.parameters[i].is_tensor && values[i] != Py_None && views[i].tensor.device.device_type != kDLCPU)
        return &views[i].tensor;
    return nullptr;
  }

  bool launch(const known &function) {
    std::array<TVMFFIAny, max_parameters> packed;
    for (int i = 0; i < count; ++i)
      if (!pack(i, packed[of.parameters[i].position]))
        return false;
    // The stream on which PyTorch computes there.
    void *stream = nullptr;
    TVMFFIStreamHandle before = nullptr;
    const DLTensor *on = first_on_gpu();
    if (on && (of.torch.api->current_work_stream(on->device.device_type, on->device.device_id, &stream) != 0 ||
               TVMFFIEnvSetStream(on->device.device_type, on->device.device_id, stream, &before) != 0))
      return false;
    TVMFFIAny result = {};
    int code = 0;
    Py_BEGIN_ALLOW_THREADS code = TVMFFIFunctionCall(function.handle, packed.data(), count, &result);
    Py_END_ALLOW_THREADS if (on && before != stream)
        TVMFFIEnvSetStream(on->device.device_type, on->device.device_id, before, nullptr);
    if (code == 0)
      return true;
    forget_error();
    return false;
  }

  /// The long way meets it again.
  RARE static void forget_error() {
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    if (error)
      TVMFFIObjectDecRef(error);
  }

  calls_data &of;
  const int count;
  bool has_gradients = false;
  /// Borrowed; of what a call does not pass the default or what is allocated.
  std::array<PyObject *, max_parameters> values;
  PyObject *all_outputs = nullptr; ///< the tuple that passed them
  uint32_t allocated = 0;          ///< which of them are, a bit for each
  std::array<view, max_parameters> views;
};

// ---- the type of Python
// ------------------------------------------------------------------------------------------------

PyObject *serve(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  const object kept = object::shared(self); // its kernel may get another one meanwhile
  calls_data &data = *reinterpret_cast<calls *>(self)->data;
  const Py_ssize_t positional = PyVectorcall_NARGS(flags);
  {
    call one(data);
    PyObject *result = one.run(arguments, positional, names);
    if (result || one.has_run)
      return result;
  }
  PyErr_Clear();
  return PyObject_Vectorcall(data.long_way.get(), arguments, positional, names);
}

bool take_parameters(calls_data &data, PyObject *list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject *name = nullptr, *fallback = nullptr;
    parameter p = {};
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "UOpppi", &name, &fallback, &p.is_tensor, &p.is_optional,
                          &p.may_be_negated, &p.position))
      return false;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    p.name = name; // for ever, as interned names are
    if (fallback != Py_Ellipsis)
      p.fallback = object::shared(fallback);
    data.parameters.push_back(std::move(p));
  }
  return true;
}

bool take_key(calls_data &data, PyObject *list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    part p = {};
    int what = 0;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "Cii", &what, &p.parameter, &p.dim))
      return false;
    p.what = static_cast<char>(what);
    data.key.push_back(p);
  }
  return true;
}

bool take_shapes(calls_data &data, PyObject *list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject *dims = PyList_GET_ITEM(list, i);
    data.shapes.emplace_back();
    for (Py_ssize_t d = 0; d < PyList_GET_SIZE(dims); ++d) {
      size s = {};
      if (!PyArg_ParseTuple(PyList_GET_ITEM(dims, d), "iiL", &s.parameter, &s.dim, &s.offset))
        return false;
      data.shapes.back().push_back(s);
    }
  }
  return true;
}

/// Calls(torch, examples, asked_device, long_way, inputs, parameters, key, shapes, out_name)
PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *torch = nullptr, *examples = nullptr, *asked = nullptr, *long_way = nullptr, *parameters = nullptr,
           *key = nullptr;
  PyObject *shapes = nullptr, *out_name = nullptr;
  int inputs = 0;
  if (!PyArg_ParseTuple(arguments, "OO!OOiO!O!O!O", &torch, &PyList_Type, &examples, &asked, &long_way, &inputs,
                        &PyList_Type, &parameters, &PyList_Type, &key, &PyList_Type, &shapes, &out_name))
    return nullptr;
  if (PyList_GET_SIZE(parameters) > max_parameters || PyList_GET_SIZE(key) > max_parameters)
    return PyErr_SetString(PyExc_ValueError, "too many parameters"), nullptr;
  object self(type->tp_alloc(type, 0));
  if (!self)
    return nullptr;
  auto *made = reinterpret_cast<calls *>(self.get());
  made->vectorcall = serve;
  made->data = new calls_data;
  made->data->inputs = inputs;
  made->data->long_way = object::shared(long_way);
  if (out_name != Py_None) {
    Py_INCREF(out_name);
    PyUnicode_InternInPlace(&out_name);
    made->data->out_name = object(out_name);
  }
  if (!tkc::take_framework(made->data->torch, torch, asked, examples) || !take_parameters(*made->data, parameters) ||
      !take_key(*made->data, key) || !take_shapes(*made->data, shapes))
    return nullptr;
  made->asks_python = !made->data->torch.is_inside;
  made->reads = made->data->torch.reads;
  return self.release();
}

/// remember(values, function, handle, dtypes)
PyObject *remember(PyObject *self, PyObject *arguments) {
  PyObject *values = nullptr, *function = nullptr, *dtypes = nullptr;
  unsigned long long handle = 0;
  if (!PyArg_ParseTuple(arguments, "O!OKO!", &PyTuple_Type, &values, &function, &handle, &PyList_Type, &dtypes))
    return nullptr;
  calls_data &data = *reinterpret_cast<calls *>(self)->data;
  known made;
  made.function = object::shared(function);
  made.handle = reinterpret_cast<TVMFFIObjectHandle>(handle);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(dtypes); ++i)
    made.dtypes.push_back(object::shared(PyList_GET_ITEM(dtypes, i)));
  if (PyTuple_GET_SIZE(values) != static_cast<Py_ssize_t>(data.parameters.size()))
    return PyErr_SetString(PyExc_ValueError, "as many values as parameters"), nullptr;
  if (!call(data).remember(values, std::move(made)))
    PyErr_Clear(); // such calls go the long way
  Py_RETURN_NONE;
}

/// The kernel has this as the method of its class, and this has the kernel's long way.
int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (const calls_data *data = reinterpret_cast<calls *>(self)->data)
    Py_VISIT(data->long_way.get());
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject *type = Py_TYPE(self);
  delete reinterpret_cast<calls *>(self)->data;
  type->tp_free(self);
  Py_DECREF(type);
}

/// Of a class that has no `__call__` of its own: Python may call it without a tuple and a dictionary of the arguments,
/// if its base may be. Python 3.12 and later see to that by themselves.
PyObject *call_as_base(PyObject *, PyObject *of) {
  if (!PyType_Check(of))
    return PyErr_SetString(PyExc_TypeError, "not a class"), nullptr;
  auto *type = reinterpret_cast<PyTypeObject *>(of);
  PyTypeObject *const base = type->tp_base;
  if (base && PyType_HasFeature(base, Py_TPFLAGS_HAVE_VECTORCALL) && type->tp_call == base->tp_call &&
      type->tp_vectorcall_offset == base->tp_vectorcall_offset)
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  Py_RETURN_NONE;
}

/// An object of functools.partial begins so.
struct partial {
  PyObject_HEAD PyObject *function;
};

bool is_calls(PyObject *of) { return Py_TYPE(of)->tp_dealloc == destroy; }

PyObject *serve_partial(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  PyObject *const function = reinterpret_cast<partial *>(self)->function;
  return is_calls(function) ? serve(function, arguments, flags, names)
                            : PyObject_Vectorcall(function, arguments, flags, names);
}

/// An object of functools.partial that calls a `Calls`, and passes nothing besides: Python may do it without the code
/// of functools, until the object is given something else to call.
PyObject *call_directly(PyObject *, PyObject *of) {
  PyTypeObject *const type = Py_TYPE(of);
  const object function(PyObject_GetAttrString(of, "func")), more(PyObject_GetAttrString(of, "args")),
      named(PyObject_GetAttrString(of, "keywords"));
  if (!function || !more || !named)
    return nullptr;
  if (PyObject_IsTrue(more.get()) != 0 || PyObject_IsTrue(named.get()) != 0)
    Py_RETURN_NONE;
  if (is_calls(function.get()) && PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) &&
      type->tp_vectorcall_offset > 0 && reinterpret_cast<partial *>(of)->function == function.get()) {
    auto *const called = reinterpret_cast<vectorcallfunc *>(reinterpret_cast<char *>(of) + type->tp_vectorcall_offset);
    if (*called)
      *called = serve_partial;
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"remember", remember, METH_VARARGS, nullptr}, {}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(calls, vectorcall), READONLY, nullptr},
    {"asks_python", T_BOOL, offsetof(calls, asks_python), READONLY, nullptr},
    {"reads", T_BOOL, offsetof(calls, reads), READONLY, nullptr},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(make)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {},
};
PyType_Spec spec = {"tkc._calls.Calls", sizeof(calls), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
PyMethodDef functions[] = {
    {"call_as_base", call_as_base, METH_O, nullptr}, {"call_directly", call_directly, METH_O, nullptr}, {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_calls", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__calls() {
  object module(PyModule_Create(&definition));
  PyObject *type = module ? PyType_FromSpec(&spec) : nullptr;
  if (!type || PyModule_AddObject(module.get(), "Calls", type) < 0)
    return nullptr;
  return module.release();
}
