import type { AnyPage } from './page.ts'
import { morning } from './pages/morning.ts'
import { run } from './pages/run.ts'
import { runs } from './pages/runs.ts'

/** Every page, in the order of the navigation. The access matrix of the tests is made from it. */
export const pages: readonly AnyPage[] = [morning, runs, run]
