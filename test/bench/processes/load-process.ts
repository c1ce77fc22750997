import { Pool } from 'undici'
import { answerMessages } from './bench-process.ts'

/** The server and duration of a load test. */
export interface LoadOrder {
  readonly url: string
  readonly headers: Record<string, string>
  readonly evalIds: readonly number[]
  readonly milliseconds: number
}

const inFlight = 32

/** Requests a second: 32 in flight over keep-alive connections, each for a random evaluation. */
async function load({ url, headers, evalIds, milliseconds }: LoadOrder): Promise<number> {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections: inFlight, pipelining: 1 })
  const sent = { ...headers, 'content-type': 'application/json' }
  const startedMs = performance.now()
  let answered = 0
  const worker = async () => {
    while (performance.now() - startedMs < milliseconds) {
      const evalid = evalIds[Math.floor(Math.random() * evalIds.length)]
      const body = JSON.stringify({ evalid })
      const answer = await pool.request({ path, method: 'POST', headers: sent, body })
      await answer.body.arrayBuffer()
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`)
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const perSecond = (answered * 1000) / (performance.now() - startedMs)
  await pool.close()
  return perSecond
}

answerMessages((order) => load(order as LoadOrder))
