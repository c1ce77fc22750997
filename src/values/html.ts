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

/** A template that escapes each value. A value in an attribute must be in quotes: `class="${name}"`. A value that is an address, such
 *  as `href="${url}"`, becomes `#` where it would run a script. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  const texts = contents.map((content, at) =>
    addressEnd.test(strings[at]!) && isScript(contentText(content)) ? '#' : contentText(content),
  )
  return new Html(String.raw({ raw: strings }, ...texts))
}

const signs = /[&<>"'`]/g

function contentText(content: Content): string {
  if (content === null || content === undefined || content === false) return ''
  if (content instanceof Html) return content.text
  if (typeof content === 'object') return content.map(contentText).join('')
  return String(content).replace(signs, (sign) => `&#${sign.charCodeAt(0)};`)
}

const addressEnd = /\s(href|src|action|formaction|xlink:href)=["']$/i

/** Whether an address has a scheme other than http, https and mailto: `javascript:`, `data:` … Browsers ignore blanks in it. */
function isScript(address: string): boolean {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address.replaceAll(/[^\u0021-\uffff]/g, ''))?.[1]
  return scheme !== undefined && !/^(https?|mailto)$/i.test(scheme)
}
