/* The system's loader of libraries, which ctypes does not unload. Needs dlopen; elsewhere nothing is loaded. */

#ifndef SD_LOADER_H
#define SD_LOADER_H
#ifndef _WIN32
#include <dlfcn.h>
static void *sd_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }
static void *sd_find(void *library, const char *name) { return dlsym(library, name); }
static const char *sd_complaint(void) { return dlerror(); }
static void sd_close(void *library) { dlclose(library); }
#else
static void *sd_open(const char *path) { return (void)path, (void *)0; }
static void *sd_find(void *library, const char *name) { return (void)library, (void)name, (void *)0; }
static const char *sd_complaint(void) { return "not on this system"; }
static void sd_close(void *library) { (void)library; }
#endif
#endif
