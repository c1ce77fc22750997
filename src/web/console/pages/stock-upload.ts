import { sql } from 'kysely'
import { html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { scopedUids } from '../access/scope.ts'
import { ActionRefused, type ActionRequest, definePage } from '../page.ts'
import { choice } from '../parts/form.ts'
import { agoText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { table } from '../parts/table.ts'
import { personRooftop, personRooftops, stockUploads, type Upload } from '../stock/own.ts'
import { chosenIds, readStockScope, type StockScope } from '../stock/read-stock.ts'
import { modes, stepPath } from '../stock/upload-text.ts'

/** The newest list of a rooftop. */
interface Newest {
  readonly uid: string
  readonly importId: number
  readonly fileName: string
  readonly by: string
  readonly at: Date
  readonly accepted: number
}

/** A list that waits. */
interface Waiting
  extends Pick<Upload, 'id' | 'rooftop' | 'fileName' | 'email' | 'madeAt' | 'endsAt'> {
  readonly state: string | null
}

async function readNewest(db: Db, scope: StockScope): Promise<Newest[]> {
  const { rows } = await sql<Newest>`
    select r.rooftop_uid as uid, i.import_id::int as "importId", i.file_name as "fileName", i.imported_by as by,
      i.imported_at as at, i.accepted
    from ${scope.schema}.dim_rooftop as r cross join lateral (
      select * from core.stock_import as own where own.rooftop_id = r.rooftop_id order by import_id desc limit 1) as i
    where r.rooftop_id = ${chosenIds(scope)} order by r.rooftop_name`.execute(db)
  return rows
}

async function readWaiting(db: Db, scope: StockScope): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    select upload_id as id, r.rooftop_name as rooftop, file_name as "fileName", email, result ->> 'state' as state,
      made_at as "madeAt", ends_at as "endsAt"
    from ops.stock_upload join ${scope.schema}.dim_rooftop as r using (rooftop_id)
    where rooftop_id = ${chosenIds(scope)} and import_id is null and ends_at > now() order by made_at desc limit 50`.execute(
    db,
  )
  return rows
}

export const stockUpload = definePage({
  path: '/stock/upload',
  title: 'Upload a stock list',
  question: 'Which list is the stock now?',
  roles: ['engineer', 'stock'],
  navigation: 'Upload',
  takesFile: true,
  async read(request) {
    const { db, config, person, query } = request
    const scope = (await readStockScope(request, ''))!
    // By the config, since a rooftop that no sync has seen yet is there too, and by the scope of the transaction.
    const scoped = await scopedUids(db)
    const rooftops = personRooftops(config, person)
      .filter(({ uid }) => scoped === null || scoped.includes(uid))
      .map(({ uid, name }) => ({ uid, name }))
    const chosen = rooftops.some(({ uid }) => uid === query['rooftop']) ? query['rooftop']! : ''
    const newest = await readNewest(db, scope)
    return { rooftops, chosen, newest, waiting: await readWaiting(db, scope) }
  },
  actions: {
    upload: { roles: ['engineer', 'stock'], logged: ['rooftop', 'mode'], run: upload },
  },
  draw({ rooftops, chosen, newest, waiting }, { now, config }) {
    const { uploadMegabytes, timezone } = config.console!
    const zones = new Map(config.rooftops.map((one) => [one.uid, one.timezone]))
    return html`<form method="post" action="/console/stock/upload" enctype="multipart/form-data">
<input type="hidden" name="action" value="upload">
${
  rooftops.length === 1
    ? html`<input type="hidden" name="rooftop" value="${rooftops[0]!.uid}"><p>Rooftop: <strong>${rooftops[0]!.name}</strong></p>`
    : html`<p>${choice('Rooftop', 'rooftop', chosen, { '': 'Choose a rooftop', ...Object.fromEntries(rooftops.map(({ uid, name }) => [uid, name])) })}</p>`
}
<fieldset><legend>What the list is</legend>
${Object.entries(modes).map(
  ([mode, { name, meaning }], at) =>
    html`<p><label><input type="radio" name="mode" value="${mode}"${at === 0 && html` checked`}> <strong>${name}.</strong> ${meaning}</label></p>`,
)}</fieldset>
<p><label>The list, as your dealer system or Excel wrote it: choose it, or drop it here <input type="file" name="file"></label></p>
<p class="note">At most ${uploadMegabytes} MB. An Excel workbook (.xlsx), or text with commas, semicolons, tabs or pipes, in any encoding; also in a zip file.</p>
<details><summary>Or paste it</summary><p><label>Rows with their header <textarea name="pasted" rows="8"></textarea></label></p></details>
<progress hidden aria-label="How much of the list has arrived"></progress>
<p><button class="main">Upload and check</button> Nothing is changed before you confirm it.</p>
</form>
<h2>Lists that wait</h2>
${table({
  caption: 'Uploaded, not imported yet',
  hidesCaption: true,
  columns: ['List', 'Rooftop', 'Uploaded', 'By', 'Waits until'],
  rows: waiting.map(({ id, fileName, rooftop, madeAt, email, endsAt, state }) => [
    link(fileName, stepPath(id, state)),
    rooftop,
    instant(madeAt, timezone),
    email,
    instant(endsAt, timezone),
  ]),
  empty: 'No list waits. An uploaded list waits here for 24 hours until it is imported.',
})}
<h2>The newest lists</h2>
${table({
  caption: 'The newest list of each rooftop',
  hidesCaption: true,
  columns: ['Rooftop', 'List', 'Imported', 'By', 'Cars'],
  rows: newest.map(({ uid, importId, fileName, at, by, accepted }) => [
    rooftops.find((one) => one.uid === uid)?.name ?? uid,
    link(fileName, `/stock/imports/${importId}`),
    html`${instant(at, zones.get(uid) ?? timezone)} (${agoText(at, now)})`,
    by,
    accepted.toLocaleString('en'),
  ]),
  empty: 'No list was imported yet.',
})}
<p>${link('All imported lists', '/stock/imports')} ${link('How columns are read', '/stock/mappings')}</p>`
  },
})

async function upload(request: ActionRequest) {
  const { form, file, person } = request
  const wanted = form['rooftop'] ?? ''
  if (wanted === '') throw new ActionRefused('Choose the rooftop whose stock it is.')
  const { uid } = personRooftop(request, wanted)
  const pasted = form['pasted'] ?? ''
  if (file === null && pasted.trim() === '')
    throw new ActionRefused('Choose a file that is not empty, or paste the rows of the list.')
  const list = file ?? { name: 'pasted.csv', content: Buffer.from(pasted) }
  const mode = form['mode'] === 'delta' ? 'delta' : 'snapshot'
  const { name: fileName, content } = list
  const { id, result } = await stockUploads(request).add({
    ...{ rooftop: uid, email: person.email, fileName, content, mode },
  })
  return { location: stepPath(id, result.state) }
}
