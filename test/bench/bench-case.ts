/** What a figure is held against: the figure itself, or its ratio to the reference. */
export interface Target {
  readonly of: 'figure' | 'ratio'
  readonly least?: number
  readonly most?: number
}

/** A case that stands ready to be measured; disposing of it ends what it started. */
export interface PreparedCase extends AsyncDisposable {
  /** One measurement, in the unit of the case. */
  measure(): Promise<number>
  /** The same by the reference. */
  reference(): Promise<number>
}

/** A figure of the project beside the figure of something simpler, measured in turns in the same run. */
export interface BenchCase {
  readonly name: string
  readonly unit: string
  readonly what: string
  readonly referenceWhat: string
  readonly target: Target
  /** Measured so often, after one turn that does not count: by default 5 times, for a look once. 1: what takes long, in
   *  processes of its own, without such a turn. */
  readonly turns?: 1
  /** A look has it only where it is named: it takes more than some seconds however little is measured, or tells near to what
   *  another case does. */
  readonly thorough?: true
  /** Counted, not timed: the same on every machine. Only such a figure fails a run. */
  readonly counted?: boolean
  prepare(options: BenchOptions): Promise<PreparedCase>
}

export interface BenchOptions {
  /** Short measurements: a look rather than a figure. */
  readonly quick: boolean
}

/** What a run of a case found; one figure, reference and ratio per turn. */
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

const usualTurns = 5

/** Measures a case in turns with its reference. */
export async function runCase(bench: BenchCase, options: BenchOptions): Promise<CaseResult> {
  await using prepared = await bench.prepare(options)
  const found: { readonly figure: number; readonly reference: number }[] = []
  const turns = bench.turns ?? (options.quick ? 1 : usualTurns)
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

/** The middle one, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
