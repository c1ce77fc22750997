import { PassThrough, Readable, type Writable } from 'node:stream'
import { sql } from 'kysely'
import type pg from 'pg'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { sleep } from '../../values/sleep.ts'
import { inTransaction, openDb, type Tx } from '../../warehouse/db/transaction.ts'
import type { Person } from './access/people.ts'
import { enterScope } from './access/scope.ts'
import { asTimeout } from './notices.ts'
import { Slots } from './slots.ts'

/** Writes a file, from an open transaction that reads with the rights of the person. */
export type WriteFile = (tx: Tx, to: Writable, signal: AbortSignal) => Promise<unknown>

/** Files at once, in this process. */
export const downloadLimits = { all: 8, perPerson: 2 }

/** How long a statement of a download may take. */
export const downloadTimeoutMs = 10 * 60_000

const cancelAgainMs = 500

/** A part of a file that is sent at once. */
const sliceBytes = 65_536

interface DownloadOptions {
  /** Nothing else uses it, because a reader may be slow. It has one connection more than `downloadLimits.all`, which cancels. */
  readonly pool: pg.Pool
  readonly log: Log
  readonly signal: AbortSignal
  /** How long a reader may take for 64 KB. */
  readonly stallMs: number
}

/** Sends files outside the transaction of the page that allowed them. */
export class Downloads {
  readonly #options: DownloadOptions
  readonly #slots = new Slots()

  constructor(options: DownloadOptions) {
    this.#options = options
  }

  /** Starts a file; whoever stops reading ends its query. null: the person, or all, have as many as may run. */
  start(person: Person, write: WriteFile): Readable | null {
    const { all, perPerson } = downloadLimits
    const free = this.#slots.take({ all, [`person ${person.email}`]: perPerson })
    if (free === null) return null
    const to = new PassThrough()
    this.#write(person, write, to)
      .then(() => to.end())
      .catch((error: Error) => {
        this.#options.log.debug(`a download ended early: ${errorText(error)}`)
        to.destroy(asTimeout(error, downloadTimeoutMs))
      })
      .finally(free)
    const file = Readable.from(this.#slices(to), { objectMode: false })
    const destroy = file._destroy.bind(file)
    file._destroy = (error, done) => {
      // A reader that leaves does not wait for the next page of the query.
      to.destroy()
      destroy(error, done)
    }
    return file
  }

  async #write(person: Person, write: WriteFile, to: PassThrough): Promise<void> {
    const { pool, signal } = this.#options
    await inTransaction(
      pool,
      async (tx) => {
        await enterScope(tx.db, person)
        const { processID } = tx.client as unknown as { readonly processID: number }
        const ended = new AbortController()
        let cancelled: Promise<void> | undefined
        const cancel = () => {
          cancelled = this.#cancelUntil(ended.signal, processID)
        }
        // What ended before would be cancelled without an end.
        if (to.destroyed) return
        to.once('close', cancel)
        try {
          await write(tx, to, signal)
        } finally {
          // A pipe whose reader left does not wait for the statement that it began. This does, and one that is still to begin fails.
          if (to.destroyed) await sql`rollback`.execute(tx.db).catch(() => undefined)
          to.off('close', cancel)
          ended.abort()
          // Else it would end the next query of this connection.
          await cancelled
        }
      },
      'repeatable read, read only',
    )
  }

  /** Cancels what a session does, again and again: between two statements Postgres forgets that it was asked to. */
  async #cancelUntil(ended: AbortSignal, processID: number): Promise<void> {
    const db = openDb(this.#options.pool)
    while (!ended.aborted) {
      await sql`select pg_cancel_backend(${processID})`.execute(db).catch(() => undefined)
      await sleep(cancelAgainMs, [ended]).catch(() => undefined)
    }
  }

  async *#slices(file: Readable): AsyncGenerator<Buffer> {
    const { stallMs, log } = this.#options
    const end = () => {
      log.warn(`a download ended: its reader took less than 64 KB in ${stallMs / 1000} s`)
      file.destroy(new Error('the reader has stopped'))
    }
    for await (const chunk of file as AsyncIterable<Buffer>)
      for (let at = 0; at < chunk.length; at += sliceBytes) {
        const timer = setTimeout(end, stallMs)
        try {
          yield chunk.subarray(at, at + sliceBytes)
        } finally {
          clearTimeout(timer)
        }
      }
  }
}
