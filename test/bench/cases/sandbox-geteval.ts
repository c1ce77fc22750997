import type { BenchCase } from '../bench-case.ts'
import { startProcess } from '../processes/bench-process.ts'
import type { LoadOrder } from '../processes/load-process.ts'
import type { SandboxReady } from '../processes/sandbox-process.ts'

/** How fast the sandbox reads evaluations: one core for it, another for its callers. */
export const sandboxGeteval: BenchCase = {
  name: 'sandbox-geteval',
  unit: 'requests/s',
  what: 'POST /geteval of random evaluations out of 2,000, 32 in flight, the sandbox on one core',
  referenceWhat: 'a server of node:http that answers the same bytes out of its memory',
  target: { of: 'figure', least: 3000 },
  thorough: true,
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    const loader = started.use(startProcess('load-process.ts', 0))
    const sandbox = await started.use(startProcess('sandbox-process.ts', 1)).ask<SandboxReady>({})
    const stored = await readAll(sandbox)
    const bare = await started.use(startProcess('bare-process.ts', 1)).ask<{ url: string }>(stored)
    const order: Omit<LoadOrder, 'url'> = {
      headers: sandbox.headers,
      evalIds: sandbox.evalIds,
      milliseconds: quick ? 700 : 3000,
    }
    const all = started.move()
    return {
      measure: () => loader.ask({ ...order, url: sandbox.url }),
      reference: () => loader.ask({ ...order, url: bare.url }),
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

async function readAll({
  url,
  headers,
  evalIds,
}: SandboxReady): Promise<ReadonlyMap<number, Uint8Array>> {
  const stored = new Map<number, Uint8Array>()
  for (const evalid of evalIds) {
    const init = { method: 'POST', body: JSON.stringify({ evalid }) }
    const sent = { ...headers, 'content-type': 'application/json' }
    const answer = await fetch(url, { ...init, headers: sent })
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status} for ${evalid}`)
    stored.set(evalid, await answer.bytes())
  }
  return stored
}
