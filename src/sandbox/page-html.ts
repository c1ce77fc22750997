/** HTML that is safe to write as it is: made by `html`, which escapes everything that is put into it. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What can be put into a template; null leaves nothing. */
export type Content = Html | string | number | null | readonly Content[]

/** A piece of a page. Texts are escaped for content and for quoted attributes alike. */
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

/** Code that a reader may want to copy: the page's script puts a button beside it. */
export function copyable(text: string): Html {
  return html`<span class="copyable"><code data-copy>${text}</code></span>`
}

/** A block of code that a reader may want to copy. */
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
