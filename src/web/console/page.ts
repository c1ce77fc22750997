import type { ConsoleRole } from '../../app/config/console.ts'
import type { Config } from '../../app/config/read.ts'
import type { Context } from '../../context.ts'
import type { Content, Html } from '../../values/html.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Person } from './access/people.ts'
import type { BackgroundRuns } from './background-runs.ts'
import type { WriteFile } from './downloads.ts'

/** What a page may ask while it reads. */
export interface PageRequest {
  /** The values of `:name` in the path. */
  readonly params: Readonly<Record<string, string>>
  /** The query string; of a name that is there twice, the first value. */
  readonly query: Readonly<Record<string, string>>
  readonly person: Person
  /** One read-only snapshot of the warehouse for the whole page; a statement ends after 3 seconds. */
  readonly db: Db
  readonly config: Config
  readonly now: Date
}

/** The number `:id` of an address; null: it is none. */
export function parseId(params: PageRequest['params']): number | null {
  const id = Number(/^\d{1,15}$/.exec(params['id'] ?? '')?.[0])
  return id > 0 ? id : null
}

/** What an action may use. */
export interface ActionRequest extends Omit<PageRequest, 'db' | 'query'> {
  /** The fields of the form. */
  readonly form: Readonly<Record<string, string>>
  /** The file of the form; null: none was chosen. */
  readonly file: UploadedFile | null
  /** May write. */
  readonly db: Db
  readonly context: Context
  /** Starts what this process works on after the answer. */
  readonly runs: BackgroundRuns
}

/** A file that a person uploads, in memory. */
export interface UploadedFile {
  /** As the browser sent it. */
  readonly name: string
  readonly content: Buffer
}

/** What an action did. */
export interface ActionDone {
  /** The page of what it made, below /console. */
  readonly location: string
  /** The run that it started. */
  readonly runId?: number
  /** What `ops.console_action` is to say of it. */
  readonly message?: string
}

/** What an action shows once instead of a page: it is not stored, and loading it again means doing it again. */
export class ShownOnce {
  readonly title: string
  readonly body: Html

  constructor(title: string, body: Html) {
    this.title = title
    this.body = body
  }
}

/** What an action is about is not there, or the person may not know of it: nothing was done. */
export class NothingHere extends Error {}

/** An action that a rule is against: shown to the person, nothing was done. */
export class ActionRefused extends Error {}

/** Something that a person does on a page, by a form of method POST with a field `action`. */
export interface PageAction {
  /** Who may do it; a subset of the roles of the page. */
  readonly roles: readonly ConsoleRole[]
  /** The fields of the form that `ops.console_action` stores; default: all of them. */
  readonly logged?: readonly string[]
  /** Throws ActionRefused where a rule is against it. */
  readonly run: (request: ActionRequest) => Promise<ActionDone | ShownOnce>
}

/** A file instead of a page: written after the transaction of the page, with the rights of the same person. */
interface Download {
  readonly fileName: string
  readonly type: string
  readonly body: WriteFile
}

/** Answers with another page of the console. */
export class Redirect {
  readonly location: string

  constructor(location: string) {
    this.location = location
  }
}

/** A page of the console. What it reads is also its answer to `Accept: application/json`. */
interface Page<Data> {
  /** Below /console, e.g. `/runs/:id`. */
  readonly path: string
  readonly title: string | ((data: Data) => string)
  /** The one question that it answers; written under the title. null: its head is the answer. */
  readonly question: string | null | ((data: Data) => Content)
  /** What the page shows as its title, where that is more than the title. */
  readonly head?: (data: Data, request: PageRequest) => Html
  readonly roles: readonly ConsoleRole[]
  /** Its name in the navigation; left out: it is reached from other pages. */
  readonly navigation?: string
  /** Whether the navigation shows it under More, where it has no room for all. */
  readonly isMinor?: true
  /** null: there is nothing of that name, or the person may not know of it. */
  readonly read: (request: PageRequest) => Promise<Data | Redirect | null>
  /** The zone of its times, where it is not that of the config. */
  readonly zone?: (data: Data) => string
  /** What is below the question. */
  readonly draw: (data: Data, request: PageRequest) => Html
  readonly actions?: Readonly<Record<string, PageAction>>
  /** Whether its form may send a file. */
  readonly takesFile?: boolean
  /** The answer to `?download=<format>`; null: there is no such format. */
  readonly download?: (format: string, request: PageRequest) => Promise<Download | null>
  /** Whether something on it moves, so that an open page asks again every few seconds. */
  readonly isLive?: (data: Data) => boolean
}

/** Any page, as the list of pages holds it. */
export type AnyPage = Page<unknown>

/** Defines a page; its data have one type from `read` to `draw`. */
export function definePage<Data>(page: Page<Data>): AnyPage {
  return page as unknown as AnyPage
}
