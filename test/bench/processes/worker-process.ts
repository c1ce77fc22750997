import { growInSmallSteps } from '#src/heap.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { runWorker } from '#src/sync/run/run-worker.ts'
import { type BenchConfig, configOf } from '../bench-config.ts'
import { answerMessages } from './bench-process.ts'

growInSmallSteps()
const write = (line: string) => process.stderr.write(line)

/** A worker like "forecourt worker"; answers when it works, and ends with its parent. */
async function begin(config: BenchConfig): Promise<true> {
  const log = openLog({ level: 'error', human: false, secrets: [], write })
  const context = await openContext(configOf(config), log)
  void runWorker(context, { streams: [evaluations], concurrency: 4 })
  return true
}

answerMessages((config) => begin(config as BenchConfig))
