import type { Field, VitalField } from './stock-fields.ts'

/** Something that a person has to say before a file is loaded. */
export interface MappingQuestion {
  readonly code: 'NO_KEY_COLUMN' | 'MAPPING_LOW_CONFIDENCE' | 'duplicate-label'
  readonly message: string
  /** What to type, without `--map`; empty where nothing in the file will do. */
  readonly maps: readonly string[]
}

/** What one column holds. */
export interface ColumnMapping {
  /** From 0. */
  readonly index: number
  /** As in the file; null in a file without a header. */
  readonly header: string | null
  /** Null: unknown; the column is kept and given back untouched. */
  readonly field: Field | null
  /** 0..1; 1 where a person has said so. */
  readonly confidence: number
  readonly source: 'header' | 'values' | 'remembered' | 'override' | null
  readonly evidence: readonly string[]
  /** Up to three values, as in the file. */
  readonly samples: readonly string[]
  /** What the header says of units: `Mileage (km)`, `Price AED`. */
  readonly unit: 'km' | 'mi' | null
  readonly currency: string | null
}

export interface Mapping {
  /** `unsure`: to be shown and confirmed, never loaded. */
  readonly status: 'sure' | 'unsure'
  readonly columns: readonly ColumnMapping[]
  /** What tells the rows apart; null: no row can be loaded. */
  readonly key: 'stock_number' | 'vin' | null
  /** Fields of which a person has said that no column holds them. */
  readonly absent: readonly Field[]
  /** Vital fields that no column fills, and of which nobody has said so. */
  readonly missing: readonly MissingField[]
  readonly hasHeader: boolean
  readonly fingerprint: string
  /** Why it is unsure, and what to type. Empty when it is sure. */
  readonly questions: readonly MappingQuestion[]
}

export interface MissingField {
  readonly field: VitalField
  /** The column that holds it by its header, without a value in the sample; null: there is none. */
  readonly emptyColumn: string | null
}

/** A mapping that was sure or that a person has confirmed, as it is kept for a rooftop. */
export interface RememberedMapping {
  readonly fingerprint: string
  /** By position; null where the column was unknown, which says nothing of what it is today. */
  readonly columns: readonly (string | null)[]
  /** Fields of which a person has said that no column holds them; null: kept before that was kept. */
  readonly absent: readonly string[] | null
}
