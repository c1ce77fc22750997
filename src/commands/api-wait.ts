import { MultiBar, Presets } from 'cli-progress'
import type { Effect, Follow, Operation } from '../contract/operation.ts'
import { findOperation } from '../contract/operations.ts'
import { SyncError } from '../errors.ts'
import type { ServiceCall, ServiceClient } from '../sources/service-client.ts'
import { sleep } from '../values/sleep.ts'
import type { Session } from './session.ts'

type Call = ServiceCall<Record<string, unknown>>

/** An asynchronous call that was answered. */
export interface Begun {
  readonly operation: Operation
  readonly call: Call
  readonly body: unknown
}

/** Asks again until the work that a call began is done, and gives the last body. SyncError `retry` when it takes longer
 *  than the document says it may; the message names the command that asks once more. */
export async function waitFor(
  session: Session,
  client: ServiceClient<Effect>,
  { operation, call, body: begun }: Begun,
  every: number | null,
): Promise<unknown> {
  const { follow } = operation
  const { wire } = session.config
  const fields = follow?.fields(begun, call.fields, wire) ?? null
  if (follow === null || fields === null) return begun
  const poll = findOperation(follow.operation)!
  const meter = openMeter(session, operation.name)
  const until = Date.now() + follow.patienceSeconds * 1000
  try {
    for (;;) {
      await sleep((every ?? follow.everySeconds) * 1000, [session.io.signal])
      const { body } = await client.call(poll, { ...call, files: [], fields })
      const { done, percent } = follow.progress(body, wire)
      meter.show(percent)
      if (done) return body
      if (Date.now() >= until) throw outlasted(follow, operation, fields)
    }
  } finally {
    meter.end()
  }
}

function outlasted(
  { patienceSeconds, operation }: Follow,
  { name }: Operation,
  fields: Readonly<Record<string, unknown>>,
): SyncError {
  const flags = Object.entries(fields).map(([flag, value]) => `--${flag} ${String(value)}`)
  const again = ['forecourt api', operation, ...flags].join(' ')
  return new SyncError(
    'retry',
    `${name} is not done after ${patienceSeconds} s; nothing is lost, ask again later: ${again}`,
  )
}

interface Meter {
  show(percent: number | null): void
  end(): void
}

/** A bar on a terminal, a log line elsewhere. */
function openMeter({ io, globals, log }: Session, name: string): Meter {
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  if (io.stderr.isTTY !== true || globals.progress === false || globals.quiet || globals.json)
    return {
      show: (percent) => log.info({ percent, seconds: seconds() }, `waiting for ${name}`),
      end: () => {},
    }
  const bars = new MultiBar(
    {
      stream: io.stderr as NodeJS.WriteStream,
      hideCursor: true,
      clearOnComplete: true,
      format: `${name} {bar} {percentage}% {seconds} s`,
    },
    Presets.shades_classic,
  )
  const bar = bars.create(100, 0, { seconds: 0 })
  return {
    show: (percent) => bar.update(percent ?? 0, { seconds: seconds() }),
    end: () => bars.stop(),
  }
}
