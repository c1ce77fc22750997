import { AsyncLocalStorage } from 'node:async_hooks'
import { Writable } from 'node:stream'
import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'
import { errorText, stackFrames } from './errors.ts'

export type Log = Logger
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LogOptions {
  readonly level: LogLevel
  /** Human lines when stderr is a terminal, one JSON object a line when it is not. */
  readonly human: boolean
  /** Colours in human lines. */
  readonly colour?: boolean
  /** Values that must not appear, whatever the message. */
  readonly secrets: readonly string[]
  /** Where the lines go; stderr. */
  readonly write: (line: string) => void
}

/** Opens the log on stderr; stdout is for results. Customers and keys are redacted by field, secrets by value, links by their query. */
export function openLog(options: LogOptions): Log {
  const hide = scrubber(options.secrets)
  const sink = { write: (line: string) => options.write(hide(line)) }
  const target = options.human
    ? pretty({
        colorize: options.colour === true,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss o',
        destination: sinkStream(sink.write),
      })
    : sink
  const lineListeners = new Set<(line: string) => void>()
  const destination = {
    write: (line: string) => {
      for (const listener of lineListeners) listener(hide(line))
      target.write(line)
    },
  }
  const log = pino(
    {
      level: options.level,
      base: null,
      mixin: () => sharedFields.getStore() ?? {},
      // As operators and their tools read it: an instant with its zone, and the name of the level.
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redacted, censor: '[hidden]' },
      serializers: { err: (error: unknown) => loggedError(error) },
      hooks: {
        // Without a message of ours pino would log the error's own, with what it quotes.
        logMethod([first, ...rest]: unknown[], method) {
          const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err
          const fields = first instanceof Error ? { err: first } : first
          const message = error instanceof Error && rest.length === 0 ? [errorText(error)] : rest
          return method.apply(this, [fields, ...message] as Parameters<typeof method>)
        },
      },
    },
    destination,
  )
  listeners.set(log, lineListeners)
  return log
}

const listeners = new WeakMap<Log, Set<(line: string) => void>>()

/** Gives each line that is written from now on, masked and as JSON, until it is closed. Nothing for a log that `openLog` did not open. */
export function listenToLog(log: Log, listener: (line: string) => void): Disposable {
  const logListeners = listeners.get(log)
  logListeners?.add(listener)
  return { [Symbol.dispose]: () => void logListeners?.delete(listener) }
}

const sharedFields = new AsyncLocalStorage<object>()

/** Adds fields to every line that is logged within the work, whoever logs it. */
export function withLogFields<Result>(fields: object, work: () => Result): Result {
  return sharedFields.run(fields, work)
}

/** The fields of an error that are logged: codes, names of the schema and our own ids. An error of Postgres also carries the row that
 *  it is about (`detail`, `where`, `parameters` …), others carry answers of the source: none of that is logged. */
const loggedFields = [
  ...['code', 'severity', 'schema', 'table', 'column', 'constraint', 'dataType', 'routine'],
  ...['syscall', 'errno', 'address', 'port', 'status', 'errorAction', 'stream', 'rooftopUid'],
  'naturalKey',
]
const maxCauses = 5

function loggedError(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { message: errorText(error) }
  const fields = error as unknown as Readonly<Record<string, unknown>>
  const known = loggedFields.flatMap((name) => {
    const value = fields[name]
    return typeof value === 'string' || typeof value === 'number' ? [[name, value]] : []
  })
  const inner = depth < maxCauses
  const { cause } = error
  return {
    type: error.name,
    message: errorText(error),
    ...Object.fromEntries(known),
    stack: stackFrames(error),
    ...(inner && cause !== undefined ? { cause: loggedError(cause, depth + 1) } : {}),
    ...(inner && error instanceof AggregateError
      ? { errors: error.errors.slice(0, 10).map((each) => loggedError(each, depth + 1)) }
      : {}),
  }
}

const redacted = [
  'customerName',
  'phone',
  'email',
  'address',
  'url',
  'authorization',
  'password',
  'key',
  'value',
  'body',
  'payload',
  ...['detail', 'where', 'hint', 'internalQuery', 'parameters'],
].flatMap((field) => [field, `*.${field}`])

/** A link without a query matches too, so that no part of it is searched again: the time is linear. A backslash ends a link:
 *  in JSON it escapes the quote behind the link. */
const linkPattern = /(https?:\/\/[^\s"'?\\]+)(\?[^\s"'\\]+)?/g

/** Replaces every secret and the query string of every link in a text. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length)
  return (text) => {
    let clean = text.replaceAll(linkPattern, (link, address: string, query?: string) =>
      query === undefined ? link : `${address}?[hidden]`,
    )
    for (const secret of known) clean = clean.replaceAll(secret, '[hidden]')
    return clean
  }
}

function sinkStream(write: (line: string) => void) {
  return new Writable({
    write(chunk, _encoding, done) {
      write(String(chunk))
      done()
    },
  })
}
