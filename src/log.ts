import { Writable } from 'node:stream'
import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'

export type Log = Logger
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogOptions {
  readonly level: LogLevel
  /** Human lines when stderr is a terminal, one JSON object a line when it is not. */
  readonly human: boolean
  /** Values that must not appear, whatever the message. */
  readonly secrets: readonly string[]
  /** Where the lines go; stderr. */
  readonly write: (line: string) => void
}

/** Logs go to stderr: stdout is for results. Customers and keys are redacted by field, secrets by value, links by their query. */
export function openLog(options: LogOptions): Log {
  const hide = scrubber(options.secrets)
  const sink = { write: (line: string) => options.write(hide(line)) }
  const destination = options.human
    ? pretty({
        colorize: true,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss',
        destination: sinkStream(sink.write),
      })
    : sink
  return pino(
    { level: options.level, base: null, redact: { paths: redacted, censor: '[hidden]' } },
    destination,
  )
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
].flatMap((field) => [field, `*.${field}`])

/** Replaces every secret and the query string of every link in a text. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length)
  return (text) => {
    // A backslash ends a link too: in JSON it escapes the quote behind the link.
    let clean = text.replaceAll(/(https?:\/\/[^\s"'?\\]+)\?[^\s"'\\]+/g, '$1?[hidden]')
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
