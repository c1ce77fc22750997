import type { WriteFile } from '../downloads.ts'

/** What the stock does for the console. Whether the person may is decided before: see `own.ts`. */
export interface StockDoor {
  /** Every field that a column may hold, those of the stock first. */
  readonly fields: readonly {
    readonly name: string
    readonly label: string
    /** Whether it is a column of the stock; else its text is stored with the car. */
    readonly isUsed: boolean
  }[]
  /** Stores a list, and gives its id with what a check found. UsageError: too many of the person wait, or it is no list. Then nothing is
   *  stored. */
  readonly add: (list: {
    readonly rooftop: string
    readonly email: string
    readonly fileName: string
    readonly content: Buffer
    readonly mode: UploadMode
    readonly corrects?: number
  }) => Promise<{ readonly id: string; readonly result: UploadResult }>
  /** Reads a stored list without writing to the stock, and stores what was found. UsageError: it is no list. */
  readonly check: (id: string, options?: Partial<UploadOptions>) => Promise<UploadResult>
  /** The same with fields by index of their column, '' for none. */
  readonly map: (id: string, chosen: ReadonlyMap<number, string>) => Promise<UploadResult>
  /** Imports a checked list; `typed` has the numbers that confirm what guards found. Gives the import. */
  readonly import: (
    id: string,
    by: { readonly email: string; readonly typed: Readonly<Record<string, number>> },
  ) => Promise<number>
  readonly drop: (id: string) => Promise<void>
  /** Rows of an import as a list. */
  readonly textOf: (
    importId: number,
    rows: {
      readonly all?: boolean
      /** Only these, by line, with new texts by the index of their column. */
      readonly corrected?: ReadonlyMap<number, ReadonlyMap<number, string>>
    },
  ) => Promise<Buffer>
  /** A list as it was uploaded, with prices. */
  readonly exportOriginal: (
    rooftop: RooftopKey,
    importId: number,
    format: 'csv' | 'xlsx',
  ) => WriteFile
  /** The rejected rows of a list. */
  readonly exportRejected: (importId: number) => WriteFile
  /** Asks for the prices of a rooftop now, in this process, and gives the run. */
  readonly reprice: (uid: string) => Promise<number>
  /** Forgets how the columns of a header are read. */
  readonly forgetMapping: (rooftopId: number, fingerprint: string) => Promise<void>
}

interface RooftopKey {
  readonly id: number
  readonly uid: string
}

/** snapshot: the list is the whole stock; delta: a part of it. */
export type UploadMode = 'snapshot' | 'delta'

/** How a person wants a list to be read; null: as found. */
export interface UploadOptions {
  readonly mode: UploadMode
  readonly encoding: string | null
  readonly delimiter: string | null
  /** Of a workbook. */
  readonly sheet: string | null
  /** What a person chose for columns. */
  readonly maps: readonly string[]
}

/** What a check found. */
export interface UploadResult {
  /** columns: a person must answer; ready: it can be imported; refused: it cannot; same: it is imported already. */
  readonly state: 'columns' | 'ready' | 'refused' | 'same'
  readonly encoding: string
  readonly delimiter: string
  /** The sheets of a workbook with several, to choose from. */
  readonly sheets: readonly string[]
  /** The one that was read; left out in a check of an earlier version. */
  readonly sheet?: string | null
  readonly mapping: UploadMapping | null
  /** The first rows as they would be typed; left out in a check of an earlier version. */
  readonly preview?: UploadPreview | null
  readonly report: UploadReport | null
  readonly guards: readonly {
    readonly is: 'removal' | 'change' | 'values' | 'newer'
    readonly count: number
    readonly would: string
  }[]
  readonly why: string | null
  readonly importId: number | null
}

/** How the columns are read. */
export interface UploadMapping {
  readonly columns: readonly UploadColumn[]
  readonly questions: readonly string[]
}

/** The first rows of a list as they would be typed. */
export interface UploadPreview {
  readonly columns: readonly string[]
  readonly rows: readonly {
    readonly line: number
    /** Empty: the row is rejected or passed over. */
    readonly cells: readonly string[]
    readonly notes: readonly string[]
  }[]
}

/** A column of a list. */
export interface UploadColumn {
  readonly index: number
  readonly header: string | null
  readonly samples: readonly string[]
  /** null: it is not used. */
  readonly field: string | null
  /** What a question proposes; null: nothing is asked about it. */
  readonly proposed: string | null
  /** Ways to read its cells, to choose from; left out in a check of an earlier version. */
  readonly readings?: readonly { readonly name: string; readonly label: string }[]
  readonly why: string
}

/** The numbers of an import, or of what one would do. */
export interface ImportCounts {
  readonly records: number
  readonly accepted: number
  readonly rejected: number
  readonly collapsed: number
  readonly skipped: number
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly removed: number
  readonly reappeared: number
}

/** What an import would do. */
export interface UploadReport extends ImportCounts {
  readonly offStock: number
  /** What each number column holds; left out in a check of an earlier version. */
  readonly figures?: readonly ColumnFigures[]
  readonly changes: readonly StockChange[]
  readonly issues: readonly IssueKind[]
  readonly warnings: readonly string[]
  readonly missing: readonly string[]
}

/** What a number column holds, beside the stock on hand before. */
export interface ColumnFigures {
  readonly column: 'model_year' | 'odometer_km' | 'asking_price' | 'cost'
  /** Of an amount. */
  readonly currency: string | null
  readonly list: Figures
  /** null: there was no stock. */
  readonly stock: Figures | null
}

interface Figures {
  readonly cars: number
  readonly empty: number
  readonly minimum: number | null
  readonly median: number | null
  readonly maximum: number | null
}

/** The change of a car. */
export interface StockChange {
  readonly stockNo: string
  readonly change: 'added' | 'updated' | 'removed' | 'reappeared'
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>
}

/** The issues of one kind. */
export interface IssueKind {
  readonly severity: 'error' | 'warning' | 'info'
  readonly code: string
  readonly count: number
  readonly hint: string
  readonly first: readonly {
    readonly line: number | null
    readonly column: string | null
    readonly text: string
    readonly hint: string
  }[]
}
