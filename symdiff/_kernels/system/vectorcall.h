/* Python's protocol for calls without a tuple of arguments, for a class written in Cython, which has no way to say
   that its objects are called so. Needs Python's headers. */

#ifndef SD_VECTORCALL_H
#define SD_VECTORCALL_H
#include <Python.h>

typedef PyObject *(*sd_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

static Py_ssize_t sd_vectorcall_count(size_t nargsf) { return PyVectorcall_NARGS(nargsf); }

static PyObject *const *sd_items(PyObject *tuple) { return ((PyTupleObject *)tuple)->ob_item; }

static Py_ssize_t sd_offset(PyObject *self, void *member) { return (char *)member - (char *)self; }

/* Let a class use the protocol; `offset` is where its objects hold the function, 0 to keep what is inherited. */
static void sd_enable_vectorcall(PyObject *cls, Py_ssize_t offset) {
  PyTypeObject *type = (PyTypeObject *)cls;
  if (offset) type->tp_vectorcall_offset = offset;
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
}
#endif
