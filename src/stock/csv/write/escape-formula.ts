// A spreadsheet runs a cell that begins like a formula, with or without quotes (OWASP ASVS 1.2.10). A `'` before it makes it text.

const formula = /^[\s\0]*[=+\-@＝＋－＠]|^ *[\t\r\0]/
/** A number with its sign, or the dash that lists write for "nothing": neither is a formula. Blanks around it are removed
 *  first: in the pattern they would make its time cubic. */
const harmless = /^(?:[-+]?\d+(?:[.,]\d+)*\s*%?|[-–—/. ]*)$/
const guardedFormula = /^'(?:[\s\0]*[=+\-@＝＋－＠]| *[\t\r\0])/

/** Whether a spreadsheet would run the cell as a formula. Plain numbers and dashes are not formulas. */
export function isFormulaLike(cell: string): boolean {
  return formula.test(cell) && !harmless.test(cell.trim())
}

/** The cell as text that no spreadsheet runs: with a `'` before a formula. */
export function escapeFormula(cell: string): string {
  return isFormulaLike(cell) ? `'${cell}` : cell
}

/** Removes the `'` that `escapeFormula` added, for an export that is imported again. */
export function unescapeFormula(cell: string): string {
  return guardedFormula.test(cell) ? cell.slice(1) : cell
}
