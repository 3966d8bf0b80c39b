/*
 * Supervisor and tapward-compile: a policy's text goes in as a sealed memfd,
 * its image comes back as another. The supervisor never reads the text.
 */
#ifndef TAPWARD_BASE_MESSAGE_COMPILE_H
#define TAPWARD_BASE_MESSAGE_COMPILE_H

#include "base/bytes.h"
#include "base/names.h"

#define COMPILE_DISPLAY_NAME_SIZE 128
#define COMPILE_TEXT_MAX_BYTES 32768

/* MSG_COMPILE; one descriptor: the text. */
struct message_compile {
	char display_name[COMPILE_DISPLAY_NAME_SIZE]; /* printable ASCII */
	bool is_ceiling;
	bool learns; /* of a ceiling: permits it */
};

/*
 * MSG_COMPILED, with the id of the question. ok: one descriptor, the image
 * as a sealed memfd; text then holds warnings only. Else text says why, a
 * finding a line ("file:line: what"), cut at COMPILE_TEXT_MAX_BYTES.
 */
struct message_compiled {
	bool ok;
	char digest[DIGEST_TEXT_SIZE]; /* of the text; "" unless ok */
	struct span text; /* borrows from the message when decoded */
};

void message_compile_encode(struct wr *w, const struct message_compile *m);
int message_compile_decode(struct rd *r, struct message_compile *ret);
void message_compiled_encode(struct wr *w, const struct message_compiled *m);
int message_compiled_decode(struct rd *r, struct message_compiled *ret);

#endif
