/*
 * The host's ceiling: compiled when we start and when we are told to, handed
 * to everybody who judges.
 */
#ifndef TAPWARD_DAEMON_CEILING_H
#define TAPWARD_DAEMON_CEILING_H

struct supervisor;

/*
 * Loads it, or, for `policy = none`, takes the one before away. done hears
 * rc 0, when sv->ceiling is the new one, or -errno when it is as before; text
 * then says file, line and what. From inside the call if there is nothing to
 * wait for.
 */
typedef void ceiling_done(void *arg, int rc, const char *text);
void ceiling_load(struct supervisor *sv, ceiling_done *done, void *arg);

#endif
