import { errorText } from '../../errors.ts'
import { type Html, html } from '../../values/html.ts'
import { connectTimeoutMs, idleTimeoutMs, isConnectionLoss } from '../../warehouse/db/connect.ts'
import type { Person } from './access/people.ts'
import { NotGranted } from './access/scope.ts'

/** A page that has nothing to read: an error, a refusal. */
export interface Notice {
  readonly status: number
  readonly title: string
  readonly body: Html
  /** What programs get besides the title. */
  readonly message?: string
}

/** No page has this address, or what it names is not there for the person. */
export const nothingHere: Notice = {
  status: 404,
  title: 'There is nothing here',
  body: html`<p>What this address names does not exist, or you may not see it. Check the address, or go back to the <a href="/console/">first page</a>.</p>`,
}

/** The server cannot make sense of a request. */
export const badRequest: Notice = {
  status: 400,
  title: 'This request cannot be read',
  body: html`<p>Nothing was done. Go back, load the page again and try once more, or go to the <a href="/console/">first page</a>.</p>`,
}

/** The process stops, which ended a request. */
export const stopping: Notice = {
  status: 503,
  title: 'Forecourt is being stopped',
  body: html`<p>It may be a restart. A list that was being read is not stored, and one that was being imported waits as before. Open the page again in a minute, and repeat what you do not find there.</p>`,
}

/** As many downloads are running as may. */
export const tooManyDownloads: Notice = {
  status: 429,
  title: 'Other downloads are running',
  body: html`<p>A person may have two downloads at a time, and all people together eight. Wait until one has ended, then try again.</p>`,
}

/** The person has not the role for it. */
export function forbidden({ role }: Person): Notice {
  return {
    status: 403,
    title: 'Not for your role',
    body: html`<p>Your role is ${role}, which may not open or do this. An engineer changes roles in <code>console.people</code> of the config; they count after the next start of <code>forecourt serve</code>. Go back to the <a href="/console/">first page</a>.</p>`,
  }
}

/** A rule is against an action; `message` is its sentence. `address`: of the page whose action it is. */
export function refused(message: string, address: string): Notice {
  return {
    status: 409,
    title: 'Nothing was done',
    message,
    body: html`<p role="alert">${message}</p>
<p>Go back to what you typed, or <a href="${address}">open the page again</a>.</p>`,
  }
}

/** A limit of time ended a page or a file. */
class Timeout extends Error {
  override readonly name = 'Timeout'
  readonly waited: string
  readonly limit: string

  constructor(cause: Error, limitMs: number | null, waited = 'took') {
    super(errorText(cause), { cause })
    this.waited = waited
    this.limit = limitMs === null ? 'it may' : `${limitMs / 1000} s`
  }
}

/** Distinguishes limits of time from a warehouse that is away; any other error unchanged. `statementMs`: the limit of a statement; null: not known. */
export function asTimeout(error: Error & { code?: unknown }, statementMs: number | null): Error {
  if (error.code === '57014') return new Timeout(error, statementMs)
  if (error.code === '25P03') return new Timeout(error, idleTimeoutMs)
  // Of a pool whose connections are all in use; for a server that does not answer it has another text.
  if (/^timeout exceeded when trying to connect/.test(error.message))
    return new Timeout(error, connectTimeoutMs, 'waited for a connection')
  return error
}

/** The page for an error of ours. */
export function errorNotice(error: Error & { code?: unknown }): Notice {
  if (error instanceof NotGranted)
    return {
      status: 503,
      title: 'Your stock cannot be shown yet',
      body: html`<p>Postgres does not know yet which rooftops are yours. Ask an engineer to run <code>forecourt grant</code> once, then load this page again.</p>`,
    }
  const timeout = asTimeout(error, null)
  if (timeout instanceof Timeout)
    return {
      status: 503,
      title: 'This took too long',
      body: html`<p>This page ${timeout.waited} longer than ${timeout.limit} and was stopped, so that it does not slow the loads down. The warehouse is there. Choose a shorter time or fewer rooftops, or try again when no run is working.</p>`,
    }
  if (isConnectionLoss(error))
    return {
      status: 503,
      title: 'The warehouse does not answer',
      body: html`<p>Postgres could not be reached. Loaded data are safe. Make sure that it runs, then load this page again.</p>`,
    }
  return {
    status: 500,
    title: 'Something went wrong',
    body: html`<p>The error is in the log of <code>forecourt serve</code>. Nothing is lost. Try again, or go back to the <a href="/console/">first page</a>.</p>`,
  }
}
