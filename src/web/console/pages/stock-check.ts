import type { ListCheck } from '../../../stock/import/list-check.ts'
import type { StockImportReport } from '../../../stock/import/request.ts'
import { guardKinds } from '../../../stock/refusal-kinds.ts'
import { plainField, plainIssue } from '../../../stock/upload/plain-words.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import { ActionRefused, type ActionRequest, definePage, Redirect } from '../page.ts'
import { actionButton, hiddenFields } from '../parts/form.ts'
import { agoText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { changeSections, countList, issueKinds, issueTable } from '../stock/draw-changes.ts'
import { figuresTable, previewTable } from '../stock/draw-list.ts'
import { findUpload, personUpload, stockUploads } from '../stock/own.ts'
import { dropButton, modes, stepPath, steps, whyRefused } from '../stock/upload-text.ts'

export const stockCheck = definePage({
  path: '/stock/upload/:id/check',
  question: 'What would this list change?',
  roles: ['engineer', 'stock'],
  async read(request) {
    const upload = await findUpload(request, request.params['id']!, 'page')
    if (upload === null) return null
    if (upload.importId !== null) return new Redirect(`/stock/imports/${upload.importId}`)
    const { result } = upload
    if (result?.state === 'columns') return new Redirect(stepPath(upload.id, 'columns'))
    const isOld = upload.newest !== upload.checkedAgainst
    const { id, uid, fileName, rooftop, zone, email, options, madeAt, endsAt } = upload
    return {
      ...{ id, uid, fileName, rooftop, zone, email, mode: options.mode, madeAt, endsAt, isOld },
      result,
    }
  },
  title: ({ fileName }) => `Check ${fileName}`,
  zone: ({ zone }) => zone,
  actions: {
    import: { roles: ['engineer', 'stock'], run: importList },
    check: { roles: ['engineer', 'stock'], run: checkAgain },
    drop: { roles: ['engineer', 'stock'], run: drop },
  },
  draw(data, request) {
    const { id, rooftop, zone, email, mode, madeAt, endsAt, isOld, result } = data
    const path = `/stock/upload/${id}/check`
    return html`${steps('check', id)}
<p>For ${rooftop}, as: <strong>${modes[mode].name}.</strong> ${modes[mode].meaning} Uploaded by ${email} at ${instant(madeAt, zone)} (${agoText(madeAt, request.now)}); it waits until ${instant(endsAt, zone)}.${result?.first?.sheet != null && html` Read from the sheet <strong>${result.first.sheet}</strong>.`}</p>
${
  result === null || (isOld && result.state !== 'same')
    ? html`<section class="summary warn"><h2>${result === null ? 'Not checked yet' : 'The stock has changed since'}</h2>
<p>${result === null ? 'This list was not checked.' : 'Another list was imported after this one was checked, so that what is below may be wrong.'}</p>
${actionButton({ path, action: 'check', label: 'Check it again', isMain: true })}</section>`
    : nextStep(result, id)
}
${result?.report != null && drawReport(result, result.report, data.uid)}
<h2>Or</h2>
<div class="buttons">${actionButton({ path, action: 'check', label: mode === 'snapshot' ? 'Check it as new and changed cars: none leaves' : 'Check it as the whole stock', fields: { mode: mode === 'snapshot' ? 'delta' : 'snapshot' } })}
${dropButton(id)}</div>`
  },
})

function nextStep({ state, refusals, report }: ListCheck, id: string): Html {
  const path = stepPath(id, 'check')
  const guards = refusals.filter((refusal) => 'would' in refusal)
  if (state === 'same')
    return html`<section class="summary ok"><h2>Already imported</h2>
<p>This list is in the stock already, as ${link(`import ${report!.importId}`, `/stock/imports/${report!.importId}`)}: there is nothing to do.</p></section>`
  if (state === 'refused' || report === null)
    return html`<section class="summary bad"><h2>This list cannot be imported</h2><p>${whyRefused({ refusals })}</p></section>`
  const hasNoPrice = report.missing.some(({ field }) => field === 'price_asking')
  return html`<form method="post" action="/console${path}" class="summary ${guards.length > 0 || hasNoPrice ? 'warn' : 'ok'}">${hiddenFields({ action: 'import' })}
<h2>${guards.length > 0 ? 'Is this the right list?' : hasNoPrice ? 'Is it right that no car has a price?' : 'Ready'}</h2>
${hasNoPrice && html`<p>No column is the asking price. If one is, ${link('choose it', stepPath(id, 'columns'))}.</p>`}
${guards.map(
  ({ is, count, would }) =>
    html`<p>The list ${would}. ${guardKinds[is].question}</p>
<p><label>If it is right, type ${count} <input name="typed-${is}" inputmode="numeric" autocomplete="off" required size="6"></label></p>`,
)}
<p><button class="main">${importLabel(report)}</button></p></form>`
}

function importLabel({
  added,
  updated,
  removed,
  reappeared,
  unchanged,
}: StockImportReport): string {
  const parts = [
    [added, 'new'],
    [updated, 'changed'],
    [reappeared, 'back'],
    [removed, 'gone'],
  ] as const
  const words = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`)
  return words.length === 0
    ? `Import: ${plural(unchanged, 'car')}, none of them changed`
    : `Import: ${words.join(', ')}`
}

function drawReport({ first }: ListCheck, report: StockImportReport, uid: string): Html {
  const { rejected, warnings, missing, figures } = report
  const issues = issueKinds(report)
  return html`${countList(report)}
${figuresTable(figures)}
${first !== null && previewTable(first.preview, 'What its first cells become')}
${assumed([...missing.map(({ field }) => `No column is the ${plainField(field)}: cars stay without it${field === 'received_date' ? ', and how long they are in stock is not known' : ''}.`), ...warnings.map(plainIssue)])}
${rejected > 0 && html`<h2 id="rejected">Rejected rows, by cause</h2><p class="note">They are not imported. After the import they can be corrected on its page.</p>`}
${
  rejected > 0 &&
  issueTable(
    issues.filter(({ severity }) => severity === 'error'),
    'Why rows are rejected',
  )
}
${
  issues.some(({ severity }) => severity === 'warning') &&
  html`<h2>Doubtful cells</h2>${issueTable(
    issues.filter(({ severity }) => severity === 'warning'),
    'Cells that are imported with a doubt, or left out',
  )}`
}
${changeSections(report, report.changes, uid)}`
}

function assumed(texts: readonly string[]): Content {
  return (
    texts.length > 0 &&
    html`<h2>What was assumed</h2><ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>`
  )
}

async function importList(request: ActionRequest) {
  const { id } = await personUpload(request)
  const typedOf = (name: string) => {
    const text = (request.form[`typed-${name}`] ?? '').replaceAll(/[\s,.]/g, '')
    return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  }
  const typed = Object.fromEntries(Object.keys(guardKinds).map((is) => [is, typedOf(is)]))
  const importId = await stockUploads(request).import(id, { email: request.person.email, typed })
  return { location: `/stock/imports/${importId}`, message: `import ${importId}` }
}

async function checkAgain(request: ActionRequest) {
  const { id } = await personUpload(request)
  const { mode } = request.form
  const changes = mode === 'delta' || mode === 'snapshot' ? ({ mode } as const) : {}
  const { state } = await stockUploads(request).check(id, changes)
  return { location: stepPath(id, state) }
}

async function drop(request: ActionRequest) {
  const { id, importId, email } = await personUpload(request)
  if (importId !== null) throw new ActionRefused('This list was imported already.')
  await stockUploads(request).drop(id)
  return { location: '/stock/upload', message: `dropped a list of ${email}` }
}
