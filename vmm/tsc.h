/*
 * The frequency of this machine's time stamp counter. A guest under emulation
 * sees the host's, cannot measure it when the host is busy, and hangs trying;
 * so it is told.
 */
#ifndef TAPWARD_VMM_TSC_H
#define TAPWARD_VMM_TSC_H

/* The measurement begins; what is done until tsc_khz() costs it no time. */
void tsc_begin(void);
/*
 * In kHz, measured over 20 ms or more since tsc_begin(), or from now on if that
 * was not called; 0 where there is none (not x86).
 */
unsigned int tsc_khz(void);

#endif
