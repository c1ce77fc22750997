import type { Config } from '../../app/config/read.ts'
import { errorText, SyncError, UsageError } from '../../errors.ts'
import { shellQuoted } from '../../values/shell.ts'
import { sleep } from '../../values/sleep.ts'
import {
  type Effect,
  type FieldValues,
  MissingField,
  type Operation,
} from '../contract/operation.ts'
import { findOperation } from '../contract/operations.ts'
import type { SourceLog } from './open-services.ts'
import type { ServiceAnswer, ServiceCall, ServiceClient } from './service-client.ts'

type Call = ServiceCall<Record<string, unknown>>

/** An asynchronous call that was answered, so its work has started. */
export interface StartedCall {
  readonly operation: Operation
  readonly call: Call
  readonly body: unknown
}

/** What polls, and what is notified of it. */
export interface Polling {
  readonly config: Pick<Config, 'wire'>
  readonly log: SourceLog
  readonly signal: AbortSignal
  readonly client: ServiceClient<Effect>
  /** Receives each answer that is not the last one. */
  readonly onProgress: (progress: PollProgress) => void
}

/** How far the work of a call is. */
export interface PollProgress {
  readonly operation: string
  /** The fields that identify the work, e.g. the id of a batch. */
  readonly fields: FieldValues
  /** Null: the answer does not say. */
  readonly percent: number | null
  /** Since the first poll was due. */
  readonly seconds: number
}

/** UsageError unless a poll may be made at this interval, which `name` is. For before the call, as it may cost money. */
export function assertInterval(seconds: number, name: string): void {
  if (!(seconds > 0 && seconds <= 3600))
    throw new UsageError(`${name} must be a number of seconds up to 3600.`)
}

/** Polls until the work of a call is done, and returns the last answer; null: there was nothing to wait for. `every`: seconds; null: as documented. SyncError `retry` when it
 *  takes longer than documented, `abort` when an answer cannot be read; each message names the command to poll again. */
export async function pollUntilDone(
  { config: { wire }, log, signal, client, onProgress }: Polling,
  { operation, call, body: started }: StartedCall,
  every: number | null,
): Promise<ServiceAnswer<unknown> | null> {
  const { polling: follow, name } = operation
  if (follow === null) return null
  const fields = readAnswer(operation, () => follow.fields(started, call.fields, wire))
  if (fields === null) return null
  const poll = findOperation(follow.operation)!
  const everySeconds = every ?? follow.everySeconds
  log.info(fields, `${name} has started; polling every ${everySeconds} s`)
  const startedMs = performance.now()
  try {
    for (;;) {
      await sleep(everySeconds * 1000, [signal])
      const answer = await client.call(poll, { ...call, files: [], fields })
      const { done, percent } = readAnswer(poll, () => follow.progress(answer.body, wire))
      if (done) return answer
      const seconds = Math.round((performance.now() - startedMs) / 1000)
      onProgress({ operation: name, fields, percent, seconds })
      if (seconds >= follow.maxWaitSeconds)
        throw new SyncError('retry', `${name} is not done after ${follow.maxWaitSeconds} s`)
    }
  } catch (error) {
    throw withNextStep(error, poll, fields, call.rooftop?.uid)
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
    ...flags.map(([flag, value]) => `--${flag} ${shellQuoted(String(value))}`),
  ]
  const message = errorText(error).replace(/\.$/, '')
  const errorAction = error instanceof SyncError ? error.errorAction : 'retry'
  return new SyncError(
    errorAction,
    `${message}. The work continues at the source, poll again with: ${again.join(' ')}`,
    {
      cause: error,
    },
  )
}
