import type { Attributes } from './xml.ts'

/** Collects the text of a shared or inline string: of all its runs, without phonetic readings. */
export class RichText {
  #text = ''
  #piece = ''
  #isOpen = false
  #isPreserved = false
  #phonetic = 0

  start(): void {
    this.#text = ''
  }

  open(element: string, attributes: Attributes): void {
    if (element === 'rPh') this.#phonetic += 1
    if (element !== 't' || this.#phonetic > 0) return
    this.#isOpen = true
    this.#isPreserved = attributes['xml:space'] === 'preserve'
    this.#piece = ''
  }

  /** Returns the length so far. */
  add(text: string): number {
    if (this.#isOpen) this.#piece += text
    return this.#text.length + this.#piece.length
  }

  close(element: string): void {
    if (element === 'rPh') this.#phonetic -= 1
    if (element !== 't' || !this.#isOpen) return
    this.#isOpen = false
    this.#text += this.#isPreserved ? this.#piece : withoutOuterSpace(this.#piece)
  }

  end(): string {
    return withoutEscapes(this.#text)
  }
}

/** `_x000D_` is a character that XML cannot hold, `_x005F_` the underscore before such a text. */
export function withoutEscapes(text: string): string {
  if (!text.includes('_x')) return text
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** Without the spaces of XML at both ends; `trim` would take others too. */
function withoutOuterSpace(text: string): string {
  const isSpace = (at: number) => ' \t\r\n'.includes(text[at]!)
  let [from, until] = [0, text.length]
  while (from < until && isSpace(from)) from += 1
  while (until > from && isSpace(until - 1)) until -= 1
  return text.slice(from, until)
}
