import type { Case } from './cases.ts'

/** How long an address took, in milliseconds. */
export interface Measured extends Case {
  readonly page: string
  readonly statements: number
  readonly p50: number
  readonly p95: number
}

/** What a page may take; a figure above it is marked. Nothing fails by it: other work on the machine would decide. */
const allowedMs = 300
const turns = 11

/** Asks some times, one after another. */
export async function measure(ask: () => Promise<unknown>): Promise<{ p50: number; p95: number }> {
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const startedAt = performance.now()
    await ask()
    times.push(performance.now() - startedAt)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => Math.round(times[Math.ceil(share * turns) - 1]!)
  return { p50: at(0.5), p95: at(0.95) }
}

/** One line for each page, of its slowest address. */
export function tableOf(all: readonly Measured[]): string {
  const rows = [...Map.groupBy(all, ({ page }) => page)].map(([page, own]) => {
    const slowest = own.toSorted((a, b) => b.p95 - a.p95)[0]!
    const statements = Math.max(...own.map((one) => one.statements))
    const mark = slowest.p95 > allowedMs ? '!' : ''
    return [page, own.length, slowest.p50, `${slowest.p95}${mark}`, statements, slowest.path].map(
      String,
    )
  })
  const head = ['page', 'addresses', 'p50 ms', 'p95 ms', 'statements', 'the slowest address']
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => row[at]!.length)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) =>
        at === 0 || at === 5 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!),
      )
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line).join('\n')
}
