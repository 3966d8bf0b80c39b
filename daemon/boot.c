/* The boot's id, see boot.h. */
#include "daemon/boot.h"

#include <string.h>

#include "daemon/files.h"

void
boot_id(char ret[BOOT_ID_SIZE])
{
	char text[BOOT_ID_SIZE + 8];
	size_t len;

	ret[0] = '\0';
	if (files_read_text("/proc/sys/kernel/random/boot_id", text,
		sizeof(text)) != 0)
		return;
	len = strcspn(text, "\n");
	if (len >= BOOT_ID_SIZE)
		return;
	memcpy(ret, text, len);
	ret[len] = '\0';
}
