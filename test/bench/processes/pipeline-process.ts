import pg from 'pg'
import { growInSmallSteps } from '#src/heap.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { type BenchConfig, configOf } from '../bench-config.ts'
import { answerMessages } from './bench-process.ts'

/** One sync of the evaluations. */
export type PipelineOrder = BenchConfig

/** Time, memory and counts of a sync. */
export interface PipelineResult {
  readonly status: string
  readonly listed: number
  readonly hydrated: number
  readonly inserted: number
  readonly updated: number
  readonly windows: number
  readonly requests: number
  /** Sent to Postgres. */
  readonly statements: number
  readonly seconds: number
  readonly cpuSeconds: number
  /** Of the process so far, in MB. */
  readonly peakMb: number
}

growInSmallSteps()
const silent = openLog({
  level: 'warn',
  human: false,
  secrets: [],
  write: (line) => process.stderr.write(line),
})

let statements = 0
const send = pg.Client.prototype.query
pg.Client.prototype.query = function (this: pg.Client, ...statement: unknown[]) {
  statements += 1
  return Reflect.apply(send, this, statement)
} as typeof send

async function sync(order: PipelineOrder): Promise<PipelineResult> {
  const config = configOf(order)
  await using context = await openContext(config, silent)
  statements = 0
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()]
  const report = await runStreams(context, {
    plan: { command: 'sync', mode: 'sync', from: toUnixSeconds(config.sync.start), until: null },
    streams: [evaluations],
    rooftops: config.rooftops,
  })
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const { listed, hydrated, inserted, updated, windows, requests } = report.streams['evaluations']!
  return {
    ...{
      status: report.status,
      listed,
      hydrated,
      inserted,
      updated,
      windows,
      requests,
      statements,
      seconds,
    },
    cpuSeconds: (user + system) / 1e6,
    peakMb: process.resourceUsage().maxRSS / 1024,
  }
}

answerMessages((order) => sync(order as PipelineOrder))
