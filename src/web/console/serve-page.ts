import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Config } from '../../app/config/read.ts'
import type { Context } from '../../context.ts'
import { BusyError, errorText, SyncError, UsageError } from '../../errors.ts'
import { prefersJson } from '../../values/accept.ts'
import { type Db, inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import type { Person } from './access/people.ts'
import { enterScope } from './access/scope.ts'
import { findSession } from './access/session.ts'
import { cookieName } from './access/sign-in.ts'
import type { BackgroundRuns } from './background-runs.ts'
import type { Downloads } from './downloads.ts'
import { firstValues, readForm, UploadRefused } from './form-values.ts'
import {
  asTimeout,
  badRequest,
  errorNotice,
  forbidden,
  type Notice,
  nothingHere,
  refused,
  stopping,
  tooManyDownloads,
} from './notices.ts'
import {
  ActionRefused,
  type AnyPage,
  NothingHere,
  type PageRequest,
  Redirect,
  ShownOnce,
} from './page.ts'
import { pages } from './pages.ts'
import { frame } from './parts/frame.ts'

/** How long a statement of a page may take. */
export const pageTimeoutMs = 3_000

/** How long a file may take to arrive: 25 MB over a slow line. */
const uploadTimeoutMs = 10 * 60_000

interface Parts {
  readonly context: Context
  readonly settings: NonNullable<Config['console']>
  readonly runs: BackgroundRuns
  /** For what pages read. */
  readonly pool: pg.Pool
  readonly downloads: Downloads
  /** Changes with every release. */
  readonly version: string
}

/** Registers pages: who may open them, what they read, and how the answer is sent. */
export class PageServer {
  readonly #parts: Parts
  /** Changes with everything but its data that a page is drawn from. */
  readonly #edition: string

  constructor(parts: Parts) {
    this.#parts = parts
    const { version, settings, context } = parts
    const { sync, retention, vehicleData, rooftops } = context.config
    const { timezone, uploadMegabytes } = settings
    const shown = rooftops.map(({ uid, name, group, timezone: zone }) => [uid, name, group, zone])
    this.#edition = JSON.stringify([
      ...[version, timezone, uploadMegabytes, sync, retention, vehicleData.apiKey === null, shown],
    ])
  }

  /** Registers the routes of a page. */
  serve(app: FastifyInstance, page: AnyPage): void {
    app.get(page.path, async (request, reply) => {
      const person = await this.#findPerson(request)
      if (person === null) return await this.#requestSignIn(request, reply)
      const [first] = navigation(person, null)
      if (!page.roles.includes(person.role)) {
        // Everybody starts at /console/: who may not open that page starts at the first of theirs.
        if (page.path === '/' && first !== undefined)
          return await reply.redirect(`/console${first.path}`, 303)
        return await this.#notice(request, reply, person, forbidden(person))
      }
      return await this.#show(page, request, reply, person)
    })
    if (page.actions === undefined) return
    const config = page.takesFile === true ? { bodyTimeoutMs: uploadTimeoutMs } : {}
    app.post(page.path, { config }, async (request, reply) => {
      const person = await this.#findPerson(request)
      if (person === null) return await this.#requestSignIn(request, reply)
      return await this.#act(page, request, reply, person)
    })
  }

  /** Sends the page for an address that has none. */
  readonly notFound = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const person = await this.#findPerson(request)
    if (person === null) return await this.#requestSignIn(request, reply)
    await this.#notice(request, reply, person, nothingHere)
  }

  /** Sends the page for an error; the error itself goes to the log alone. */
  readonly failed = async (
    error: Error & { statusCode?: number },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> => {
    const { statusCode = 500 } = error
    const person = await this.#findPerson(request).catch(() => null)
    if (statusCode < 500)
      return await this.#notice(request, reply, person, { ...badRequest, status: statusCode })
    const { log, signal } = this.#parts.context
    if (signal.aborted) return await this.#notice(request, reply, person, stopping)
    log.error({ page: request.routeOptions.url }, `the console failed: ${errorText(error)}`)
    await this.#notice(request, reply, person, errorNotice(error))
  }

  async #findPerson(request: FastifyRequest): Promise<Person | null> {
    const { context, settings } = this.#parts
    const token = request.cookies[cookieName(settings)]
    return token === undefined ? null : await findSession(context.db, context.config, token)
  }

  async #requestSignIn(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (prefersJson(request.headers.accept)) {
      await reply
        .code(401)
        .send({ error: 'unauthorised', message: 'Sign in to the console first.' })
      return
    }
    // An action is sent to the address of its page, where the person goes on after signing in.
    const next = request.url
    if (!request.raw.complete) reply.header('connection', 'close')
    await reply.redirect(`/console/sign-in?next=${encodeURIComponent(next)}`, 303)
  }

  async #show(
    page: AnyPage,
    request: FastifyRequest,
    reply: FastifyReply,
    person: Person,
  ): Promise<void> {
    const found = await this.#read(page, request, person)
    const { pageRequest, data, download } = found
    if (data instanceof Redirect) return await reply.redirect(`/console${data.location}`, 303)
    if (download !== null) {
      // Other characters could end the header, or its quotes.
      const name = download.fileName.replaceAll(/[^\w.-]/g, '_')
      reply.header('content-disposition', `attachment; filename="${name}"`)
      const file = this.#parts.downloads.start(person, download.body)
      if (file === null) return await this.#notice(request, reply, person, tooManyDownloads)
      return await reply.type(download.type).send(file)
    }
    if (data === null) return await this.#notice(request, reply, person, nothingHere)
    await this.#send(page, data, pageRequest, request, reply)
  }

  async #read(page: AnyPage, request: FastifyRequest, person: Person) {
    let lost: Error | undefined
    const onError = (error: Error) => {
      lost ??= error
    }
    const work = async ({ db, client }: Tx) => {
      // What ends the session between two queries; the next query would say only that it has ended.
      client.on('error', onError)
      try {
        await enterScope(db, person)
        const pageRequest = this.#request(request, person, db)
        const format = pageRequest.query['download']
        if (format === undefined)
          return { pageRequest, download: null, data: await page.read(pageRequest) }
        const download = (await page.download?.(format, pageRequest)) ?? null
        return { pageRequest, download, data: null }
      } finally {
        client.off('error', onError)
      }
    }
    try {
      return await inTransaction(this.#parts.pool, work, 'repeatable read, read only')
    } catch (error) {
      throw asTimeout(lost ?? (error as Error), pageTimeoutMs)
    }
  }

  #request(request: FastifyRequest, person: Person, db: PageRequest['db']): PageRequest {
    return {
      params: firstValues(request.params),
      query: firstValues(request.query),
      ...{ person, db, config: this.#parts.context.config, now: new Date() },
    }
  }

  async #send(
    page: AnyPage,
    data: unknown,
    pageRequest: PageRequest,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const json = JSON.stringify(data)
    const isJson = prefersJson(request.headers.accept)
    // The time of reading is not news: a browser that asks again gets a page only when its data have changed.
    const etag = `"${createHash('sha256').update(`${this.#edition} ${isJson} ${pageRequest.person.role} ${pageRequest.person.email} ${json}`).digest('base64url').slice(0, 22)}"`
    reply.headers({ etag, vary: 'accept, cookie', 'cache-control': 'no-cache, private' })
    if (request.headers['if-none-match'] === etag) return await reply.code(304).send()
    if (isJson) return await reply.type('application/json; charset=utf-8').send(json)
    const { title, question } = page
    const document = frame(
      {
        title: typeof title === 'string' ? title : title(data),
        head: page.head?.(data, pageRequest),
        question: typeof question === 'function' ? question(data) : question,
        ...{ person: pageRequest.person, navigation: navigation(pageRequest.person, page) },
        asOf: { at: pageRequest.now, zone: page.zone?.(data) ?? this.#parts.settings.timezone },
        isLive: page.isLive?.(data) ?? false,
      },
      page.draw(data, pageRequest),
    )
    await reply.type('text/html; charset=utf-8').send(document.text)
  }

  async #act(
    page: AnyPage,
    request: FastifyRequest,
    reply: FastifyReply,
    person: Person,
  ): Promise<void> {
    const { context, runs } = this.#parts
    const actions = Object.entries(page.actions!)
    // Before a file is read, as far as that is known without the form.
    if (page.takesFile === true && !actions.some(([, { roles }]) => roles.includes(person.role)))
      return await this.#refuseRole(request, reply, person, {
        name: actions.map(([name]) => name).join(' '),
        target: { path: page.path, params: firstValues(request.params), form: {} },
      })
    const sent = await readForm(request, page, person, context.config).catch((error: unknown) => {
      if (error instanceof UploadRefused) return error
      throw error
    })
    if (sent instanceof UploadRefused)
      return await this.#notice(request, reply, person, refused(sent.message, request.url))
    const { form, file } = sent
    const name = form['action'] ?? ''
    const action = Object.hasOwn(page.actions!, name) ? page.actions![name]! : null
    if (action === null) return await this.#notice(request, reply, person, badRequest)
    const params = firstValues(request.params)
    const { logged = Object.keys(form) } = action
    const stored = Object.fromEntries(
      Object.entries(form).filter(([field]) => field === 'count' || logged.includes(field)),
    )
    const target = { path: page.path, params, form: stored }
    if (!action.roles.includes(person.role))
      return await this.#refuseRole(request, reply, person, { name, target })
    const id = await startAction(context.db, person, name, target)
    try {
      const { config, db } = context
      const given = { params, form, file, person, config, db, context, runs, now: new Date() }
      const done = await action.run(given)
      if (done instanceof ShownOnce) {
        await finishAction(context.db, id, { outcome: 'done' })
        const { title, body } = done
        return await this.#notice(request, reply, person, { status: 200, title, body })
      }
      await finishAction(context.db, id, { outcome: 'done', ...done })
      await reply.redirect(`/console${done.location}`, 303)
    } catch (error) {
      const isRefused = refusals.some((kind) => error instanceof kind)
      const outcome = isRefused ? 'refused' : 'failed'
      await finishAction(context.db, id, { outcome, message: errorText(error) })
      if (error instanceof NothingHere)
        return await this.#notice(request, reply, person, nothingHere)
      if (!isRefused) throw error
      await this.#notice(request, reply, person, refused(errorText(error), request.url))
    }
  }

  async #refuseRole(
    request: FastifyRequest,
    reply: FastifyReply,
    person: Person,
    { name, target }: { readonly name: string; readonly target: ActionTarget },
  ): Promise<void> {
    const { db } = this.#parts.context
    const id = await startAction(db, person, name, target)
    const message = `It is not for the role ${person.role}.`
    await finishAction(db, id, { outcome: 'refused', message })
    await this.#notice(request, reply, person, forbidden(person))
  }

  async #notice(
    request: FastifyRequest,
    reply: FastifyReply,
    person: Person | null,
    { status, title, body, message }: Notice,
  ): Promise<void> {
    reply.code(status).header('cache-control', 'no-store')
    for (const name of ['etag', 'content-disposition']) reply.removeHeader(name)
    if (prefersJson(request.headers.accept)) {
      await reply.send({ error: title, message })
      return
    }
    const entries = person === null ? [] : navigation(person, null)
    const document = frame({ title, person, navigation: entries, asOf: null }, body)
    await reply.type('text/html; charset=utf-8').send(document.text)
  }
}

/** Why an action may start nothing: a rule, other work, or a source or warehouse that cannot be used now. */
const refusals = [NothingHere, ActionRefused, BusyError, UsageError, SyncError]

/** The pages that a person may open. */
function navigation(person: Person, here: AnyPage | null) {
  return pages.flatMap(({ navigation: label, path, roles, isMinor = false }) =>
    label === undefined || !roles.includes(person.role)
      ? []
      : [{ label, path, isMinor, isHere: path === here?.path }],
  )
}

/** What an action was about: the page and the fields of the form. */
interface ActionTarget {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** Writes down that a person does something, before it is done. Gives the id of the row. */
async function startAction(
  db: Db,
  { email, role }: Person,
  action: string,
  { path, params, form }: ActionTarget,
): Promise<number> {
  const { action: _, count, ...rest } = form
  const shown = /^\d{1,9}$/.test(count ?? '') ? Number(count) : null
  const fields = Object.entries(rest).map(([field, value]) => [field, value.slice(0, 200)])
  // No field of the form takes the place of what the address names.
  const target = { ...Object.fromEntries(fields.slice(0, 50)), ...params, page: path }
  const { rows } = await sql<{ id: number }>`
    insert into ops.console_action (email, role, action, target, shown_count)
    values (${email}, ${role}, ${action.slice(0, 40)}, ${JSON.stringify(target)}::jsonb, ${shown})
    returning action_id as id`.execute(db)
  return rows[0]!.id
}

/** How an action ended. */
interface ActionEnd {
  readonly outcome: 'done' | 'refused' | 'failed'
  readonly runId?: number
  readonly message?: string
}

/** Writes down how it ended. */
async function finishAction(
  db: Db,
  id: number,
  { outcome, runId, message }: ActionEnd,
): Promise<void> {
  await sql`
    update ops.console_action
    set outcome = ${outcome}, run_id = ${runId ?? null}, message = ${message?.slice(0, 400) ?? null}
    where action_id = ${id}`.execute(db)
}
