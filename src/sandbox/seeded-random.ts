import { hash32 } from '../values/hash32.ts'

/** A repeatable stream of random values: the same seed and label give the same values on any machine. */
export interface SeededRandom {
  /** In [0, 1). */
  next(): number
  /** Whole number in [least, greatest]. */
  int(least: number, greatest: number): number
  chance(probability: number): boolean
  pick<T>(choices: readonly T[]): T
  /** Lower-case hexadecimal digits. */
  hex(digits: number): string
}

/** A separate stream for each label, so that one more value in one place changes nothing in another. */
export function seededRandom(seed: number, label: string): SeededRandom {
  let state = hash32(label, seed)
  // mulberry32: one addition and three multiplications per value.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (least: number, greatest: number) =>
    least + Math.floor(next() * (greatest - least + 1))
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (choices) => {
      if (choices.length === 0) throw new RangeError('There is nothing to pick from')
      return choices[int(0, choices.length - 1)]!
    },
    hex: (digits) => Array.from({ length: digits }, () => int(0, 15).toString(16)).join(''),
  }
}
