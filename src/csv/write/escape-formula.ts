// A spreadsheet runs a cell that begins like a formula, quotes or not (OWASP ASVS 1.2.10). A `'` before it makes it text.

const formula = /^[\s\0]*[=+\-@＝＋－＠]|^ *[\t\r\0]/
/** A number with its sign, or the dash that lists write for "nothing": neither runs anything. Blanks around it are taken off
 *  before: in the pattern they make its time cubic. */
const harmless = /^(?:[-+]?\d+(?:[.,]\d+)*\s*%?|[-–—/. ]*)$/
const guardedFormula = /^'(?:[\s\0]*[=+\-@＝＋－＠]| *[\t\r\0])/

/** Would a spreadsheet take the cell for a formula? Not a plain number, nor dashes alone. */
export function isFormulaLike(cell: string): boolean {
  return formula.test(cell) && !harmless.test(cell.trim())
}

/** The cell as text that no spreadsheet runs: with a `'` before it where it is dangerous. */
export function escapeFormula(cell: string): string {
  return isFormulaLike(cell) ? `'${cell}` : cell
}

/** Takes the `'` away that `guarded` wrote: the round trip of an export that is imported again. */
export function unescapeFormula(cell: string): string {
  return guardedFormula.test(cell) ? cell.slice(1) : cell
}
