import type { Field, VitalField } from './stock-fields.ts'

/** A question that the user must answer before the file is loaded. */
export interface MappingQuestion {
  readonly code:
    | 'NO_KEY_COLUMN'
    | 'MAPPING_LOW_CONFIDENCE'
    | 'duplicate-label'
    | 'ODOMETER_DOUBTED'
    | 'MAYBE_SOLD'
  readonly message: string
  /** Arguments that answer it, without `--map`; empty where no column of the file fits. */
  readonly maps: readonly string[]
}

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
  /** The unit in the header: `Mileage (km)`, `Price AED`. */
  readonly unit: 'km' | 'mi' | null
  readonly currency: string | null
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
  /** Fields by position; null where the column was unknown then. It may be known today. */
  readonly columns: readonly (string | null)[]
  /** Fields that no column holds, as the user confirmed; null: stored by a version that did not record this. */
  readonly absent: readonly string[] | null
}
