import { setFlagsFromString } from 'node:v8'

/**
 * Left alone, V8 lets garbage pile up to several times what is in use before it collects, so that a long run peaks higher
 * than a short one by chance. Growing in small steps keeps the peak of 200,000 evaluations near that of 20,000 (test/memory, and the
 * benchmark's case `memory`). Before anything is allocated.
 */
export function growInSmallSteps(): void {
  setFlagsFromString('--heap-growing-percent=30')
}
