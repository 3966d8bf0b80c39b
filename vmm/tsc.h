/*
 * The frequency of this machine's time stamp counter. A guest under emulation
 * sees the host's, cannot measure it when the host is busy, and hangs trying;
 * so it is told.
 */
#ifndef TAPWARD_VMM_TSC_H
#define TAPWARD_VMM_TSC_H

/* In kHz, measured within some 20 ms; 0 where there is none (not x86). */
unsigned int tsc_khz(void);

#endif
