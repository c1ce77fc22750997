import type { ListCheck } from '../../../stock/import/list-check.ts'
import {
  type UploadColumn,
  type UploadColumns,
  uploadColumns,
} from '../../../stock/upload/columns.ts'
import { fieldChoices } from '../../../stock/upload/plain-words.ts'
import type { UploadOptions } from '../../../stock/upload/stock-uploads.ts'
import { type Html, html } from '../../../values/html.ts'
import { type ActionRequest, definePage, Redirect } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { choice, hiddenFields } from '../parts/form.ts'
import { table } from '../parts/table.ts'
import { previewTable } from '../stock/draw-list.ts'
import { findUpload, personUpload, stockUploads } from '../stock/own.ts'
import { delimiterText, dropButton, stepPath, steps } from '../stock/upload-text.ts'

const encodings = {
  ...{ '': 'as found', 'utf-8': 'UTF-8', 'windows-1252': 'Windows, Western', macintosh: 'Mac' },
  ...{ 'windows-1256': 'Windows, Arabic', 'utf-16le': 'UTF-16' },
}
const delimiters = {
  '': 'as found',
  ',': ', comma',
  ';': '; semicolon',
  '\t': 'tab',
  '|': '| pipe',
}

/** Of a list with more columns, the fields that are only stored are offered where one of them was found. */
const maxWithAllFields = 30

export const stockMapping = definePage({
  path: '/stock/upload/:id/mapping',
  question: 'What does each column hold?',
  roles: ['engineer', 'stock'],
  async read(request) {
    const upload = await findUpload(request, request.params['id']!, 'page')
    if (upload === null) return null
    if (upload.importId !== null) return new Redirect(`/stock/imports/${upload.importId}`)
    const { id, fileName, rooftop, zone, options, result } = upload
    const mapping = result && uploadColumns(result)
    const { first = null, refusals = [], encoding = '', delimiter = '' } = result ?? {}
    const { preview = null, sheet = null } = first ?? {}
    const sheets =
      first?.sheets ?? refusals.flatMap((one) => (one.is === 'sheets' ? one.sheets : []))
    if (mapping === null && sheets.length === 0) return new Redirect(stepPath(id, 'refused'))
    const reading = { encoding, delimiter, sheets, sheet }
    return { id, fileName, rooftop, zone, options, mapping, preview, reading }
  },
  title: ({ fileName }) => `Columns of ${fileName}`,
  zone: ({ zone }) => zone,
  actions: {
    map: { roles: ['engineer', 'stock'], run: map },
    read: { roles: ['engineer', 'stock'], run: readAgain },
  },
  draw(data) {
    const { id, rooftop, options, mapping, preview, reading } = data
    return html`${steps('mapping', id)}
<p>For ${rooftop}. The answer is remembered for the next list with the same header.</p>
${mapping === null ? sheetForm(id, reading) : columnForm(id, mapping)}
${mapping !== null && (reading.encoding === 'xlsx' ? otherSheetForm(id, reading) : readingForm(id, options, reading))}
${preview !== null && previewTable(preview, 'Read with the fields above; what is in doubt is taken as proposed')}
<h2>Or</h2>
<div class="buttons">${dropButton(id)}</div>`
  },
})

interface Sheets {
  readonly sheets: readonly string[]
  /** The one that was read; null: none yet. */
  readonly sheet: string | null
}

function sheetForm(id: string, sheets: Sheets): Html {
  return html`<section class="summary warn"><h2>Which sheet is the list?</h2>
${sheetChoice(id, sheets, html`<button class="main">Read this sheet</button>`)}</section>`
}

/** A workbook with one sheet leaves nothing to choose. */
function otherSheetForm(id: string, { sheets, sheet }: Sheets): Html | false {
  if (sheets.length === 0) return false
  return html`<details><summary>Read from the sheet ${sheet}</summary>
${sheetChoice(id, { sheets, sheet }, html`<button>Read this sheet</button>`)}
<p class="note">Change this where the list is on another sheet. Fields chosen above are then asked for again.</p></details>`
}

function sheetChoice(id: string, { sheets, sheet }: Sheets, button: Html): Html {
  // No name has a slash: it joins those that are read as one list.
  const label = (name: string) =>
    name.includes('/') ? `${name.split('/').join(' and ')}, as one list` : name
  const names = Object.fromEntries(sheets.map((name) => [name, label(name)]))
  return html`<form method="post" action="/console/stock/upload/${id}/mapping" class="filter">${hiddenFields({ action: 'read' })}
${choice('Sheet', 'sheet', sheet ?? sheets[0] ?? '', names)} ${button}</form>`
}

function columnForm(id: string, mapping: UploadColumns): Html {
  const { questions, columns } = mapping
  return html`${questions.length > 0 && html`<section class="summary warn"><h2>Please check</h2><ul>${questions.map((question) => html`<li>${question}</li>`)}</ul></section>`}
<form method="post" action="/console/stock/upload/${id}/mapping">${hiddenFields({ action: 'map' })}
${table({
  isWide: true,
  caption: 'The columns, those in doubt first',
  columns: ['Column', 'Cells', 'Holds', 'Why'],
  rows: doubtsFirst(mapping).map((column) => columnCells(column, columns.length)),
  empty: 'The list has no columns.',
})}
<p><button class="main">Use these columns and check the list</button></p></form>`
}

function readingForm(
  id: string,
  options: UploadOptions,
  { encoding, delimiter }: Pick<ListCheck, 'encoding' | 'delimiter'>,
): Html {
  return html`<details><summary>Read as ${encoding}, separated by ${delimiterText(delimiter)}</summary>
<form method="post" action="/console/stock/upload/${id}/mapping" class="filter">${hiddenFields({ action: 'read' })}
${choice('Encoding', 'encoding', options.encoding ?? '', encodings)} ${choice('Separator', 'delimiter', options.delimiter ?? '', delimiters)} <button>Read it again</button></form>
<p class="note">Change this where letters are wrong, or where all cells are in one column. Fields chosen above are then asked for again.</p></details>`
}

function doubtsFirst({ columns }: UploadColumns): readonly UploadColumn[] {
  const rank = ({ proposed, field }: UploadColumn) =>
    proposed !== null ? 0 : field !== null ? 1 : 2
  return columns.toSorted((a, b) => rank(a) - rank(b) || a.index - b.index)
}

function columnCells(column: UploadColumn, count: number) {
  const { index, header, samples, proposed, why } = column
  const name = header === null || header.trim() === '' ? `column ${index + 1}` : header
  return [
    html`${name}${proposed !== null && html` ${badge('in doubt', 'warn')}`}`,
    samples.length === 0
      ? 'empty'
      : html`<ul class="cells">${samples.map((cell) => html`<li>${cell}</li>`)}</ul>`,
    fieldChoice(column, name, count <= maxWithAllFields),
    why,
  ]
}

function fieldChoice(
  { index, field, proposed, readings = [] }: UploadColumn,
  name: string,
  hasAll: boolean,
): Html {
  const chosen = proposed ?? field ?? ''
  const option = (value: string, label: string) =>
    html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`
  const ways =
    readings.length > 0 &&
    html`<optgroup label="How its cells are read">${readings.map((one) => option(one.name, one.label))}</optgroup>`
  const group = (label: string, isUsed: boolean) =>
    html`<optgroup label="${label}">${fieldChoices
      .filter((one) => one.isUsed === isUsed && (isUsed || hasAll || one.name === chosen))
      .map((one) => option(one.name, one.label))}</optgroup>`
  return html`<select name="column-${index}" aria-label="${name} holds">${option('', 'not used')}${ways}${group('Used', true)}${group('Stored with the car', false)}</select>`
}

async function map(request: ActionRequest) {
  const { id } = await personUpload(request)
  const chosen = Object.entries(request.form).flatMap(([name, field]) => {
    const index = /^column-(\d{1,4})$/.exec(name)?.[1]
    return index === undefined ? [] : [[Number(index), field] as const]
  })
  const { state } = await stockUploads(request).map(id, new Map(chosen))
  return { location: stepPath(id, state) }
}

async function readAgain(request: ActionRequest) {
  const { id } = await personUpload(request)
  const { encoding = '', delimiter = '', sheet = '' } = request.form
  const { state } = await stockUploads(request).check(id, {
    ...(sheet === '' ? {} : { sheet }),
    encoding: encoding !== '' && Object.hasOwn(encodings, encoding) ? encoding : null,
    delimiter: delimiter !== '' && Object.hasOwn(delimiters, delimiter) ? delimiter : null,
    maps: [],
  })
  return { location: sheet === '' ? `/stock/upload/${id}/mapping` : stepPath(id, state) }
}
