/*
 * Where our other programs and our data lie, told from where the running
 * program lies: one tree of bin/, sbin/, libexec/tapward/ and share/tapward/
 * that runs from anywhere, installed or in the build folder.
 */
#ifndef TAPWARD_BASE_PATHS_H
#define TAPWARD_BASE_PATHS_H

#include <stddef.h>

/*
 * The path of the program libexec/tapward/NAME, or of share/tapward/NAME
 * ("presets/npm-read.ini"), into buf. -ENAMETOOLONG if it does not fit,
 * -ENOENT if the running program lies in no such tree or has been deleted;
 * else 0, and nothing is said about whether the file is there.
 */
int paths_libexec(const char *name, char *buf, size_t size);
int paths_data(const char *name, char *buf, size_t size);

/*
 * The part of the two that reads nothing: the tree that the program at exe
 * lies in ("/usr" for "/usr/sbin/tapwardd"). Results as above.
 */
int paths_tree(const char *exe, char *buf, size_t size);

#endif
