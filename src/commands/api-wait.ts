import { createLogUpdate } from 'log-update'
import {
  type Effect,
  type FieldValues,
  MissingField,
  type Operation,
} from '../contract/operation.ts'
import { findOperation } from '../contract/operations.ts'
import { messageOf, SyncError } from '../errors.ts'
import type { ServiceCall, ServiceClient } from '../sources/service-client.ts'
import { sleep } from '../values/sleep.ts'
import { drawsProgress } from './progress.ts'
import type { Session } from './session.ts'

type Call = ServiceCall<Record<string, unknown>>

/** An asynchronous call that was answered, so its work has started. */
export interface StartedCall {
  readonly operation: Operation
  readonly call: Call
  readonly body: unknown
}

/** Polls until the work of a call is done, and returns the last body. SyncError `retry` when it takes longer than documented, `abort`
 *  when an answer cannot be read; each message names the command to poll again. */
export async function waitUntilDone(
  session: Session,
  client: ServiceClient<Effect>,
  { operation, call, body: started }: StartedCall,
  every: number | null,
): Promise<unknown> {
  const { polling: follow } = operation
  if (follow === null) return started
  const { wire } = session.config
  const fields = readAnswer(operation, () => follow.fields(started, call.fields, wire))
  if (fields === null) return started
  const poll = findOperation(follow.operation)!
  const seconds = every ?? follow.everySeconds
  session.log.info(fields, `${operation.name} has started; polling every ${seconds} s`)
  const meter = openMeter(session, operation.name, fields)
  const until = Date.now() + follow.maxWaitSeconds * 1000
  try {
    for (;;) {
      await sleep(seconds * 1000, [session.io.signal])
      const { body } = await client.call(poll, { ...call, files: [], fields })
      const { done, percent } = readAnswer(poll, () => follow.progress(body, wire))
      meter.show(percent)
      if (done) return body
      if (Date.now() >= until)
        throw new SyncError(
          'retry',
          `${operation.name} is not done after ${follow.maxWaitSeconds} s`,
        )
    }
  } catch (error) {
    throw withNextStep(error, poll, fields, call.rooftop?.uid)
  } finally {
    meter.end()
  }
}

function readAnswer<T>({ name }: Operation, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MissingField)) throw error
    throw new SyncError('abort', `The answer of ${name} ${error.message}.`, { cause: error })
  }
}

/** The error with the command to poll again: the work at the source continues. */
function withNextStep(
  error: unknown,
  { name }: Operation,
  fields: FieldValues,
  uid: string | undefined,
): SyncError {
  const flags = Object.entries({ ...fields, ...(uid === undefined ? {} : { rooftop: uid }) })
  const again = [
    'forecourt api',
    name,
    ...flags.map(([flag, value]) => `--${flag} ${quoted(String(value))}`),
  ]
  const message = messageOf(error).replace(/\.$/, '')
  const errorAction = error instanceof SyncError ? error.errorAction : 'retry'
  return new SyncError(
    errorAction,
    `${message}. The work continues at the source, poll again with: ${again.join(' ')}`,
    {
      cause: error,
    },
  )
}

/** Quotes an id of the source, so that it is only one word in a command to paste. */
function quoted(text: string): string {
  return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

interface Meter {
  show(percent: number | null): void
  end(): void
}

/** One line on a terminal, else log lines. */
function openMeter({ io, globals, log }: Session, name: string, fields: FieldValues): Meter {
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  if (!drawsProgress(io, globals))
    return {
      show: (percent) =>
        log.info({ ...fields, percent, seconds: seconds() }, `waiting for ${name}`),
      end: () => {},
    }
  const update = createLogUpdate(io.stderr as NodeJS.WriteStream, { showCursor: true })
  return {
    show: (percent) => update(`${name}  ${percent ?? 0} %  ${seconds()} s`),
    end: () => update.clear(),
  }
}
