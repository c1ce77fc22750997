/** Safe HTML: made by `html`, which escapes every text for content and for quoted attributes. */
export class Html {
  readonly text: string

  /** Takes the text as it is: only for text that no one outside wrote, such as a style sheet. */
  constructor(text: string) {
    this.text = text
  }
}

/** What a template takes. null, undefined and false are left out. */
export type Content = Html | string | number | false | null | undefined | readonly Content[]

/** A template that escapes each value. A value in an attribute must be in quotes: `class="${name}"`. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(String.raw({ raw: strings }, ...contents.map(textOf)))
}

const signs = /[&<>"'`]/g

function textOf(content: Content): string {
  if (content === null || content === undefined || content === false) return ''
  if (content instanceof Html) return content.text
  if (typeof content === 'object') return content.map(textOf).join('')
  return String(content).replace(signs, (sign) => `&#${sign.charCodeAt(0)};`)
}
