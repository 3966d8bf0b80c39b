/*
 * An error text for a person who has to mend something: a policy file, the
 * host's configuration, a command line. Says where and how to mend it.
 */
#ifndef TAPWARD_BASE_ERR_H
#define TAPWARD_BASE_ERR_H

/* Longest text kept, NUL included. Longer ones are cut. */
#define ERR_TEXT_MAX 512

struct err {
	char text[ERR_TEXT_MAX];
};

/*
 * Sets err to "file:line: message" (file NULL: only the message; line 0: no
 * line) and returns -EINVAL, so that a function can report and return in one
 * statement. err may be NULL. A second call replaces the first.
 */
__attribute__((format(printf, 4, 5))) int err_at(struct err *err,
    const char *file, unsigned int line, const char *fmt, ...);

/*
 * Puts "what: " before the text that err holds and returns rc: context that
 * is added on the way up.
 */
__attribute__((format(printf, 3, 4))) int err_wrap(struct err *err, int rc,
    const char *fmt, ...);

/* Sets err to "what: strerror(-rc)" and returns rc, which is a -errno. */
__attribute__((format(printf, 3, 4))) int err_os(struct err *err, int rc,
    const char *fmt, ...);

#endif
