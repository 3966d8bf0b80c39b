/*
 * Error texts for people, see err.h.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Writes the text from offset at on; one that is too long is cut. */
__attribute__((format(printf, 3, 0))) static void
put_v(struct err *err, size_t at, const char *fmt, va_list ap)
{
	(void)vsnprintf(err->text + at, sizeof(err->text) - at, fmt, ap);
}

__attribute__((format(printf, 3, 4))) static void
put(struct err *err, size_t at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_v(err, at, fmt, ap);
	va_end(ap);
}

int
err_at(struct err *err, const char *file, unsigned int line, const char *fmt,
    ...)
{
	va_list ap;

	if (err == NULL)
		return -EINVAL;
	err->text[0] = '\0';
	if (file != NULL && line != 0)
		put(err, 0, "%s:%u: ", file, line);
	else if (file != NULL)
		put(err, 0, "%s: ", file);
	va_start(ap, fmt);
	put_v(err, strlen(err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int
err_wrap(struct err *err, int rc, const char *fmt, ...)
{
	char inner[ERR_TEXT_MAX];
	va_list ap;

	if (err == NULL)
		return rc;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	put_v(err, 0, fmt, ap);
	va_end(ap);
	put(err, strlen(err->text), ": %s", inner);
	return rc;
}

int
err_os(struct err *err, int rc, const char *fmt, ...)
{
	/* Unlike strerror(), never translated and without a shared buffer. */
	const char *why = strerrordesc_np(-rc);
	va_list ap;

	if (err == NULL)
		return rc;
	va_start(ap, fmt);
	put_v(err, 0, fmt, ap);
	va_end(ap);
	put(err, strlen(err->text), ": %s", why != NULL ? why : "unknown");
	return rc;
}
