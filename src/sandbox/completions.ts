import type { VirtualClock } from './clock.ts'
import { isCompleted } from './lifecycle.ts'
import type { World } from './world.ts'
import type { Evaluation } from './world-types.ts'

/** Tells which evaluations the clock has completed since the last look. */
export class Completions {
  readonly #world: World
  readonly #clock: VirtualClock
  readonly #told = new Set<number>()

  constructor(world: World, clock: VirtualClock) {
    this.#world = world
    this.#clock = clock
  }

  /** What is completed by now is old. */
  skipPast(): void {
    for (const { evalId } of this.#untold()) this.#told.add(evalId)
  }

  /** It has been told of. */
  markReported(evalId: number): void {
    this.#told.add(evalId)
  }

  /** In the order of their completion. */
  takeNew(): Evaluation[] {
    const found = this.#untold()
    this.skipPast()
    return found.sort(
      (a, b) => a.completedAt!.getTime() - b.completedAt!.getTime() || a.evalId - b.evalId,
    )
  }

  #untold(): Evaluation[] {
    const now = this.#clock.now()
    return [...this.#world.evaluations()].filter(
      (one) => !this.#told.has(one.evalId) && isCompleted(one, now),
    )
  }
}
