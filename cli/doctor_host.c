/*
 * doctor: what the kernel and the machine give.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/paths.h"
#include "cli/doctor.h"

#define TUN "/dev/net/tun"
#define KVM "/dev/kvm"
/* Clocks of machines that share a disk image may differ by so much. */
#define CLOCK_SLACK_S 3600

static const char *const programs[] = { "tapward-api", "tapward-broker",
	"tapward-ca", "tapward-compile", "tapward-dialler", "tapward-gate",
	"tapward-helper", "tapward-recorder", "tapward-vm" };

static const char reinstall[] = "apt-get install --reinstall tapward";

void
doctor_programs(struct doctor *d)
{
	char path[512], said[DOCTOR_OUTPUT_SIZE];
	int rc = doctor_daemon_path(path, sizeof(path));

	if (rc == 0)
		rc = doctor_run(path, "--version", said, sizeof(said));
	if (rc != 0) {
		doctor_say(d, DOCTOR_FAIL, reinstall,
		    "tapwardd does not start from beside %s", d->cli->program);
		return;
	}
	said[strcspn(said, "\n")] = '\0';
	if (strcmp(said, "tapwardd " TAPWARD_VERSION) != 0) {
		doctor_say(d, DOCTOR_FAIL, reinstall,
		    "%s is \"%.60s\", this is tapward %s", path, said,
		    TAPWARD_VERSION);
		return;
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		rc = paths_libexec(programs[i], path, sizeof(path));
		if (rc == 0 && access(path, X_OK) == 0)
			continue;
		doctor_say(d, DOCTOR_FAIL, reinstall, "%s is missing",
		    programs[i]);
		return;
	}
	doctor_say(d, DOCTOR_OK, "", "tapward %s, whole", TAPWARD_VERSION);
}

static const char *
tun_mend(int error)
{
	switch (error) {
	case ENOENT:
		return "modprobe tun; if it is still missing: mkdir -p "
		       "/dev/net && mknod -m 666 /dev/net/tun c 10 200";
	case ENODEV:
	case ENXIO:
		return "modprobe tun";
	default:
		return "let this container have it: DeviceAllow=/dev/net/tun "
		       "rw, or --device /dev/net/tun";
	}
}

void
doctor_tun(struct doctor *d)
{
	AUTO_CLOSE int fd = open(TUN, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd == -1 && geteuid() != 0 && errno == EACCES) {
		doctor_cannot(d, "device", TUN, errno);
		return;
	}
	if (fd == -1 || fstat(fd, &st) == -1) {
		doctor_say(d, DOCTOR_FAIL, tun_mend(errno), "%s: %s", TUN,
		    strerror(errno));
		return;
	}
	if ((st.st_mode & 0006) != 0006)
		doctor_say(d, DOCTOR_WARN, "chmod 0666 /dev/net/tun",
		    "%s has mode %04o: a VMM that opens its tap by name must "
		    "be root",
		    TUN, (unsigned int)(st.st_mode & 07777));
	else
		doctor_say(d, DOCTOR_OK, "", "%s opens", TUN);
}

/* What a probe says that cannot make a sandbox. */
static const struct {
	const char *word, *mend;
} kernel_mends[] = {
	{ "No space left", "sysctl -w user.max_net_namespaces=65536" },
	{ "/dev/net/tun", "see row tun" },
	{ "tap", "see row tun" },
	{ "namespace",
	    "run it as root on the host, with CAP_SYS_ADMIN and "
	    "CAP_NET_ADMIN" },
};

static const char *
kernel_mend(const char *text)
{
	for (size_t i = 0; i < sizeof(kernel_mends) / sizeof(kernel_mends[0]);
	     i++)
		if (strstr(text, kernel_mends[i].word) != NULL)
			return kernel_mends[i].mend;
	return "modprobe -a nf_tables nft_tproxy nft_log nfnetlink_log "
	       "nft_reject_inet; a kernel of 5.10 or later with these";
}

void
doctor_kernel(struct doctor *d)
{
	char path[512], said[DOCTOR_OUTPUT_SIZE];
	static const char word[] = "sandbox ";
	struct utsname u;
	int rc;

	if (geteuid() != 0) {
		doctor_say(d, DOCTOR_WARN, "sudo tapward doctor",
		    "only root can try a namespace, a tap and a ruleset");
		return;
	}
	rc = doctor_daemon_path(path, sizeof(path));
	if (rc == 0)
		rc = doctor_run(path, "--probe", said, sizeof(said));
	said[rc < 0 ? 0 : strcspn(said, "\n")] = '\0';
	if (rc < 0 || strncmp(said, word, sizeof(word) - 1) != 0) {
		doctor_say(d, DOCTOR_FAIL, reinstall,
		    "tapwardd --probe says nothing");
		return;
	}
	if (strcmp(said, "sandbox ok") == 0)
		doctor_say(d, DOCTOR_OK, "",
		    "%s: a namespace, a tap and its ruleset were made and read "
		    "back",
		    uname(&u) == 0 ? u.release : "?");
	else
		doctor_say(d, DOCTOR_FAIL, kernel_mend(said), "%.400s",
		    said + sizeof(word) - 1);
}

/* Version 2: one line of names. Version 1: each is mounted. */
static bool
has_controller(const char *name)
{
	char line[1024];
	FILE *f = fopen("/sys/fs/cgroup/cgroup.controllers", "re");
	bool is_v2 = f != NULL, has = false;

	if (f == NULL)
		f = fopen("/proc/self/mounts", "re");
	while (f != NULL && !has && fgets(line, sizeof(line), f) != NULL) {
		char *save = NULL;
		char *from = line;

		if (!is_v2 && strstr(line, " cgroup ") == NULL)
			continue;
		for (char *w = strtok_r(from, " ,\n", &save); w != NULL && !has;
		     w = strtok_r(NULL, " ,\n", &save))
			has = strcmp(w, name) == 0;
	}
	if (f != NULL)
		(void)fclose(f);
	return has;
}

void
doctor_cgroups(struct doctor *d)
{
	static const char *const wanted[] = { "memory", "cpu", "pids" };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (has_controller(wanted[i]))
			continue;
		doctor_say(d, DOCTOR_WARN,
		    strcmp(wanted[i], "memory") == 0
			? "cgroup_enable=memory on the kernel's command line, "
			  "or mount -t cgroup2 none /sys/fs/cgroup"
			: "mount -t cgroup2 none /sys/fs/cgroup",
		    "no %s controller: virtual machines have no such limit "
		    "but their monitor's own",
		    wanted[i]);
		return;
	}
	doctor_say(d, DOCTOR_OK, "", "memory, cpu and pids are limited");
}

static int
try_kvm(void)
{
	AUTO_CLOSE int fd = open(KVM, O_RDWR | O_CLOEXEC);
	AUTO_CLOSE int vm = -1;

	if (fd == -1)
		return -errno;
	vm = ioctl(fd, KVM_CREATE_VM, 0);
	return vm == -1 ? -errno : 0;
}

void
doctor_kvm(struct doctor *d)
{
	int rc = try_kvm();

	if (rc == 0)
		doctor_say(d, DOCTOR_OK, "", "%s makes machines", KVM);
	else if (d->host != NULL && d->host->has_no_kvm)
		doctor_say(d, DOCTOR_OK, "",
		    "not used: [vm] accelerator = tcg");
	else if (rc == -EACCES && geteuid() != 0)
		doctor_cannot(d, "device", KVM, EACCES);
	else
		doctor_say(d, DOCTOR_WARN,
		    "modprobe kvm_intel || modprobe kvm_amd; without hardware "
		    "for it: [vm] accelerator = tcg",
		    "%s: %s; machines of ours are emulated, some ten times "
		    "slower",
		    KVM, strerror(-rc));
}

/* Where vmm/ looks for them. */
void
doctor_monitor(struct doctor *d)
{
	static const char *const names[] = { "qemu-system-x86_64",
		"firecracker", "cloud-hypervisor" };
	static const char *const folders[] = { "/usr/bin", "/usr/local/bin" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t j = 0; j < 2; j++) {
			(void)snprintf(path, sizeof(path), "%s/%s", folders[j],
			    names[i]);
			if (access(path, X_OK) != 0)
				continue;
			doctor_say(d, DOCTOR_OK, "", "%s", path);
			return;
		}
	}
	doctor_say(d, DOCTOR_WARN, "apt-get install qemu-system-x86",
	    "no monitor is installed: tapward run has nothing to run in");
}

/* What was written lately, as far as we know, cannot be ahead of the clock. */
static bool
is_ahead(struct doctor *d, const char *path)
{
	struct stat st;
	const time_t now = (time_t)(clock_wall_ms() / 1000);

	if (stat(path, &st) == -1 || st.st_mtime <= now + CLOCK_SLACK_S)
		return false;
	doctor_say(d, DOCTOR_FAIL,
	    "timedatectl set-ntp true; until it is right, certificates and "
	    "leases are judged by the wrong time",
	    "the clock is behind: %s was written %ld minutes from now", path,
	    (long)(st.st_mtime - now) / 60);
	return true;
}

void
doctor_clock(struct doctor *d)
{
	struct timex t = { .modes = 0 };

	if (d->host != NULL) {
		char path[HOSTCONF_PATH_SIZE + 32];

		(void)snprintf(path, sizeof(path), "%s/audit.jsonl",
		    d->host->log_dir);
		if (is_ahead(d, path))
			return;
	}
	if (is_ahead(d, d->config_path))
		return;
	if (adjtimex(&t) == -1 || (t.status & STA_UNSYNC) != 0)
		doctor_say(d, DOCTOR_WARN, "timedatectl set-ntp true",
		    "nothing keeps it: guests are told this time, and "
		    "certificates are judged by it");
	else
		doctor_say(d, DOCTOR_OK, "", "kept, within %ld ms",
		    t.maxerror / 1000);
}

bool
doctor_has_process(const char *comm)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool has = false;

	while (dir != NULL && !has && (entry = readdir(dir)) != NULL) {
		char path[300], line[32] = "";
		FILE *f;

		if (!ascii_is_digit((uint8_t)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/comm",
		    entry->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fgets(line, sizeof(line), f) != NULL)
			line[strcspn(line, "\n")] = '\0';
		has = strcmp(line, comm) == 0;
		(void)fclose(f);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return has;
}
