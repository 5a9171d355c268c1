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

/* Make a field readable as Python's own slots are, which the interpreter reads without a call. */
static int sd_show(PyTypeObject *type, int i, const char *name, Py_ssize_t offset, int kind)
{
  sd_fields[i].name = name;
  sd_fields[i].type = kind == 0 ? T_OBJECT_EX : kind == 1 ? T_UBYTE : T_UINT;
  sd_fields[i].offset = offset;
  sd_fields[i].flags = READONLY;
  PyObject *shown = PyDescr_NewMember(type, &sd_fields[i]);
  if (shown == NULL)
  return -1;
  int failed = PyDict_SetItemString(type->tp_dict, name, shown);
  Py_DECREF(shown);
  PyType_Modified(type);
  return failed;
}

static PyGetSetDef sd_predicates[SD_PREDICATES];

/* Make an attribute of a type that calls a function with the object and a pointer. */
static PyObject *sd_ask(PyTypeObject *type, int i, const char *name, getter ask, void *about) {
  sd_predicates[i].name = name;
  sd_predicates[i].get = ask;
  sd_predicates[i].closure = about;
  return PyDescr_NewGetSet(type, &sd_predicates[i]);
}

#endif
