import { writeOpen } from '../../../stock/export/output.ts'
import { storedListText } from '../../../stock/import/stored-import.ts'
import { type Html, html } from '../../../values/html.ts'
import { exportFile } from '../export-file.ts'
import { ActionRefused, type ActionRequest, definePage, type PageRequest } from '../page.ts'
import { downloadLinks, mediaTypes } from '../parts/download.ts'
import { actionButton } from '../parts/form.ts'
import { instant, instantText } from '../parts/instant.ts'
import { link, linkAddress } from '../parts/link.ts'
import { correctionForm, type RejectedRows, readCorrections } from '../stock/corrections.ts'
import { changeSections, countList, issueTable } from '../stock/draw-changes.ts'
import { findImport, personImport, type StockImport, stockUploads } from '../stock/own.ts'
import {
  readChanges,
  readImportColumns,
  readPrevious,
  readRejected,
  readWarnings,
  rejectedPage,
} from '../stock/read-import.ts'
import { modes, stepPath, whyRefused } from '../stock/upload-text.ts'

/** Changes of a kind that are shown. */
const shown = 50

export const stockImport = definePage({
  path: '/stock/imports/:id',
  question: 'What did this list change, and which rows wait for a correction?',
  roles: ['engineer', 'viewer', 'stock'],
  async read(request) {
    const { db, query } = request
    const found = await findImport(request, 'page')
    if (found === null) return null
    const { columns, warnings } = await readImportColumns(db, found.id)
    const after = /^\d{1,9}$/.test(query['after'] ?? '') ? Number(query['after']) : 0
    const rejected = await readRejected(db, found.id, columns.length, { after })
    return {
      import: found,
      columns,
      warnings,
      rejected: rejected.slice(0, rejectedPage),
      hasMore: rejected.length > rejectedPage,
      changes: await readChanges(db, found, shown),
      doubts: await readWarnings(db, found.id),
      previous: await readPrevious(db, found),
    }
  },
  title: (data) => data.import.fileName,
  zone: (data) => data.import.zone,
  async download(format, request) {
    const found = await findImport(request, 'page')
    if (found === null) return null
    if (format === 'rejected') {
      return {
        ...{ fileName: `import-${found.id}-rejected.csv`, type: mediaTypes.csv },
        body: ({ db }, to, signal) => writeOpen(storedListText(db, found.id, {}), to, signal),
      }
    }
    const kind = format === 'original' ? 'csv' : format
    if (kind !== 'csv' && kind !== 'xlsx') return null
    const rooftop = { id: found.rooftopId, uid: found.uid }
    const body = exportFile({ is: 'original', rooftop, importId: found.id }, kind)
    return { fileName: `import-${found.id}-priced.${kind}`, type: mediaTypes[kind], body }
  },
  actions: {
    correct: { roles: ['engineer', 'stock'], logged: [], run: correct },
    'bring-back': { roles: ['engineer', 'stock'], run: bringBack },
  },
  draw(data, request) {
    const { import: one, warnings, changes, doubts } = data
    const { id, rooftop, zone, mode, by, at, rejected } = one
    const path = `/stock/imports/${id}`
    return html`<p>Import ${id} of ${link(rooftop, '/stock', { rooftop: one.uid })}, by ${by} at ${instant(at, zone)}. <strong>${modes[mode].name}.</strong></p>
${countList(one)}
<p>The list with prices as ${downloadLinks(path, {})}${rejected > 0 && html` · <a href="${linkAddress(path, { download: 'rejected' })}">Download the rejected rows</a>`} · ${link('All imported lists', '/stock/imports')}</p>
${rejectedSection(data, request, path)}
${warnings.length > 0 && html`<h2>What was assumed</h2><ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul>`}
${doubts.length > 0 && html`<h2>Doubtful cells</h2>${issueTable(doubts, 'Cells that were imported with a doubt, or left out')}`}
${changeSections(one, changes, one.uid)}
${request.person.role !== 'viewer' && undo(data)}`
  },
})

function rejectedSection(
  {
    import: { rejected: count },
    columns,
    rejected,
    hasMore,
  }: RejectedRows & {
    readonly import: StockImport
    readonly hasMore: boolean
  },
  { person }: PageRequest,
  path: string,
): Html | false {
  if (count === 0) return false
  return html`<h2 id="rejected">Rejected rows: ${count.toLocaleString('en')}</h2>
${correctionForm(path, { columns, rejected }, person.role !== 'viewer')}
${hasMore && html`<p>${link('More rejected rows', path, { after: rejected.at(-1)!.line })}</p>`}`
}

function undo({
  import: { id, mode, zone, at },
  previous,
}: {
  readonly import: StockImport
  readonly previous: { readonly id: number; readonly at: Date } | null
}): Html {
  const button = (of: number, when: Date) =>
    actionButton({
      path: `/stock/imports/${of}`,
      action: 'bring-back',
      label: `Bring back the list of ${instantText(when, zone)}`,
    })
  return html`<h2>Bring a list back</h2>
<p>The stock becomes as that list has it. You see first what would change, and confirm it then.</p>
<div class="buttons">${previous !== null && button(previous.id, previous.at)}${mode === 'snapshot' && button(id, at)}</div>`
}

async function correct(request: ActionRequest) {
  const { id, uid, fileName } = await personImport(request)
  const uploads = stockUploads(request)
  const corrected = await readCorrections(request, id)
  const content = await uploads.textOf(id, { corrected })
  const list = { rooftop: uid, email: request.person.email, fileName, content }
  const { id: upload, result } = await uploads.add({ ...list, mode: 'delta', corrects: id })
  if (result.state === 'refused') {
    await uploads.drop(upload)
    const first = result.report?.issues.find(({ severity }) => severity === 'error')
    throw new ActionRefused(
      `No corrected row is right yet: ${first?.hint ?? whyRefused(result)}. Go back: what you typed is still there.`,
    )
  }
  if (result.state !== 'ready' || result.refusals.length > 0)
    return { location: stepPath(upload, result.state) }
  const importId = await uploads.import(upload, { email: request.person.email, typed: {} })
  return { location: `/stock/imports/${importId}`, message: `import ${importId}` }
}

async function bringBack(request: ActionRequest) {
  const { id, uid, fileName } = await personImport(request)
  const uploads = stockUploads(request)
  const content = await uploads.textOf(id, { all: true })
  const list = { rooftop: uid, email: request.person.email, fileName, content }
  const { id: upload, result } = await uploads.add({ ...list, mode: 'snapshot' })
  return { location: stepPath(upload, result.state) }
}
