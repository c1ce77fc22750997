import type { Field, VitalField } from './stock-fields.ts'
import type { CellIssue } from './typing/typed-row.ts'

/** A question that the user must answer before the file is loaded. */
export interface MappingQuestion {
  readonly code:
    | 'NO_KEY_COLUMN'
    | 'MAPPING_LOW_CONFIDENCE'
    | 'duplicate-label'
    | 'ODOMETER_DOUBTED'
    | 'MAYBE_SOLD'
    | 'TWO_READINGS'
  readonly message: string
  /** Arguments that answer it, without `--map`; empty where no column of the file fits. */
  readonly maps: readonly string[]
  /** Where cells can be read in several ways: each of them, the likeliest first. */
  readonly readings?: readonly ReadingChoice[]
}

/** One way to read the cells of a column. */
export interface ReadingChoice {
  /** `price_asking:decimals=Price` */
  readonly map: string
  /** `price_asking:decimals` */
  readonly name: string
  /** What it makes of a cell: `512.345 is 512,345`. */
  readonly meaning: string
}

/**
 * How cells that can be read in two ways are read, as a person chose. `decimals`, `thousands`: 512.345. `numbers`, `shown`: a cell
 * whose format shows another value than its number; a year that was stored as a date. `swapped`, `unswapped`: dates in which Excel may
 * have exchanged day and month. `yearfirst`, `yearlast`: 25/08/24. A year: the earliest one that is right.
 */
export type CellReading = string

/** The field that one column holds, and why. */
export interface ColumnMapping {
  /** From 0. */
  readonly index: number
  /** As in the file; null in a file without a header. */
  readonly header: string | null
  /** null: unknown. The column is stored, and exported unchanged. */
  readonly field: Field | null
  /** 0..1; 1 where the user named the field. */
  readonly confidence: number
  readonly source: 'header' | 'values' | 'remembered' | 'override' | null
  readonly evidence: readonly string[]
  /** Up to three values, as in the file. */
  readonly samples: readonly string[]
  /** The unit in the header, `Mileage (km)`, `Price AED`, else the one that a title above the list names. */
  readonly unit: 'km' | 'mi' | null
  readonly currency: string | null
  readonly readings?: readonly CellReading[]
}

/** The fields of a file's columns, with the questions that are still open. */
export interface Mapping {
  /** `unsure`: never loaded until the user confirms it. */
  readonly status: 'sure' | 'unsure'
  readonly columns: readonly ColumnMapping[]
  /** The field that identifies a row; null: no row can be loaded. */
  readonly key: 'stock_number' | 'vin' | null
  /** Fields that no column holds, as the user confirmed. */
  readonly absent: readonly Field[]
  /** Vital fields that no column fills, without the user's confirmation. */
  readonly missing: readonly MissingField[]
  readonly hasHeader: boolean
  readonly fingerprint: string
  /** Why it is unsure, and what to type. Empty when it is sure. */
  readonly questions: readonly MappingQuestion[]
  /** What a person should know of the columns of a list that is loaded. */
  readonly warnings: readonly CellIssue[]
}

/** A vital field that no column fills. */
export interface MissingField {
  readonly field: VitalField
  /** The column whose header names it but which has no value in the sample; null: no such column. */
  readonly emptyColumn: string | null
}

/** A mapping that was sure, or that the user confirmed, as stored for a rooftop. */
export interface RememberedMapping {
  readonly fingerprint: string
  /** Fields by position, with how their cells are read (`price_asking:decimals`); null where the column was unknown then. It may be known
   *  today. */
  readonly columns: readonly (string | null)[]
  /** Fields that no column holds, as the user confirmed; null: stored by a version that did not record this. */
  readonly absent: readonly string[] | null
}
