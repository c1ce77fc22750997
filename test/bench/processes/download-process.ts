import { AppraisalClient } from '#src/api/sources/appraisal/client.ts'
import { type BenchConfig, configOf } from '../bench-config.ts'
import { answerMessages } from './bench-process.ts'

/** The requests of a sync without the processing of the answers; answered with seconds. */
export interface DownloadOrder extends BenchConfig {
  /** Unix seconds, one list for each. */
  readonly lists: readonly {
    readonly rooftop: number
    readonly from: number
    readonly until: number
  }[]
  readonly evalIds: readonly number[]
}

async function download(order: DownloadOrder): Promise<number> {
  const config = configOf(order)
  const keys = { bench: { name: 'bench', ...config.keys['bench']! } }
  const client = new AppraisalClient({
    ...{ baseUrl: config.appraisal.baseUrl, keys, wire: config.wire.appraisal, http: config.http },
  })
  const rooftopOf = (number: number) => ({
    uid: `rooftop-${number}`,
    keyName: 'bench',
    dealerId: number,
  })
  const startedMs = performance.now()
  await Promise.all([
    ...order.lists.map(({ rooftop, ...range }) =>
      client.listEvaluations(rooftopOf(rooftop), range),
    ),
    ...order.evalIds.map((id) => client.getEvaluation(rooftopOf(Math.floor(id / 10_000_000)), id)),
  ])
  const seconds = (performance.now() - startedMs) / 1000
  await client.close()
  return seconds
}

answerMessages((order) => download(order as DownloadOrder))
