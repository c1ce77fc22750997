import { openFixture } from '../../support/fixture.ts'
import { type Logins, openLogins } from '../../warehouse/access/logins.ts'
import { type Answer, type ConsoleFixture, openConsole, type Role } from './console-fixture.ts'

/** A console without data, where a stock person uploads lists. */
export interface UploadFixture extends ConsoleFixture {
  /** The uid of sam's rooftop. */
  readonly own: string
  /** Sends the form of the upload. */
  upload(list: string | Buffer, changes?: UploadForm): Promise<Answer>
  /** Uploads, expects no question, imports, and gives the page of the import. */
  import(list: string | Buffer, changes?: UploadForm): Promise<string>
  /** Imports the list whose check is at this path. */
  importAs(path: string, role?: 'stock' | 'engineer'): Promise<Answer>
  /** The number of rows of a table. */
  count(table: string): Promise<number>
  /** Removes lists, cars and mappings. */
  clear(): Promise<void>
}

/** What a person says about a list. */
export interface UploadForm {
  readonly name?: string
  readonly mode?: 'snapshot' | 'delta'
  readonly rooftop?: string
  readonly role?: Role
}

export async function openUploads(settings = {}): Promise<UploadFixture> {
  const fixture = await openFixture({
    sandbox: { seed: 7, evaluations: 1, days: 1, now: new Date() },
  })
  const console = await openConsole({ fixture, console: settings })
  const logins: Logins = await openLogins(fixture.database, console.config, {})
  await logins.grant()
  const own = console.config.rooftops[0]!.uid
  const upload: UploadFixture['upload'] = async (list, changes = {}) => {
    const { name = 'list.csv', mode = 'snapshot', rooftop = own, role = 'stock' } = changes
    const form = uploadForm(list, name, { mode, rooftop })
    const answer = await console.post('/stock/upload', form, { role })
    if (answer.status >= 500) throw new Error(console.logged.slice(-2).join(''))
    return answer
  }
  return {
    ...console,
    ...{ own, upload },
    importAs: async (path, role = 'stock') => console.post(path, { action: 'import' }, { role }),
    count: async (table) =>
      (await console.rows<{ n: number }>(`select count(*)::int as n from ${table}`))[0]!.n,
    clear: async () => {
      await console.rows(
        'truncate core.stock_import, core.stock_import_row, core.stock_unit, core.stock_unit_change, ops.stock_upload, ops.stock_mapping',
      )
    },
    import: async (list, changes = {}) => {
      const { role = 'stock' } = changes
      const checked = await upload(list, changes)
      const path = pathOf(checked)
      if (!path.endsWith('/check')) throw new Error(`${checked.status} ${path}`)
      return pathOf(await console.post(path, { action: 'import' }, { role }))
    },
    [Symbol.asyncDispose]: async () => {
      await logins[Symbol.asyncDispose]()
      await console[Symbol.asyncDispose]()
    },
  }
}

/** The form of the upload as a browser sends it. */
export function uploadForm(
  list: string | Buffer,
  name: string,
  fields: Readonly<Record<string, string>>,
): FormData {
  const form = new FormData()
  for (const [field, value] of Object.entries({ action: 'upload', pasted: '', ...fields }))
    form.append(field, value)
  form.append('file', new Blob([list as never]), name)
  return form
}

/** Where an answer leads to, below /console; an Error with its text where it is not a redirect. */
export function pathOf({ status, location, text }: Answer): string {
  if (status === 303 && location !== null) return location.slice('/console'.length)
  throw new Error(`${status}: ${text.replaceAll(/<[^>]+>|\s+/g, ' ').slice(0, 2000)}`)
}
