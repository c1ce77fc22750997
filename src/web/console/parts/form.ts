import { type Content, type Html, html } from '../../../values/html.ts'

/** A button that does something: a form of its own, which works without script. */
interface ActionButton {
  /** The path of the page whose action it is, below /console. */
  readonly path: string
  readonly action: string
  /** What it does, and to how many. */
  readonly label: string
  readonly fields?: Readonly<Record<string, string | number>>
  readonly isMain?: boolean
}

/** The form of an action. */
export function actionButton({ path, action, label, fields = {}, isMain }: ActionButton): Html {
  return html`<form method="post" action="/console${path}" class="inline">
<input type="hidden" name="action" value="${action}">${hiddenFields(fields)}
<button${isMain === true ? html` class="main"` : ''}>${label}</button></form>`
}

export function hiddenFields(fields: Readonly<Record<string, string | number>>): Content {
  return Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
}

/** A filter: a form that asks for the same page with another query. */
export function filterForm(path: string, label: string, fields: Content): Html {
  return html`<form class="filter" action="/console${path}" aria-label="${label}">${fields} <button>Show</button></form>`
}

/** A choice of a filter. */
export function choice(
  label: string,
  name: string,
  chosen: string,
  options: Readonly<Record<string, string>>,
): Html {
  return html`<label>${label} <select name="${name}">${Object.entries(options).map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`,
  )}</select></label>`
}
