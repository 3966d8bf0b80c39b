/*
 * Replays a corpus through a fuzz target where libFuzzer is not there: each
 * argument is a file or a folder of files. Fails when there was none, so that
 * a lost corpus shows.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int replayed;

static int
replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *buf;
	size_t len;

	if (f == NULL || fstat(fileno(f), &st) == -1) {
		perror(path);
		return 1;
	}
	buf = malloc((size_t)st.st_size + 1);
	if (buf == NULL)
		abort();
	len = fread(buf, 1, (size_t)st.st_size, f);
	(void)fclose(f);
	(void)LLVMFuzzerTestOneInput(buf, len);
	free(buf);
	replayed++;
	return 0;
}

static int
replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	char file[4096];
	int rc = 0;

	if (dir == NULL) {
		perror(path);
		return 1;
	}
	while (rc == 0 && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		rc = replay_file(file);
	}
	(void)closedir(dir);
	return rc;
}

int
main(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == -1) {
			perror(argv[i]);
			return 1;
		}
		if ((S_ISDIR(st.st_mode) ? replay_folder : replay_file)(
			argv[i]) != 0)
			return 1;
	}
	printf("replayed %u inputs\n", replayed);
	return replayed == 0;
}
