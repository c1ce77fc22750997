import type { ListCheck } from '../../../stock/import/list-check.ts'
import type { UploadOptions } from '../../../stock/upload/stock-uploads.ts'
import { type Html, html } from '../../../values/html.ts'
import { actionButton } from '../parts/form.ts'
import { link } from '../parts/link.ts'

/** What a list may be, and what it does to the cars that it does not name. */
export const modes: Readonly<Record<UploadOptions['mode'], { name: string; meaning: string }>> = {
  snapshot: {
    name: 'The whole stock',
    meaning: 'A car that it does not name has left: it counts as missing, and later as off stock.',
  },
  delta: {
    name: 'New and changed cars',
    meaning: 'A car that it does not name stays as it is.',
  },
}

/** The path of the step where a list is. */
export function stepPath(id: string, state: ListCheck['state'] | string | null): string {
  return `/stock/upload/${id}/${state === 'columns' ? 'mapping' : 'check'}`
}

/** Why a refused list cannot be imported, as a sentence. */
export function whyRefused({ refusals }: Pick<ListCheck, 'refusals'>): string {
  const [text = ''] = refusals.flatMap((refusal) => {
    if (refusal.is === 'cut')
      return `${refusal.why}. Cars that it no longer names would count as sold. Export the list again; or import it as a part of the stock, which takes no car out.`
    return refusal.is === 'nothing-valid'
      ? `Its rows cannot be read: ${refusal.why}. The first errors are below: correct them in the list, and upload it again.`
      : []
  })
  return text
}

/** Removes a list that waits, at whatever step it is. */
export function dropButton(id: string): Html {
  return actionButton({
    path: `/stock/upload/${id}/check`,
    action: 'drop',
    label: 'Drop this list',
  })
}

/** Where a person is in the way of a list. */
export function steps(here: 'mapping' | 'check', id: string): Html {
  const names = { mapping: 'Columns', check: 'Check and import' } as const
  const item = (step: 'mapping' | 'check') =>
    step === here
      ? html`<li aria-current="step">${names[step]}</li>`
      : html`<li>${step === 'mapping' ? link(names[step], `/stock/upload/${id}/mapping`) : names[step]}</li>`
  return html`<nav aria-label="Steps"><ol class="way"><li>${link('Upload', '/stock/upload')}</li>${item('mapping')}${item('check')}</ol></nav>`
}

/** A separator in words. */
export function delimiterText(delimiter: string): string {
  const names: Readonly<Record<string, string>> = {
    ...{ ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'pipes', ' ': 'blanks' },
  }
  return names[delimiter] ?? `"${delimiter}"`
}
