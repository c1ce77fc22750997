/** The target of a figure, or of its ratio to the reference. */
export interface Target {
  readonly of: 'figure' | 'ratio'
  readonly least?: number
  readonly most?: number
}

/** A case that is ready to be measured; disposing it ends what it started. */
export interface PreparedCase extends AsyncDisposable {
  /** One measurement, in the unit of the case. */
  measure(): Promise<number>
  /** The same by the reference. */
  reference(): Promise<number>
}

/** A figure of the project and a simpler reference, measured in turns in the same run. */
export interface BenchCase {
  readonly name: string
  readonly unit: string
  readonly what: string
  readonly referenceWhat: string
  readonly target: Target
  /** Number of turns; default: 5 after a warm-up turn, or 1 in a quick run. 1: a long case in separate processes, without a warm-up. */
  readonly turns?: 1
  /** A quick run includes it only by name: it always takes long, or is close to another case. */
  readonly thorough?: true
  /** Counted, not timed: the same on every machine. Only such a figure fails a run. */
  readonly counted?: boolean
  prepare(options: BenchOptions): Promise<PreparedCase>
}

export interface BenchOptions {
  /** Short measurements, only for orientation. */
  readonly quick: boolean
}

/** The result of a case: one figure, reference and ratio per turn. */
export interface CaseResult {
  readonly name: string
  readonly unit: string
  readonly what: string
  readonly referenceWhat: string
  readonly figures: readonly number[]
  readonly references: readonly number[]
  readonly ratios: readonly number[]
  readonly target: Target
  readonly counted: boolean
  readonly met: boolean
}

const defaultTurns = 5

/** Measures a case in turns with its reference. */
export async function runCase(bench: BenchCase, options: BenchOptions): Promise<CaseResult> {
  await using prepared = await bench.prepare(options)
  const found: { readonly figure: number; readonly reference: number }[] = []
  const turns = bench.turns ?? (options.quick ? 1 : defaultTurns)
  for (let turn = bench.turns ?? 0; turn <= turns; turn += 1) {
    const reference = await prepared.reference()
    const figure = await prepared.measure()
    if (turn > 0) found.push({ figure, reference })
  }
  const { name, unit, what, referenceWhat, target } = bench
  const figures = found.map(({ figure }) => figure)
  const ratios = found.map(({ figure, reference }) => figure / reference)
  const judged = median(target.of === 'figure' ? figures : ratios)
  return {
    name,
    unit,
    what,
    referenceWhat,
    figures,
    references: found.map(({ reference }) => reference),
    ratios,
    target,
    counted: bench.counted ?? false,
    met: judged >= (target.least ?? -Infinity) && judged <= (target.most ?? Infinity),
  }
}

/** The median: the middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
