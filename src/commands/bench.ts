import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { messageOf, UsageError } from '../errors.ts'
import type { RunCommand } from './command.ts'

/** What test/bench/bench.ts takes and gives; the benchmark is not part of the package. */
export interface BenchRequest {
  readonly quick: boolean
  /** Only what is the same on every machine. */
  readonly counted: boolean
  /** Names of cases; empty: all. */
  readonly cases: readonly string[]
}

export interface BenchReport {
  /** Everything that was measured, as JSON. */
  readonly document: unknown
  readonly table: string
  readonly svg: string
  /** 1 when a counted figure missed its target. */
  readonly exitCode: number
}

interface BenchModule {
  bench(request: BenchRequest, log: (line: string) => void): Promise<BenchReport>
}

const modulePath = '../../test/bench/bench.ts'

export const bench: RunCommand = async (session, options) => {
  const url = new URL(modulePath, import.meta.url)
  if (!existsSync(fileURLToPath(url)))
    throw new UsageError(
      'The benchmark is part of the source tree, not of the installed package: clone the repository, then "npm ci && npm run bench".',
    )
  const { quick, counted, case: cases, results, svg } = options as unknown as BenchOptions
  for (const file of [results, svg]) if (file !== undefined) write(file, '')
  const module = (await import(url.href)) as BenchModule
  const report = await module.bench({ quick, counted, cases }, (line) =>
    session.io.stderr.write(`${line}\n`),
  )
  if (results !== undefined) write(results, `${JSON.stringify(report.document, null, 2)}\n`)
  if (svg !== undefined) write(svg, report.svg)
  session.result(report.document, () => [report.table])
  return report.exitCode
}

interface BenchOptions {
  readonly quick: boolean
  readonly counted: boolean
  readonly case: readonly string[]
  readonly results?: string
  readonly svg?: string
}

/** Also called before anything is measured: a missing folder is reported now, not after half an hour. */
function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (cause) {
    throw new UsageError(`Cannot write ${file}: ${messageOf(cause)}.`, { cause })
  }
}
