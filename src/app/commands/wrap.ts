import stringWidth from 'string-width'
import { withUtcTimes } from '../../values/instant.ts'

/** Columns of the output: of the terminal, and 80 in a pipe. */
export function outputColumns(): number {
  return process.stdout.columns ?? 80
}

/** A text in lines of at most `columns`, broken between words, or within one that fits on no line; its instants as everywhere. The
 *  first line is indented by `indent` spaces, the others by `hang`. */
export function wrap(
  text: string,
  options: { readonly indent?: number; readonly hang?: number; readonly columns?: number } = {},
): string[] {
  const { indent = 0, columns = outputColumns() } = options
  const { hang = indent + 2 } = options
  const lines: string[] = []
  let line = ' '.repeat(indent)
  let isEmpty = true
  const endLine = () => {
    lines.push(line)
    line = ' '.repeat(hang)
    isEmpty = true
  }
  for (const word of withUtcTimes(text).split(/\s+/).filter(Boolean)) {
    if (!isEmpty && stringWidth(`${line} ${word}`) > columns) endLine()
    let rest: string = isEmpty ? word : ` ${word}`
    while (stringWidth(line + rest) > columns) {
      // At least one character a line, however narrow it is.
      let fits = Math.max(1, columns - line.length)
      while (fits > 1 && stringWidth(line + rest.slice(0, fits)) > columns) fits -= 1
      line += rest.slice(0, fits)
      rest = rest.slice(fits)
      endLine()
    }
    line += rest
    isEmpty = isEmpty && rest === ''
  }
  return isEmpty ? lines : [...lines, line]
}
