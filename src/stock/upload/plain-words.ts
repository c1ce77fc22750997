import { fieldLabel } from '../csv/map/mapping-text.ts'
import { type Field, fields, isStockField } from '../csv/map/stock-fields.ts'
import { type CellIssue, issueText } from '../csv/map/typing/typed-row.ts'

/** A field that a person can choose for a column. */
interface FieldChoice {
  readonly name: Field
  readonly label: string
  /** Whether it is a column of the stock; else its text is stored with the vehicle. */
  readonly isUsed: boolean
}

/** Every field, those of the stock first. */
export const fieldChoices: readonly FieldChoice[] = fields
  .map((name) => ({ name, label: fieldLabel(name), isUsed: isStockField(name) }))
  .toSorted((a, b) => Number(b.isUsed) - Number(a.isUsed))

/** A text with the names of fields in words of the trade. */
export function plainWords(text: string): string {
  return fields
    .filter((field) => field.includes('_') || field === 'vin')
    .reduce(
      (all, field) => all.replaceAll(new RegExp(`\\b${field}\\b`, 'g'), fieldLabel(field)),
      text,
    )
}

/** A field in words of the trade, for a page. */
export function plainField(field: Field): string {
  return fieldLabel(field)
}

/** What is wrong with a cell, a column or a list, in such words. */
export function plainIssue(issue: Pick<CellIssue, 'column' | 'hint'>): string {
  return plainWords(issueText(issue))
}
