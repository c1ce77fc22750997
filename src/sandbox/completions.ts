import type { VirtualClock } from './clock.ts'
import { isCompleted } from './lifecycle.ts'
import type { World } from './world.ts'
import type { Evaluation } from './world-types.ts'

/** Finds the evaluations that the clock has completed since the last call. */
export class Completions {
  readonly #world: World
  readonly #clock: VirtualClock
  readonly #reported = new Set<number>()

  constructor(world: World, clock: VirtualClock) {
    this.#world = world
    this.#clock = clock
  }

  /** Marks all evaluations completed until now as reported. */
  skipPast(): void {
    for (const { evalId } of this.#unreported()) this.#reported.add(evalId)
  }

  /** Marks one evaluation as reported. */
  markReported(evalId: number): void {
    this.#reported.add(evalId)
  }

  /** Evaluations completed since the last call, in the order of their completion. */
  takeNew(): Evaluation[] {
    const found = this.#unreported()
    this.skipPast()
    return found.sort(
      (a, b) => a.completedAt!.getTime() - b.completedAt!.getTime() || a.evalId - b.evalId,
    )
  }

  #unreported(): Evaluation[] {
    const now = this.#clock.now()
    return [...this.#world.evaluations()].filter(
      (one) => !this.#reported.has(one.evalId) && isCompleted(one, now),
    )
  }
}
