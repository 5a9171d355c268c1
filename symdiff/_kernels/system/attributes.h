/* Attributes of a type of which there are many objects, read without a call of Python. Needs Python's headers. */

#ifndef SD_ATTRIBUTES_H
#define SD_ATTRIBUTES_H

#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#define SD_PREDICATES 64
#define SD_NUMBERS 1024
/* Slots of a table that hold nothing, and those whose object is gone. */
enum { SD_FREE, SD_GONE };

static PyMemberDef sd_fields[8];
static PyGetSetDef sd_computed[SD_PREDICATES + 2];

/* Put a descriptor, which this takes, among the attributes of a type. */
static int sd_put(PyTypeObject *type, const char *name, PyObject *descriptor)
{
  if (descriptor == NULL)
  return -1;
  int failed = PyDict_SetItemString(type->tp_dict, name, descriptor);
  Py_DECREF(descriptor);
  PyType_Modified(type);
  return failed;
}

/* Make a field readable as Python's own slots are, which the interpreter reads without a call. */
static int sd_show(PyTypeObject *type, int i, const char *name, Py_ssize_t offset, int kind)
{
  sd_fields[i].name = name;
  sd_fields[i].type = kind == 0 ? T_OBJECT_EX : kind == 1 ? T_UBYTE : T_UINT;
  sd_fields[i].offset = offset;
  sd_fields[i].flags = READONLY;
  return sd_put(type, name, PyDescr_NewMember(type, &sd_fields[i]));
}

/* Give a type an attribute that calls a function with the object and a pointer. */
static int sd_ask(PyTypeObject *type, int i, const char *name, getter ask, void *about)
{
  sd_computed[i].name = name;
  sd_computed[i].get = ask;
  sd_computed[i].closure = about;
  return sd_put(type, name, PyDescr_NewGetSet(type, &sd_computed[i]));
}

#endif
