/** Safe HTML: made by `html`, which escapes every value. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Content of a template; null gives nothing. */
export type Content = Html | string | number | null | readonly Content[]

/** A part of a page. Texts are escaped for content and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(String.raw({ raw: strings }, ...contents.map(textOf)))
}

function textOf(content: Content): string {
  if (content === null) return ''
  if (content instanceof Html) return content.text
  if (typeof content === 'object') return content.map(textOf).join('')
  return escaped(String(content))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => escapes[sign]!)
}

/** Code with a copy button, which the script of the page adds. */
export function copyable(text: string): Html {
  return html`<span class="copyable"><code data-copy>${text}</code></span>`
}

/** A block of code with a copy button. */
export function codeBlock(title: string, text: string): Html {
  return html`<figure class="code">
  <figcaption>${title}</figcaption>
  <pre tabindex="0"><code data-copy>${text}</code></pre>
</figure>`
}

/** A table that scrolls sideways where it is too wide. */
export function table(
  caption: string,
  headings: readonly string[],
  rows: readonly (readonly Content[])[],
): Html {
  return html`<div class="table" tabindex="0" role="region" aria-label="${caption}">
  <table>
    <caption>${caption}</caption>
    <thead><tr>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) => html`
      <tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}
    </tbody>
  </table>
</div>`
}
