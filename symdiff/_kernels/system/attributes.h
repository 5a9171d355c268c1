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

/* How an attribute is read, found by the address of its name: Python's own way searches each class for the name, and
 * rules of simplification read a few hundred of them for each node. */
typedef struct {
  PyObject *name;
  PyTypeObject *type; /* of the objects that have it */
  PyMemberDef *field;
  PyGetSetDef *computed;
} sd_attribute;

#define SD_ATTRIBUTES 256
static sd_attribute sd_attributes[SD_ATTRIBUTES];

static inline size_t sd_place(PyObject *name)
{
  return ((size_t)name >> 4) * 0x9E3779B97F4A7C15ULL >> 56;
}

/* Put a descriptor among the attributes of a type; the reference to it is stolen. */
static int sd_put(PyTypeObject *type, PyMemberDef *field, PyGetSetDef *computed, PyObject *descriptor)
{
  if (descriptor == NULL)
    return -1;
  PyObject *name = PyUnicode_InternFromString(field != NULL ? field->name : computed->name); /* kept for good */
  int failed = name == NULL ? -1 : PyDict_SetItem(type->tp_dict, name, descriptor);
  Py_DECREF(descriptor);
  PyType_Modified(type);
  if (failed)
    return -1;
  size_t at = sd_place(name);
  while (sd_attributes[at].name != NULL)
    at = (at + 1) % SD_ATTRIBUTES;
  sd_attributes[at] = (sd_attribute){name, type, field, computed};
  return 0;
}

/* Make a field readable as Python's own slots are. */
static int sd_show(PyTypeObject *type, int i, const char *name, Py_ssize_t offset, int kind)
{
  sd_fields[i].name = name;
  sd_fields[i].type = kind == 0 ? T_OBJECT_EX : kind == 1 ? T_UBYTE : T_ULONGLONG;
  sd_fields[i].offset = offset;
  sd_fields[i].flags = READONLY;
  return sd_put(type, &sd_fields[i], NULL, PyDescr_NewMember(type, &sd_fields[i]));
}

/* Give a type an attribute that calls a function with the object and a pointer. */
static int sd_ask(PyTypeObject *type, int i, const char *name, getter ask, void *about)
{
  sd_computed[i].name = name;
  sd_computed[i].get = ask;
  sd_computed[i].closure = about;
  return sd_put(type, NULL, &sd_computed[i], PyDescr_NewGetSet(type, &sd_computed[i]));
}

/* Return an attribute of an instance of ``type`` or of a subclass. */
static inline PyObject *sd_get(PyObject *self, PyObject *name, PyTypeObject *type)
{
  for (size_t at = sd_place(name); sd_attributes[at].name != NULL; at = (at + 1) % SD_ATTRIBUTES) {
    sd_attribute *one = &sd_attributes[at];
    if (one->name != name)
      continue;
    if (one->type != type && one->type != Py_TYPE(self))
      break;
    if (one->computed != NULL)
      return one->computed->get(self, one->computed->closure);
    if (one->field->type == T_OBJECT_EX) {
      PyObject *held = *(PyObject **)((char *)self + one->field->offset);
      Py_INCREF(held);
      return held;
    }
    return PyMember_GetOne((char *)self, one->field);
  }
  return PyObject_GenericGetAttr(self, name);
}

#endif
